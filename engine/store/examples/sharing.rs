//! Should threads share the table, or own a part of it each and pass requests on? Measures both, in CPU time per operation (Linux only).
//!
//! ```text
//! cargo run --release -p plumbkv --example sharing -- [THREADS] [KEYS]
//! ```
//!
//! `shared`: every thread calls one database, whose shards have locks. `owned`: each thread has a database of its own with its share of the keys; a
//! batch of 16 requests, as a pipeline brings them, is split by owner, and what belongs to another thread goes there through a channel and comes back
//! with the values. `alone`: one thread and one database, as a measure.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use plumbkv::{Database, Options, Result};

const BATCH: usize = 16;
/// Batches that a thread has under way, as its connections would.
const WINDOW: usize = 8;
const VALUE: [u8; 64] = [b'v'; 64];
const SETS_IN_TEN: u32 = 2;

/// What one thread asks of another: keys, and which of them are written. Comes back with the bytes that were read.
struct Parcel {
    from: usize,
    keys: Vec<(u64, bool)>,
    read: usize,
    is_answer: bool,
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn execute(db: &Database, key: u64, is_write: bool) -> usize {
    let name = key.to_be_bytes();
    if is_write {
        db.set(&name, &VALUE).map_or(0, |()| 1)
    } else {
        db.read(&name, |value| value.len()).ok().flatten().unwrap_or(0)
    }
}

fn database(keys: u64) -> Result<Database> {
    let db = Database::open(Options::memory(u64::MAX))?;
    (0..keys).try_for_each(|key| db.set(&key.to_be_bytes(), &VALUE))?;
    Ok(db)
}

fn draw(rng: &mut fastrand::Rng, keys: u64) -> (u64, bool) {
    (rng.u64(..keys), rng.u32(..10) < SETS_IN_TEN)
}

/// Operations done by one thread.
fn share(db: &Database, keys: u64, seed: u64, end: Instant) -> u64 {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut done, mut sum) = (0, 0);
    while Instant::now() < end {
        for _ in 0..BATCH * WINDOW {
            let (key, is_write) = draw(&mut rng, keys);
            sum += execute(db, key, is_write);
        }
        done += (BATCH * WINDOW) as u64;
    }
    std::hint::black_box(sum);
    done
}

fn own(
    me: usize,
    db: &Database,
    keys: u64,
    inbox: &Receiver<Parcel>,
    others: &[Sender<Parcel>],
    end: Instant,
) -> u64 {
    let mut rng = fastrand::Rng::with_seed(me as u64);
    let (mut done, mut sum, mut under_way) = (0, 0, 0);
    let mut split: Vec<Vec<(u64, bool)>> = vec![Vec::new(); others.len()];
    while Instant::now() < end {
        while let Ok(mut parcel) = inbox.try_recv() {
            if parcel.is_answer {
                done += parcel.keys.len() as u64;
                sum += parcel.read;
                under_way -= 1;
            } else {
                parcel.read = parcel.keys.iter().map(|(key, is_write)| execute(db, *key, *is_write)).sum();
                parcel.is_answer = true;
                let _ = others[std::mem::replace(&mut parcel.from, me)].send(parcel);
            }
        }
        if under_way >= WINDOW * (others.len() - 1) {
            thread::yield_now();
            continue;
        }
        for _ in 0..BATCH {
            let (key, is_write) = draw(&mut rng, keys);
            split[key as usize % others.len()].push((key, is_write));
        }
        for (owner, part) in split.iter_mut().enumerate().filter(|(_, part)| !part.is_empty()) {
            if owner == me {
                done += part.len() as u64;
                sum += part.drain(..).map(|(key, is_write)| execute(db, key, is_write)).sum::<usize>();
            } else {
                let parcel = Parcel { from: me, keys: std::mem::take(part), read: 0, is_answer: false };
                under_way += usize::from(others[owner].send(parcel).is_ok());
            }
        }
    }
    std::hint::black_box(sum);
    done
}

fn report(name: &str, done: u64, cpu: Duration, wall: Duration) {
    let (cpu_ns, rate) = (cpu.as_nanos() as f64 / done as f64, done as f64 / wall.as_secs_f64());
    println!("{name:12} {cpu_ns:7.1} ns CPU per operation  {:8.3} million operations per second", rate / 1e6);
}

fn run_shared(name: &str, threads: usize, keys: u64, time: Duration) -> Result<()> {
    let db = Arc::new(database(keys)?);
    let (before, start) = (cpu_time(), Instant::now());
    let workers: Vec<_> = (0..threads)
        .map(|seed| {
            let db = Arc::clone(&db);
            thread::spawn(move || share(&db, keys, seed as u64, start + time))
        })
        .collect();
    let done = workers.into_iter().filter_map(|worker| worker.join().ok()).sum();
    report(name, done, cpu_time() - before, start.elapsed());
    Ok(())
}

fn run_owned(threads: usize, keys: u64, time: Duration) -> Result<()> {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..threads).map(|_| channel()).unzip();
    // Each has all keys: the tables are a little larger than they would be, which is the same for both sides of a pair.
    let databases = (0..threads).map(|_| database(keys)).collect::<Result<Vec<_>>>()?;
    let (before, start) = (cpu_time(), Instant::now());
    let workers: Vec<_> = databases
        .into_iter()
        .zip(inboxes)
        .enumerate()
        .map(|(me, (db, inbox))| {
            let others = senders.clone();
            thread::spawn(move || own(me, &db, keys, &inbox, &others, start + time))
        })
        .collect();
    drop(senders);
    let done = workers.into_iter().filter_map(|worker| worker.join().ok()).sum();
    report("owned", done, cpu_time() - before, start.elapsed());
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().ok());
    let mut number = |default| arguments.next().flatten().unwrap_or(default);
    let (threads, keys) = (number(2) as usize, number(1_000_000));
    let time = Duration::from_secs(4);
    println!("{keys} keys of 8 B, values of 64 B, {SETS_IN_TEN} of 10 operations write, batches of {BATCH}");
    for _ in 0..3 {
        run_shared("alone", 1, keys, time)?;
        run_shared("shared", threads, keys, time)?;
        run_owned(threads, keys, time)?;
    }
    Ok(())
}
