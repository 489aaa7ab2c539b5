//! Requests that wait, all at once: who executes them, how many there are who do, and how it ends.

use std::time::Instant;

use plumbkv::{Options, SyncMode};
use plumbkv_resp::Version;

use super::*;
use crate::reactor::pool::Kept;
use crate::session::Identity;
use crate::session::test_support::Driver;

struct Crew {
    shared: Arc<Shared>,
    workers: Arc<Workers>,
    _directory: tempfile::TempDir,
}

impl Crew {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let durable = Options::durable(directory.path()).sync_mode(SyncMode::Always);
        let driver = Driver::with_options(|_| durable, 1);
        let workers = Arc::new(Workers::new(Arc::new(Placement::new(2).unwrap())));
        let shared = Arc::new(driver.shared);
        workers.begin(&shared).unwrap();
        Self { shared, workers, _directory: directory }
    }

    fn submit(&self, thread: usize, slot: usize, line: &str) {
        let entry = self.shared.clients.add(String::new(), String::new(), 0, 0);
        let ticket = Ticket { thread, slot, client: entry.id };
        let request = Kept::Piece(line.as_bytes().to_vec());
        let identity = Identity::of_connection(&self.shared);
        let work = Work::Request(request);
        self.workers.submit(ticket, Job { work, version: Version::Resp2, identity, entry });
    }

    fn receive(&self, thread: usize, count: usize) -> Vec<Done> {
        let (begun, mut done) = (Instant::now(), Vec::new());
        while done.len() < count {
            done.extend(self.workers.done(thread));
            assert!(begun.elapsed() < Duration::from_secs(20), "{} of {count}", done.len());
            std::thread::yield_now();
        }
        done
    }
}

fn short(done: &Done) -> &[u8] {
    match &done.reply {
        Reply::Short(bytes) => bytes,
        Reply::Long(_) => panic!("it is long"),
    }
}

#[test]
fn each_thread_gets_the_replies_of_its_own_and_few_workers_are_begun() {
    let crew = Crew::new();
    for slot in 0..200 {
        crew.submit(slot % 2, slot, &format!("SET key:{slot} {slot}\r\n"));
    }
    for thread in 0..2 {
        let done = crew.receive(thread, 100);
        assert!(done.iter().all(|done| short(done) == b"+OK\r\n" && !done.closes));
        let mut slots: Vec<usize> = done.iter().map(|done| done.ticket.slot).collect();
        slots.sort_unstable();
        assert!(slots.into_iter().eq((thread..200).step_by(2)));
    }
    assert!((2..=MOST).contains(&crew.workers.counts().0), "{:?}", crew.workers.counts());
    crew.submit(0, 7, "GET key:9\r\n");
    assert_eq!(short(&crew.receive(0, 1)[0]), b"$1\r\n9\r\n");
    let calls = crew.shared.command_stats.commands();
    let calls: Vec<_> = calls.iter().map(|(spec, calls)| (spec.name, calls.calls)).collect();
    assert_eq!(calls, [("get", 1), ("set", 200)]);
    assert_eq!(crew.workers.figures(), (201, 0));
    crew.workers.end();
    assert_eq!(crew.workers.counts(), (0, 0));
    assert_eq!(Arc::strong_count(&crew.shared), 1, "nobody has the store any more");
}

#[test]
fn long_replies_lie_in_memory_that_is_counted_and_errors_are_replies() {
    let crew = Crew::new();
    crew.shared.database.set(b"long", &[7; 100_000]).unwrap();
    let before = crew.shared.database.stats().reserved_bytes;
    crew.submit(0, 1, "GET long\r\n");
    let mut done = crew.receive(0, 1);
    let Reply::Long(pending) = &mut done[0].reply else { panic!("it is short") };
    assert_eq!(pending.len(), 100_000 + 11);
    assert!(crew.shared.database.stats().reserved_bytes >= before + 100_000);
    pending.clear(&mut crate::reactor::pool::Pool::without_pieces());
    assert_eq!(crew.shared.database.stats().reserved_bytes, before);
    crew.submit(0, 1, "INCR long\r\n");
    assert_eq!(short(&crew.receive(0, 1)[0]), b"-ERR value is not an integer or out of range\r\n");
    crew.shared.settings.limits.set(crate::client_limits::Limit::Output, 1 << 20);
    let keys = format!("MGET{}\r\n", " long".repeat(20));
    crew.submit(0, 1, &keys);
    let done = crew.receive(0, 1);
    assert!(short(&done[0]).starts_with(b"-ERR the reply is longer than ") && done[0].closes);
    crew.workers.end();
}
