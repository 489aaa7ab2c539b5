//! A store of GIB (3 by default) gibibytes in each profile under a limit of LIMIT (64) open files: does it
//! load, read, walk and open again?
//!
//! The limit is the one of `ulimit -n`, set by the process itself. Values of 1,000 bytes that do not
//! compress, keys in no order, half of them written twice. Printed for each profile: tables, open
//! descriptors at most, and seconds. `cargo run --release --example descriptors`.

use plumbkv::{Database, Direction, Options, Profile};
use std::path::Path;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const VALUE: usize = 1_000;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// In no order: what is written in order is never merged.
fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

fn value(number: u64, into: &mut [u8; VALUE]) {
    fastrand::Rng::with_seed(number).fill(into);
}

fn descriptors() -> Result<usize> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}

fn read(db: &Database, keys: u64, most: &mut usize) -> Result<()> {
    let (mut random, mut expected) = (fastrand::Rng::with_seed(3), [0; VALUE]);
    for count in 0..50_000 {
        let number = random.u64(..keys);
        value(number, &mut expected);
        if db.get(&key(number))?.as_deref() != Some(&expected[..]) {
            return Err(format!("key {number} has another value").into());
        }
        if count % 1_000 == 0 {
            *most = (*most).max(descriptors()?);
        }
    }
    for direction in [Direction::Forward, Direction::Backward] {
        let (mut range, mut found) = (db.snapshot()?.range(.., direction), 0);
        while range.next_pair()?.is_some() {
            found += 1;
        }
        if found != keys {
            return Err(format!("{found} of {keys} keys found {direction:?}").into());
        }
        *most = (*most).max(descriptors()?);
    }
    Ok(())
}

fn measure(path: &Path, name: &str, profile: Profile, keys: u64) -> Result<()> {
    let (begin, mut most, mut bytes) = (Instant::now(), 0, [0; VALUE]);
    let options = || Options::durable(path).profile(profile);
    let db = Database::open(options())?;
    for count in 0..keys + keys / 2 {
        let number = count % keys;
        value(number, &mut bytes);
        db.set(&key(number), &bytes)?;
        if count % 10_000 == 0 {
            most = most.max(descriptors()?);
        }
    }
    let loaded = begin.elapsed().as_secs_f64();
    read(&db, keys, &mut most)?;
    let stats = db.storage_stats()?;
    let (tables, gib) = (stats.tables(), stats.table_bytes() as f64 / (1 << 30) as f64);
    db.close()?;
    let db = Database::open(options())?;
    read(&db, keys, &mut most)?;
    db.close()?;
    println!(
        "{name:<12} {gib:>5.2} GiB {tables:>6} tables, {most:>3} descriptors at most, loaded in {loaded:>5.0} s, \
         all in {:>5.0} s",
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

fn main() -> Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let (gib, limit) = (number("GIB", 3), number("LIMIT", 64));
    setrlimit(Resource::Nofile, Rlimit { current: Some(limit), ..getrlimit(Resource::Nofile) })?;
    println!("{gib} GiB, {limit} descriptors");
    for (name, profile) in [
        ("low-memory", Profile::LowMemory),
        ("default", Profile::Default),
        ("throughput", Profile::Throughput),
    ] {
        let directory =
            tempfile::tempdir_in(std::env::var("DIRECTORY").unwrap_or_else(|_| "/tmp".to_owned()))?;
        measure(&directory.path().join("store"), name, profile, (gib << 30) / VALUE as u64)?;
    }
    Ok(())
}
