//! Resident memory under the cap: a child process writes, appends, moves and removes values of all sizes from four
//! threads, while its parent samples the child's anonymous memory.
//!
//! The child is stopped for each sample, because `smaps_rollup` of a running process is no snapshot: the kernel walks one
//! mapping after the other, and pages that a thread frees behind the walk and takes again ahead of it count twice. Read
//! so, a store that kept its cap seemed to pass it by 1.3 MiB under `allkeys-s3fifo` when the walk was preempted.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use plumbkv::{Database, ExpireCondition, Expiry, Options, Policy, SetOptions};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

const MIB: u64 = 1 << 20;
const CAP: u64 = 48 * MIB;
/// Stacks of the threads, and small blocks that the allocator keeps in each thread's arena.
const BESIDE: u64 = MIB;
const POLICIES: [Policy; 4] =
    [Policy::AllkeysLru, Policy::AllkeysS3Fifo, Policy::VolatileTtl, Policy::AllkeysLfu];
const THREADS: u64 = 4;
/// Calls of each thread under each policy. They write several times the cap, however fast the machine is.
const CALLS: u64 = 75_000;
/// Set for the child.
const IS_CHILD: &str = "PLUMBKV_RESIDENT_CHILD";

/// Makes glibc's allocator map every block longer than a page, and unmap it when it is freed. Otherwise each thread's
/// arena keeps the size of its largest block so far: a megabyte and more for four threads, none of it the store's.
fn pieces_leave_nothing_behind() {
    #[cfg(target_env = "gnu")]
    // SAFETY: changes a number in the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4096);
    }
}

/// Calls that grow, shrink, move and remove values of all sizes.
fn one_call(db: &Database, rng: &mut fastrand::Rng, value: &[u8]) {
    let key = rng.u32(..60_000).to_be_bytes();
    let len = match rng.u32(..1000) {
        0..900 => rng.usize(..300),
        900..980 => rng.usize(..8000),
        980..999 => rng.usize(..150_000),
        _ => rng.usize(..3_000_000),
    };
    // Where a policy lets nothing go a write is refused, and half of what is asked for may be larger than what is left.
    match rng.u32(..20) {
        0..9 => drop(db.set(&key, &value[..len])),
        9..12 => drop(db.append(&key, &value[..len / 2])),
        12 => {
            let soon = SetOptions::new().expiry(Expiry::At(now_ms() + rng.u64(..300)));
            drop(db.set_with(&key, &value[..len], soon));
        }
        13 => drop(db.expire_at(&key, now_ms() + rng.u64(..300), ExpireCondition::Always)),
        14 | 15 => drop(db.delete(&key)),
        16 => drop(db.rename(&key, &rng.u32(..60_000).to_be_bytes())),
        17 => {
            let keys: Vec<[u8; 4]> = (0..20).map(|_| rng.u32(..60_000).to_be_bytes()).collect();
            let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &value[..len / 20])).collect();
            drop(db.set_many(&pairs));
        }
        18 => {
            // What the program holds is really there, and freed before it is no longer counted.
            let bytes = rng.usize(1..40) * 4096;
            if db.reserve(bytes as u64).is_ok() {
                drop(std::hint::black_box(vec![1u8; bytes - 64]));
                db.release(bytes as u64);
            }
        }
        _ => drop(db.read(&key, <[u8]>::len)),
    }
}

fn now_ms() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

/// Writes a line for the parent, which reads what follows the mark.
fn say(line: &str) {
    rustix::io::write(std::io::stdout(), format!("\n{MARK}{line}\n").as_bytes()).unwrap();
}

const MARK: &str = "resident: ";

/// Waits until the parent has taken its sample.
fn wait_for_parent() {
    let mut answer = [0];
    assert_eq!(rustix::io::read(std::io::stdin(), &mut answer).unwrap(), 1, "the parent is gone");
}

/// Not a test by itself: the process that the other test starts and samples.
#[test]
fn child() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    pieces_leave_nothing_behind();
    let value = vec![b'v'; 3_000_000];
    say("ready");
    wait_for_parent();
    let db = Database::open(Options::memory(CAP)).unwrap();
    for policy in POLICIES {
        db.set_policy(policy).unwrap();
        say(policy.name());
        write_from_threads(&db, &value);
        say("written");
        let stats = db.stats();
        assert_eq!(db.recount_entry_bytes(), stats.entry_bytes, "{policy}");
        db.clear().unwrap();
    }
    while db.maintain(Duration::from_millis(1)) {}
    say("empty");
    wait_for_parent();
}

fn write_from_threads(db: &Database, value: &[u8]) {
    let running = AtomicU64::new(THREADS);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let running = &running;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(number);
                (0..CALLS).for_each(|_| one_call(db, &mut rng, value));
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        while running.load(Ordering::Relaxed) > 0 {
            db.expire_cycle(Duration::from_millis(1));
            db.maintain(Duration::from_millis(1));
            let accounted = db.stats().accounted_bytes;
            assert!(accounted <= CAP, "{accounted} bytes are accounted for");
            thread::sleep(Duration::from_millis(5));
        }
    });
}

/// The child process, killed when this is dropped.
struct Writer {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Writer {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(IS_CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(line) = line.strip_prefix(MARK) {
                    let _ = sender.send(line.to_owned());
                }
            }
        });
        Self { child, stdin, lines }
    }

    /// Lets the child go on after [`wait_for_parent`].
    fn answer(&self) {
        rustix::io::write(&self.stdin, b"\n").unwrap();
    }

    /// The next line of the child.
    fn next(&self) -> String {
        self.lines.recv().expect("the child ended: its error is above")
    }

    /// Anonymous memory of the child, bytes, while none of its threads runs. Pages of files are its code. The counters of
    /// `statm` lag behind; this counts pages.
    fn anonymous_bytes(&self) -> u64 {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::STOP).unwrap();
        // The kernel reports a stop when the last thread has left what it did in the kernel.
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped(), "the child ended: its error is above");
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id())).unwrap();
        kill_process(pid, Signal::CONT).unwrap();
        let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
    }

    /// The most that the child held until its next line.
    fn most_until_next(&self) -> (u64, String) {
        let mut most = 0;
        loop {
            match self.lines.recv_timeout(Duration::from_millis(5)) {
                Ok(line) => return (most, line),
                Err(RecvTimeoutError::Timeout) => most = most.max(self.anonymous_bytes()),
                Err(RecvTimeoutError::Disconnected) => panic!("the child ended: its error is above"),
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_process_grows_by_no_more_than_the_cap_whatever_four_threads_do() {
    let mut writer = Writer::start();
    assert_eq!(writer.next(), "ready");
    let before = writer.anonymous_bytes();
    writer.answer();
    for policy in POLICIES {
        assert_eq!(writer.next(), policy.name());
        let (most, line) = writer.most_until_next();
        assert_eq!(line, "written");
        let growth = most.saturating_sub(before);
        assert!(growth <= CAP + BESIDE, "the process grew by {growth} bytes under {policy}");
        assert!(growth > CAP / 2, "{policy} never filled the cap: {growth} bytes");
    }
    assert_eq!(writer.next(), "empty");
    let left = writer.anonymous_bytes().saturating_sub(before);
    assert!(left < CAP / 8, "{left} bytes are left of an empty store");
    writer.answer();
    assert!(writer.child.wait().unwrap().success(), "the child failed: its error is above");
}
