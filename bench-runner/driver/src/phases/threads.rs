//! How do several threads begin at the same moment, each with a session of its own?

use super::tally::Tally;
use crate::engine::Engine;
use crate::protocol::Until;
use std::sync::{Barrier, PoisonError, RwLock};
use std::time::Instant;

/// Runs `work` in so many threads, by their numbers; each is given its share of the operations.
pub(super) fn together<E: Engine>(
    engine: &E,
    threads: u32,
    until: Until,
    work: impl Fn(u32, &mut E::Session<'_>, Until, &mut Tally) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<(Instant, Tally)> {
    let share = Until { operations: until.operations.div_ceil(u64::from(threads.max(1))), ..until };
    let ready = Barrier::new(threads as usize + 1);
    let begun = RwLock::new(Instant::now());
    std::thread::scope(|scope| {
        let one = |number: u32| {
            let (ready, begun, work) = (&ready, &begun, &work);
            scope.spawn(move || -> anyhow::Result<Tally> {
                let session = engine.session();
                ready.wait();
                // Held by the thread that opened the barrier until it has read the clock: nobody begins before.
                drop(begun.read());
                let mut session = session?;
                let mut tally = Tally::new();
                work(number, &mut session, share, &mut tally)?;
                Ok(tally)
            })
        };
        let workers: Vec<_> = (0..threads).map(one).collect();
        let mut start = begun.write().unwrap_or_else(PoisonError::into_inner);
        ready.wait();
        *start = Instant::now();
        let begin = *start;
        drop(start);
        let mut all = Tally::new();
        for worker in workers {
            match worker.join() {
                Ok(tally) => all.add(tally?)?,
                Err(_) => anyhow::bail!("a thread of the driver ended before its time"),
            }
        }
        Ok((begin, all))
    })
}
