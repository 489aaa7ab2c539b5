//! Does the simulated disk forget what a disk may forget, and nothing else?

use super::{Fault, FaultPlan, SimDisk, Survival, Vfs, write_all_at};
use std::io;
use std::path::{Path, PathBuf};

fn disk() -> (SimDisk, PathBuf) {
    let disk = SimDisk::new();
    disk.make_dir(Path::new("/d"));
    (disk, PathBuf::from("/d/file"))
}

fn written(disk: &SimDisk, path: &Path, bytes: &[u8]) -> Box<dyn super::WriteFile> {
    let mut file = disk.create(path).unwrap();
    write_all_at(&mut *file, bytes, 0).unwrap();
    file
}

#[test]
fn a_name_lasts_with_its_directory_and_bytes_with_their_file() {
    for (sync_file, sync_dir) in [(false, false), (false, true), (true, false), (true, true)] {
        let (disk, path) = disk();
        let mut file = written(&disk, &path, b"hello");
        if sync_file {
            file.sync().unwrap();
        }
        if sync_dir {
            disk.sync_dir(Path::new("/d")).unwrap();
        }
        disk.restart(Survival::Nothing);
        let content = disk.content();
        let expected = sync_dir.then(|| if sync_file { b"hello".to_vec() } else { Vec::new() });
        assert_eq!(content.get(&path).cloned(), expected, "{sync_file} {sync_dir}");
        assert!(file.write_at(b"x", 0).is_err(), "handles end with the power");
    }
}

#[test]
fn a_directory_lasts_with_the_one_above_it_and_takes_its_files_along() {
    for is_synced in [false, true] {
        let (disk, _) = disk();
        let (inner, path) = (Path::new("/d/inner"), Path::new("/d/inner/file"));
        disk.create_dir(inner).unwrap();
        written(&disk, path, b"a").sync().unwrap();
        disk.sync_dir(inner).unwrap();
        if is_synced {
            disk.sync_dir(Path::new("/d")).unwrap();
        }
        disk.restart(Survival::Nothing);
        assert_eq!((disk.content().len(), disk.create(path).is_ok()), (usize::from(is_synced), false));
    }
}

#[test]
fn what_was_not_synced_survives_by_sectors() {
    let mut torn = 0;
    for seed in 0..50 {
        let (disk, path) = disk();
        let mut file = written(&disk, &path, &[1; 1_000]);
        file.sync().unwrap();
        disk.sync_dir(Path::new("/d")).unwrap();
        write_all_at(&mut *file, &[2; 1_500], 700).unwrap();
        disk.restart(Survival::Some(seed));
        let bytes = disk.content().remove(&path).unwrap();
        assert!(bytes[..700].iter().all(|byte| *byte == 1));
        // 700..1024, 1024..1536, 1536..2048 and 2048..2200 are each as they were or as they were written.
        for (from, to) in [(700, 1_000), (1_024, 1_536), (1_536, 2_048), (2_048, 2_200)] {
            let piece = bytes.get(from..to.min(bytes.len())).unwrap_or(&[]);
            assert!(piece.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {from}..{to}");
        }
        torn += u32::from(bytes.contains(&2) && bytes.iter().filter(|byte| **byte == 2).count() < 1_500);
    }
    assert!(torn > 20, "{torn} of 50 were torn");
}

#[test]
fn a_rename_is_whole_or_not_at_all() {
    let mut seen = [0; 2];
    for seed in 0..20 {
        let (disk, old) = disk();
        written(&disk, &old, b"a").sync().unwrap();
        disk.sync_dir(Path::new("/d")).unwrap();
        disk.rename(&old, Path::new("/d/new")).unwrap();
        disk.restart(Survival::Some(seed));
        let names: Vec<_> = disk.content().into_keys().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        seen[usize::from(names[0] == old)] += 1;
    }
    assert!(seen[0] > 2 && seen[1] > 2, "{seen:?}");
}

#[test]
fn faults_strike_the_operation_they_name() {
    let (disk, path) = disk();
    disk.fail(disk.operations() + 1, Fault::Error(io::ErrorKind::StorageFull));
    let mut file = disk.create(&path).unwrap();
    assert_eq!(file.write_at(b"abc", 0).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.write_at(b"abc", 0).unwrap(), 3);
    disk.fail(disk.operations(), Fault::Short);
    assert_eq!(file.write_at(b"abcd", 0).unwrap(), 2);
    disk.fail(disk.operations(), Fault::PowerCut);
    assert!(file.sync().is_err() && disk.list(Path::new("/d")).is_err());
    disk.restart(Survival::Everything);
    assert_eq!(disk.content()[&path], b"abc");
}

#[test]
fn a_disk_that_is_full_takes_no_more_until_there_is_room() {
    let (disk, path) = disk();
    let mut file = written(&disk, &path, &[1; 1_000]);
    let full = |capacity| FaultPlan { capacity: Some(capacity), ..FaultPlan::default() };
    disk.set_faults(full(disk.used() + 10));
    assert_eq!(file.write_at(&[2; 50], 980).unwrap(), 30, "20 are inside the file, and 10 fit behind it");
    assert_eq!(file.write_at(&[2; 50], 1_010).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.write_at(&[3; 50], 0).unwrap(), 50, "what is there has its blocks");
    disk.set_faults(full(5_000));
    assert_eq!(file.write_at(&[2; 50], 1_010).unwrap(), 50);
    assert_eq!(disk.fault_counts().full, 2);
}

#[test]
fn a_sync_that_fails_may_drop_what_it_was_to_write() {
    let (disk, path) = disk();
    disk.sync_dir(Path::new("/d")).unwrap();
    let mut file = written(&disk, &path, b"old");
    file.sync().unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    file.write_at(b"new", 0).unwrap();
    disk.set_faults(FaultPlan { dropped_syncs: 1, ..FaultPlan::default() });
    assert!(file.sync().is_err());
    disk.set_faults(FaultPlan::default());
    file.sync().unwrap();
    disk.restart(Survival::Everything);
    assert_eq!(disk.content()[&path], b"old", "a later sync brings nothing back");
}

#[test]
fn faults_that_last_do_so_until_they_are_taken_away() {
    let (disk, path) = disk();
    let mut file = written(&disk, &path, b"old");
    disk.set_faults(FaultPlan { seed: 3, lasting: 1, ..FaultPlan::default() });
    assert!((0..10).all(|_| file.sync().is_err()));
    disk.set_faults(FaultPlan::default());
    file.sync().unwrap();
    assert_eq!(disk.fault_counts().lasting, 10);
}

#[test]
fn sectors_are_lost_and_misdirected_and_no_error_tells_of_it() {
    let sectors =
        |bytes: &[u8], byte| bytes.chunks(512).filter(|sector| sector.iter().all(|b| *b == byte)).count();
    for seed in 0..20 {
        let (disk, path) = disk();
        let other = PathBuf::from("/d/other");
        written(&disk, &path, &[1; 4_096]).sync().unwrap();
        written(&disk, &other, &[2; 4_096]).sync().unwrap();
        let mut file = disk.reuse(&path).unwrap();
        disk.set_faults(FaultPlan { seed, lost: 1, ..FaultPlan::default() });
        file.write_at(&[3; 2_048], 0).unwrap();
        let content = disk.content();
        assert_eq!((sectors(&content[&path], 3), sectors(&content[&other], 2)), (3, 8), "one is lost");
        disk.set_faults(FaultPlan { seed, misdirected: 1, ..FaultPlan::default() });
        file.write_at(&[4; 2_048], 0).unwrap();
        let content = disk.content();
        let there = sectors(&content[&path], 4) + sectors(&content[&other], 4);
        assert!(sectors(&content[&path], 4) >= 3 && there <= 4, "seed {seed}: {there}");
    }
}

#[test]
fn the_power_can_go_between_operations() {
    let (disk, path) = disk();
    let mut file = written(&disk, &path, b"a");
    assert!(!disk.is_dead());
    disk.cut();
    assert!(disk.is_dead() && file.sync().is_err() && disk.list(Path::new("/d")).is_err());
    disk.restart(Survival::Nothing);
    assert!(!disk.is_dead() && disk.content().is_empty());
}

#[test]
fn a_lock_is_one_process_s_until_it_is_dropped() {
    let (disk, _) = disk();
    let lock = disk.lock(Path::new("/d")).unwrap();
    assert_eq!(disk.lock(Path::new("/d")).err().unwrap().kind(), io::ErrorKind::WouldBlock);
    drop(lock);
    assert!(disk.lock(Path::new("/d")).is_ok());
}
