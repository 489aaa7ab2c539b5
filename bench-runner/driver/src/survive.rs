//! Does an acknowledged write survive the process? By killing one in the middle of its writes, again and again.
//!
//! `DRIVER --kill-test CYCLES FOLDER` starts itself with `--write-until-killed`, which writes batch after batch and says the number of each on standard
//! output once the engine has acknowledged it. After a while that is killed by SIGKILL; then the store is opened here, and every batch whose number was
//! said must be there, whole. The one that was under way may be there whole or not at all.

use crate::engine::{Batch, Engine, Session};
use crate::keys::plain;
use crate::main_loop::Failure;
use crate::protocol::{EngineOptions, Profile, SyncMode};
use crate::values::Values;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Records of a batch.
const RECORDS: u64 = 20;
const VALUE_BYTES: usize = 100;
const SEED: u64 = 11;
/// Longest that a writer is left alive once it has begun to write.
const LONGEST_MS: u64 = 400;

/// As little memory as the engine works with, so that its buffers are flushed and merged while it is killed.
fn options(location: &str) -> EngineOptions {
    EngineOptions { profile: Profile::LowMemory, ..EngineOptions::new(location, None, SyncMode::Never) }
}

fn fill(batch: &mut Batch, values: &Values, number: u64) {
    batch.clear(VALUE_BYTES);
    for index in indices(number) {
        batch.add(plain(index), |value| values.write(index, value));
    }
}

/// Records of a batch lie apart, so that tables and pages of all parts are written.
fn indices(number: u64) -> impl Iterator<Item = u64> {
    (0..RECORDS).map(move |place| place * 10_000_000 + number)
}

/// Writes batches from number `first` on, until somebody ends the process.
pub(crate) fn write_until_killed<E: Engine>(
    location: &str,
    first: u64,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let engine = E::open(&options(location))?;
    let mut session = engine.session()?;
    let values = Values::half_compressible(SEED, VALUE_BYTES);
    let mut batch = Batch::default();
    for number in first.. {
        fill(&mut batch, &values, number);
        session.write(&batch)?;
        writeln!(output, "{number}")?;
        output.flush()?;
    }
    Ok(())
}

/// Kills a writer `cycles` times; the text says how many batches were found again.
pub(crate) fn kill_test<E: Engine>(cycles: u64, location: &str) -> Result<String, Failure> {
    let values = Values::half_compressible(SEED, VALUE_BYTES);
    let mut random = fastrand::Rng::with_seed(SEED);
    // Ranges of numbers that were acknowledged: a batch that was under way when its writer was killed is in none.
    let mut acknowledged: Vec<(u64, u64)> = Vec::new();
    let (mut next, mut unacknowledged) = (0, 0_u64);
    for cycle in 0..cycles {
        let end = write_and_kill(location, next, Duration::from_millis(random.u64(1..LONGEST_MS)))?;
        acknowledged.push((next, end));
        let engine = E::open(&options(location))?;
        let mut session = engine.session()?;
        let from = if cycle + 1 == cycles { 0 } else { acknowledged.len() - 1 };
        for number in acknowledged.iter().skip(from).flat_map(|(first, end)| *first..*end) {
            let there = records_there(&mut session, &values, number)?;
            if there != RECORDS {
                return Err(anyhow::anyhow!(
                    "cycle {cycle}: batch {number} was acknowledged, and {there} of its {RECORDS} records are there"
                )
                .into());
            }
        }
        let there = records_there(&mut session, &values, end)?;
        if there != 0 && there != RECORDS {
            return Err(anyhow::anyhow!(
                "cycle {cycle}: {there} of {RECORDS} records of batch {end} are there"
            )
            .into());
        }
        unacknowledged += u64::from(there > 0);
        drop(session);
        engine.close()?;
        next = end + 1;
    }
    let batches: u64 = acknowledged.iter().map(|(first, end)| end - first).sum();
    Ok(format!(
        "{} {}: killed {cycles} times, {batches} acknowledged batches of {RECORDS} records all there ({unacknowledged} more \
         that were under way)",
        E::NAME,
        E::version()
    ))
}

/// The number after the last that was acknowledged.
fn write_and_kill(location: &str, first: u64, after: Duration) -> anyhow::Result<u64> {
    let mut writer = Command::new(std::env::current_exe()?)
        .args(["--write-until-killed", location, &first.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = writer.stdout.take().map(BufReader::new);
    let (begin, begun) = channel();
    let reader = std::thread::spawn(move || {
        let mut end = first;
        for line in lines.into_iter().flat_map(|lines| lines.lines().map_while(Result::ok)) {
            // A line that the kill cut short would be a smaller number.
            end = line.parse::<u64>().map_or(end, |number| end.max(number + 1));
            let _ = begin.send(());
        }
        end
    });
    // Opening is not writing: the time counts from the first batch. One that never comes is seen below.
    let _ = begun.recv();
    std::thread::sleep(after);
    let ended = writer.try_wait()?;
    writer.kill()?;
    let status = writer.wait()?;
    let end = reader.join().map_err(|_| anyhow::anyhow!("the thread that reads ended before its time"))?;
    anyhow::ensure!(ended.is_none(), "the writer ended by itself: {status}");
    Ok(end)
}

/// Records of a batch that are there; one with another value is an error.
fn records_there<S: Session>(session: &mut S, values: &Values, number: u64) -> anyhow::Result<u64> {
    let mut there = 0;
    for index in indices(number) {
        let key = plain(index);
        let mut right = false;
        if session
            .get(&key, &mut |value| right = value.len() == VALUE_BYTES && values.is_right(index, value))?
        {
            anyhow::ensure!(right, "key:{index:012} has a wrong value");
            there += 1;
        }
    }
    Ok(there)
}
