//! A full disk, on a real small file system: a tmpfs in a mount namespace of its own.
//!
//! A cycle: a child process loads a store until a write is refused for lack of room, reads on, and takes
//! writes again by itself when a file is removed. It fills the disk again and is killed. Then the disk is
//! filled to the last byte; the store opens read-only, and to be written, and all that was acknowledged is
//! read both times. Room comes back, and writes go on.
//!
//! `PLUMBKV_FULL_DISK_CYCLES=20` asks for more than one cycle.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use plumbkv::{Batch, Database, Direction, Error, Options, SyncMode};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the file system is to be mounted; set for the process in the namespace.
const MOUNT: &str = "PLUMBKV_FULL_DISK_MOUNT";
/// The store; set for the process that writes it and is killed.
const STORE: &str = "PLUMBKV_FULL_DISK_STORE";
const CYCLE: &str = "PLUMBKV_FULL_DISK_CYCLE";
const CYCLES: &str = "PLUMBKV_FULL_DISK_CYCLES";

const MIB: usize = 1 << 20;
/// The file system, and what is removed to make room: each time as much as a merge of all there is takes.
const SIZE: usize = 28 * MIB;
const FIRST: usize = 8 * MIB;
const SECOND: usize = 16 * MIB;
const PATIENCE: Duration = Duration::from_secs(60);

const MODES: [SyncMode; 3] =
    [SyncMode::Never, SyncMode::Interval(Duration::from_millis(5)), SyncMode::Always];

fn options(path: &Path, cycle: usize) -> Options {
    Options::durable(path).memory_budget(MIB as u64).sync_mode(MODES[cycle % MODES.len()])
}

fn key(number: u64) -> Vec<u8> {
    // In no order, so that there is something to be merged.
    format!("key {:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes()
}

fn value(number: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(number);
    let len = random.usize(100..4_000);
    (0..len).map(|_| random.u8(..)).collect()
}

fn write(db: &Database, number: u64) -> plumbkv::Result<()> {
    let mut batch = Batch::new();
    batch.set(&key(number), &value(number)).set(b"count", &number.to_le_bytes());
    db.write(&batch)
}

fn is_full(error: &Error) -> bool {
    matches!(error, Error::Io { kind: ErrorKind::StorageFull, .. })
}

/// Tries until it succeeds. Each failure is one of a full disk.
fn until_there_is_room(mut call: impl FnMut() -> plumbkv::Result<()>) {
    let until = Instant::now() + PATIENCE;
    while let Err(error) = call() {
        assert!(is_full(&error), "{error}");
        assert!(Instant::now() < until, "there is room, and still: {error}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// One call of the system for a line: no kill cuts it in two.
fn say(line: &str) {
    rustix::io::write(std::io::stdout(), format!("\n{line}\n").as_bytes()).unwrap();
}

/// Writes until it is refused, and looks whether earlier writes are read. The number of the refused one.
fn fill(db: &Database, from: u64) -> u64 {
    let mut number = from;
    let error = loop {
        match write(db, number) {
            Ok(()) => say(&format!("written {number}")),
            Err(error) => break error,
        }
        number += 1;
    };
    assert!(is_full(&error), "{error}");
    for earlier in (1..number).step_by(17) {
        assert_eq!(db.get(&key(earlier)).unwrap(), Some(value(earlier)), "{earlier}");
    }
    assert_eq!(db.get(b"count").unwrap(), Some((number - 1).to_le_bytes().to_vec()));
    assert!(db.storage_stats().unwrap().failure.is_some_and(|error| is_full(&error)));
    number
}

/// Not a test by itself: the process that is killed.
#[test]
fn child() {
    let Some(path) = std::env::var_os(STORE) else { return };
    let cycle = std::env::var(CYCLE).unwrap().parse().unwrap();
    let db = Database::open(options(Path::new(&path), cycle)).unwrap();
    let refused = fill(&db, 1);
    say("full");
    until_there_is_room(|| write(&db, refused));
    say(&format!("written {refused}"));
    say("resumed");
    fill(&db, refused + 1);
    say("full again");
    loop {
        std::thread::park();
    }
}

fn lines_of(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok)
}

fn fill_file(path: &Path, bytes: usize) {
    let mut file = File::create(path).unwrap();
    file.write_all(&vec![7; bytes]).unwrap();
}

/// Takes what room there is.
fn plug(path: &Path) {
    let mut file = File::create(path).unwrap();
    for piece in [64 << 10, 4 << 10, 1] {
        let error = loop {
            if let Err(error) = file.write_all(&vec![7; piece]) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    }
}

/// All that is in a directory: bytes and times of each file.
fn look(directory: &Path) -> BTreeMap<PathBuf, (u64, u64, i64, i64, Vec<u8>)> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = files.chain([directory.to_owned()]);
    files
        .map(|path| {
            let about = fs::metadata(&path).unwrap();
            let bytes = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let facts = (about.ino(), about.nlink(), about.ctime(), about.ctime_nsec(), bytes);
            (path, facts)
        })
        .collect()
}

/// All that was acknowledged is there, perhaps the write after it, and nothing else.
fn check(db: &Database, acknowledged: u64, others: usize) -> u64 {
    let count = db.get(b"count").unwrap().unwrap();
    let count = u64::from_le_bytes(count.try_into().unwrap());
    assert!((acknowledged..=acknowledged + 1).contains(&count), "{count}, and acknowledged {acknowledged}");
    for number in 1..=count {
        assert_eq!(db.get(&key(number)).unwrap(), Some(value(number)), "{number} of {count}");
    }
    let snapshot = db.snapshot().unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        let found = snapshot.range(.., direction).filter(|entry| entry.is_ok()).count();
        assert_eq!(found, count as usize + 1 + others);
    }
    db.verify(|_| ()).unwrap();
    count
}

/// What a cycle has shown.
#[derive(Debug, Default)]
struct Shown {
    acknowledged: u64,
    /// Memtables that the store was opened with.
    memtables: usize,
    /// Times that what a killed process had left was room enough.
    had_leftovers: usize,
}

fn cycle(mount: &Path, cycle: usize) -> Shown {
    let store = mount.join("store");
    let (first, second, rest) = (mount.join("first"), mount.join("second"), mount.join("rest"));
    fill_file(&first, FIRST);
    fill_file(&second, SECOND);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(STORE, &store)
        .env(CYCLE, cycle.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = Shown::default();
    let mut heard = Vec::new();
    for line in lines_of(&mut child) {
        if let Some(number) = line.strip_prefix("written ") {
            let number: u64 = number.parse().unwrap();
            assert_eq!(number, shown.acknowledged + 1);
            shown.acknowledged = number;
        }
        match &*line {
            "full" => fs::remove_file(&first).unwrap(),
            // By its own handle: the SIGKILL reaches this child and no other process.
            "full again" => child.kill().unwrap(),
            "resumed" => {}
            _ => continue,
        }
        heard.push(line);
    }
    let status = child.wait().unwrap();
    assert!(status.code().is_none(), "the child ended by itself: {status}");
    assert_eq!(heard, ["full", "resumed", "full again"]);
    assert!(shown.acknowledged > 3_000, "{shown:?}");

    // What the killed process has left makes no room while it has other names, as in a copy of links.
    let links = mount.join("links");
    fs::create_dir(&links).unwrap();
    if cycle.is_multiple_of(2) {
        for entry in fs::read_dir(&store).unwrap() {
            let entry = entry.unwrap();
            fs::hard_link(entry.path(), links.join(entry.file_name())).unwrap();
        }
    }
    plug(&rest);
    let before = look(&store);
    let db = Database::open(options(&store, cycle).read_only(true)).unwrap();
    let count = check(&db, shown.acknowledged, 0);
    assert_eq!(db.set(b"new", b"1"), Err(Error::ReadOnly));
    db.close().unwrap();
    assert!(look(&store) == before, "a read-only database has changed the directory");

    let db = loop {
        let db = Database::open(options(&store, cycle)).unwrap();
        assert_eq!(check(&db, shown.acknowledged, 0), count);
        let stats = db.storage_stats().unwrap();
        if stats.failure.is_some_and(|error| is_full(&error)) {
            shown.memtables = stats.frozen_memtables;
            break db;
        }
        // What the killed process had left was room enough.
        drop(db);
        shown.had_leftovers += 1;
        assert!(shown.had_leftovers < 5, "the disk is never full");
        plug(&mount.join(format!("rest {}", shown.had_leftovers)));
    };
    for refused in [db.set(b"new", b"1"), db.delete(&key(1)).map(drop)] {
        assert!(refused.as_ref().is_err_and(is_full), "{refused:?}");
    }
    assert!(shown.memtables > 0 || cycle % 2 == 1, "nothing of the logs is kept in memory");
    fs::remove_dir_all(&links).unwrap();
    fs::remove_file(&second).unwrap();
    until_there_is_room(|| db.set(b"new", b"1"));
    check(&db, shown.acknowledged, 1);
    until_there_is_room(|| db.sync());
    db.close().unwrap();
    let db = Database::open(options(&store, cycle)).unwrap();
    assert_eq!(check(&db, shown.acknowledged, 1), count);
    drop(db);
    for entry in fs::read_dir(mount).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
    shown
}

/// Not a test by itself: the process in the namespace.
#[test]
fn inside() {
    let Some(mount) = std::env::var_os(MOUNT) else { return };
    let mount = PathBuf::from(mount);
    let cycles = std::env::var(CYCLES).map_or(1, |cycles| cycles.parse().unwrap());
    assert!(cycles > 0);
    for number in 0..cycles {
        let begin = Instant::now();
        let shown = cycle(&mount, number);
        println!("cycle {number}: {shown:?} in {:.1} s", begin.elapsed().as_secs_f64());
    }
}

/// A command that runs another in namespaces of its own, in which it may mount.
fn in_namespace(flags: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args([flags, "sh", "-c"]);
    command
}

#[test]
fn a_full_disk_loses_nothing_and_has_a_way_back() {
    let directory = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size={SIZE} none \"${MOUNT}\"");
    let tries: Vec<_> = ["-rm", "-m"]
        .into_iter()
        .map(|flags| (flags, in_namespace(flags).arg(&mount).env(MOUNT, directory.path()).output()))
        .collect();
    let works = tries.iter().find(|(_, done)| done.as_ref().is_ok_and(|done| done.status.success()));
    let Some((flags, _)) = works else {
        // Where a process may not make a namespace, as in many containers.
        println!("SKIPPED: no tmpfs can be mounted here: {tries:?}");
        eprintln!("SKIPPED full_disk: no tmpfs can be mounted here: {tries:?}");
        return;
    };
    let test = r#"exec "$0" --exact inside --nocapture --test-threads=1"#;
    let status = in_namespace(flags)
        .arg(format!("{mount} && {test}"))
        .arg(std::env::current_exe().unwrap())
        .env(MOUNT, directory.path())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "it was not in its own namespace");
}
