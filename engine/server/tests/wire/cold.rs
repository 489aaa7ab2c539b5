//! What does a client wait for who asks for one key again and again, while others read a store that is larger than all caches, from the disk?
//!
//! Tables are taken out of the page cache before and all the while. `PLUMBKV_COLD=full` (`make cold`) asks for a larger store and a release build: only then is the
//! latency judged, p99 < 1 ms; else the test is only that nobody is held up for long. It counts from the moment at which a request was due. A second client does the
//! same at a second server, which is left alone: what it waits for is the machine.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};
use rustix::process::Signal;

use crate::client::{Client, noise, request_of};
use crate::server::Server;

/// The most that the 99th percentile may be.
const BAR: Duration = Duration::from_millis(1);

/// Time between two requests of the client that asks for one key.
const PACE: Duration = Duration::from_micros(500);

const VALUE: usize = 200;

/// The key that one client asks for again and again.
const HOT: u64 = 7;

fn is_full() -> bool {
    std::env::var("PLUMBKV_COLD").is_ok_and(|value| value == "full")
}

fn key(number: u64) -> String {
    format!("key:{number:09}")
}

/// So many keys in tables under `data`, far more than the server's caches hold.
fn fill(data: &Path, arguments: &[&str], keys: u64) {
    for round in 0..2 {
        let mut server = Server::start(&[&["--data", data.to_str().unwrap()], arguments].concat());
        let mut c = server.client();
        let mut next = if round == 0 { 0 } else { keys };
        while next < keys {
            let batch = next..keys.min(next + 1_000);
            let writes =
                batch.clone().flat_map(|i| request_of(&[b"SET", key(i).as_bytes(), &noise(VALUE, i)]));
            let sending = c.send_beside(writes.collect());
            batch.clone().for_each(|_| assert_eq!(c.receive(), b"+OK\r\n"));
            sending.join().unwrap();
            next = batch.end;
        }
        // The second time what is in the log becomes a table.
        server.signal(Signal::TERM);
        assert!(server.wait().success());
    }
}

/// Takes all tables out of the page cache; their bytes.
fn drop_from_page_cache(data: &Path) -> u64 {
    let mut bytes = 0;
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        // A table may be merged away meanwhile.
        if path.extension().is_some_and(|end| end == "table")
            && let Ok(file) = File::open(&path)
        {
            file.sync_all().unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            bytes += file.metadata().unwrap().len();
        }
    }
    bytes
}

/// Asks for one key at a steady pace; how long each request took from when it was due, the shortest first.
fn ask_for_one(mut client: Client, is_over: &AtomicBool) -> Vec<Duration> {
    let (begun, mut latencies) = (Instant::now(), Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        let due = begun + PACE * u32::try_from(latencies.len() + 1).unwrap();
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let found = client.bulk(&format!("GET {}", key(HOT)));
        latencies.push(due.elapsed());
        assert!(found.is_some_and(|found| found == noise(VALUE, HOT)));
    }
    latencies.sort_unstable();
    latencies
}

fn percentile(latencies: &[Duration], permille: usize) -> Duration {
    latencies[(latencies.len() - 1) * permille / 1_000]
}

/// The 99th percentiles of the two that ask for one key: beside so many that read from the disk, and of a server that is left alone.
fn measure(
    io: &str,
    data: &Path,
    arguments: &[&str],
    keys: u64,
    readers: usize,
    time: Duration,
) -> [Duration; 2] {
    let server = Server::start(&[&["--io", io, "--data", data.to_str().unwrap()], arguments].concat());
    let elsewhere = tempfile::tempdir().unwrap();
    let alone = Server::start(&["--io", io, "--data", elsewhere.path().to_str().unwrap()]);
    let mut client = alone.client();
    client.send(&request_of(&[b"SET", key(HOT).as_bytes(), &noise(VALUE, HOT)]));
    assert_eq!(client.receive(), b"+OK\r\n");
    let bytes = drop_from_page_cache(data);
    let (is_over, read) = (AtomicBool::new(false), AtomicU64::new(0));
    let [hot, control] = std::thread::scope(|scope| {
        for reader in 0..readers {
            let (is_over, read, mut client) = (&is_over, &read, server.client());
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(reader as u64);
                while !is_over.load(Ordering::Relaxed) {
                    let number = random.u64(0..keys);
                    let found = client.bulk(&format!("GET {}", key(number)));
                    assert!(found.is_some_and(|found| found == noise(VALUE, number)), "{number}");
                    read.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let asking = [&server, &alone].map(|server| {
            let (is_over, client) = (&is_over, server.client());
            scope.spawn(move || ask_for_one(client, is_over))
        });
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::thread::sleep(Duration::from_millis(100));
            drop_from_page_cache(data);
        }
        is_over.store(true, Ordering::Relaxed);
        asking.map(|asking| asking.join().unwrap())
    });
    let io_bytes = std::fs::read_to_string(format!("/proc/{}/io", server.pid())).unwrap_or_default();
    let from_disk = io_bytes.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse::<u64>().ok());
    let reads = read.load(Ordering::Relaxed);
    assert!(reads > 0, "nothing was read");
    let in_us = |latencies: &[Duration]| [500, 990, 999, 1_000].map(|p| percentile(latencies, p).as_micros());
    println!(
        "--io {io}: {readers} read {:.0} times a second from {} MiB of tables ({} bytes from the disk each); one key, p50 p99 p99.9 max in µs: {:?}; of a server that is left alone: {:?}",
        reads as f64 / time.as_secs_f64(),
        bytes >> 20,
        from_disk.map_or(0, |bytes| bytes / reads),
        in_us(&hot),
        in_us(&control),
    );
    [percentile(&hot, 990), percentile(&control, 990)]
}

#[test]
fn one_key_is_answered_at_once_while_others_are_read_from_the_disk() {
    let (keys, time) =
        if is_full() { (2_000_000, Duration::from_secs(8)) } else { (60_000, Duration::from_secs(1)) };
    let budget = if is_full() { "16mib" } else { "2mib" };
    let arguments = ["--memory-budget", budget, "--sync", "never"];
    let data = tempfile::tempdir().unwrap();
    fill(data.path(), &arguments, keys);
    let mut slow = Vec::new();
    for io in ["epoll", "auto"] {
        for readers in if is_full() { vec![1, 16] } else { vec![2] } {
            let [hot, alone] = measure(io, data.path(), &arguments, keys, readers, time);
            let bar = if is_full() { BAR } else { Duration::from_millis(100) };
            // Where even the one that is left alone waits longer, the machine has other work.
            if hot >= bar.max(alone * 2) {
                slow.push(format!("--io {io}, {readers} readers: p99 {hot:?}, left alone {alone:?}"));
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}
