//! How much room on the disk does a plan need? An estimate of the most that embedded engines have there at one time.

use super::driven::{StoreKey, StoreUse};
use super::step::{Step, Work};

/// The most at one time, bytes: what is kept, and what the step at hand adds.
#[must_use]
pub fn disk_bytes(steps: &[Step]) -> u64 {
    let mut kept: Vec<(&StoreKey, u64)> = Vec::new();
    let mut most = 0;
    for step in steps {
        let held: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
        let own = match &step.work {
            Work::Stock { stock } => {
                kept.push((&stock.key, stock.pace.disk_bytes(&stock.key.records)));
                stock.pace.disk_bytes_loading(&stock.key.records)
            }
            Work::Embedded { work } => match work.store {
                StoreUse::Kept(_) => 0,
                // What is overwritten is there until it is merged.
                StoreUse::Fresh | StoreUse::Copy(_) => work.pace.disk_bytes_loading(&work.records),
            },
            _ => 0,
        };
        most = most.max(held + own);
        if let Work::Embedded { work } = &step.work
            && work.releases
        {
            kept.retain(|(key, _)| Some(*key) != work.store.key());
        }
    }
    most
}
