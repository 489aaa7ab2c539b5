use super::*;
use crate::lsm::vfs::{SimDisk, read_exact_at, write_all_at};

const FILES: u8 = 20;

fn disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.make_dir(Path::new("/d"));
    for number in 0..FILES {
        let mut file = disk.create(&path(number)).unwrap();
        write_all_at(&mut *file, &[number; 100], 0).unwrap();
    }
    disk
}

fn path(number: u8) -> PathBuf {
    PathBuf::from(format!("/d/{number}"))
}

fn all(disk: &SimDisk, files: &Arc<TableFiles>) -> Vec<TableFile> {
    let vfs: Arc<dyn Vfs> = Arc::new(disk.clone());
    (0..FILES).map(|number| TableFile::open(&vfs, &path(number), Arc::clone(files)).unwrap()).collect()
}

fn is_right(file: &TableFile, number: u8) {
    let mut bytes = [0xff; 10];
    read_exact_at(file, &mut bytes, u64::from(number)).unwrap();
    assert_eq!(bytes, [number; 10]);
    assert_eq!(file.len().unwrap(), 100);
}

#[test]
fn no_more_files_are_open_than_allowed_and_each_can_be_read() {
    for limit in [0, 1, 7, 20, 100] {
        let files = TableFiles::new(limit);
        let tables = all(&disk(), &files);
        let most = limit.clamp(1, usize::from(FILES));
        assert_eq!(files.open_files(), most);
        for _ in 0..3 {
            for (number, table) in (0..).zip(&tables) {
                is_right(table, number);
                assert_eq!(files.open_files(), most);
            }
        }
        let opened = files.opened();
        assert_eq!(opened == u64::from(FILES), limit >= usize::from(FILES), "{limit}: {opened}");
        drop(tables);
        assert_eq!(files.open_files(), 0, "dropped tables take no place");
    }
}

#[test]
fn a_file_that_is_read_again_and_again_stays_open() {
    let files = TableFiles::new(3);
    let tables = all(&disk(), &files);
    is_right(&tables[0], 0);
    is_right(&tables[0], 0);
    let before = files.opened();
    let mut others = 0;
    for number in 1..FILES {
        // Read once, it has no mark.
        read_exact_at(&tables[usize::from(number)], &mut [0; 10], 0).unwrap();
        others += 1;
        is_right(&tables[0], 0);
    }
    let opened = files.opened() - before;
    assert!(opened == others, "{opened} files were opened for {others} reads of others");
}

#[test]
fn a_process_without_descriptors_closes_some_of_them() {
    let files = TableFiles::new(100);
    let tables = all(&disk(), &files);
    assert!(files.close_half());
    assert_eq!(files.open_files(), usize::from(FILES) / 2);
    (0..10).for_each(|_| _ = files.close_half());
    assert!(files.open_files() == 0 && !files.close_half());
    for (number, table) in (0..).zip(&tables) {
        is_right(table, number);
    }
}

/// A read that has begun keeps its descriptor though its file is closed: who needs one waits for that.
#[test]
fn a_process_without_descriptors_waits_for_reads_that_keep_one() {
    let files = TableFiles::new(100);
    let tables = all(&disk(), &files);
    let read = tables[3].slot.file.load_full().unwrap();
    let mut waits = 0;
    while files.open_files() > 0 {
        assert!(files.spare_some(&mut waits));
    }
    assert_eq!(waits, 0, "nothing is waited for while there are files to close");
    assert!(files.spare_some(&mut waits) && waits == 1);
    waits = MOST_WAITS;
    assert!(!files.spare_some(&mut waits), "a read that never ends is given up");
    drop(read);
    waits = 0;
    assert!(!files.spare_some(&mut waits) && waits == 0, "no table has a descriptor");
}

/// A table that a flush or a merge writes has a descriptor, which others get when it ends.
#[test]
fn a_process_without_descriptors_waits_for_tables_that_others_write() {
    let files = TableFiles::new(100);
    let own = files.begin_writing();
    let mut waits = 0;
    assert!(!files.spare_some(&mut waits) && waits == 0, "this thread's own table ends no sooner");
    let of_another = std::thread::scope(|scope| scope.spawn(|| files.begin_writing()).join().unwrap());
    assert!(files.spare_some(&mut waits) && waits == 1);
    waits = MOST_WAITS;
    assert!(!files.spare_some(&mut waits), "one that never ends is given up");
    drop(of_another);
    waits = 0;
    assert!(!files.spare_some(&mut waits) && waits == 0);
    drop(own);
    assert!(files.writers.lock().is_empty());
}

#[test]
fn a_thread_that_does_not_wait_opens_no_file() {
    let files = TableFiles::new(1);
    let tables = all(&disk(), &files);
    is_right(&tables[1], 1);
    let thread = NonBlocking::begin();
    is_right(&tables[1], 1);
    let error = read_exact_at(&tables[2], &mut [0; 10], 0).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    drop(thread);
    is_right(&tables[2], 2);
}

#[test]
fn threads_may_open_and_close_the_same_files_at_once() {
    let files = TableFiles::new(3);
    let tables = all(&disk(), &files);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let tables = &tables;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..5_000 {
                    let number = random.u8(..FILES);
                    is_right(&tables[usize::from(number)], number);
                }
            });
        }
    });
    assert_eq!(files.open_files(), 3);
}
