//! Least counts: how often each kind of step, fault, cut and work has to happen, so that the simulation
//! cannot come to test nothing without a failure.

use super::world::Counts;

/// Runs after which the counts are compared: in fewer, chance decides.
const RUNS: u64 = 2_000;

/// About a quarter of what 2,000 runs did when this was written.
const LEAST: [(&str, u64); 82] = [
    ("append", 4_200),
    ("batch", 6_500),
    ("batch too long", 1_405),
    ("block cache hits", 520_000),
    ("bytes flushed", 10_000_000),
    ("bytes ingested", 3_800_000),
    ("bytes merged", 23_000_000),
    ("calls refused for what they ask", 4_400),
    ("calls that do not wait: done", 7_300),
    ("calls that do not wait: refused", 6_900),
    ("changes compared when opened", 41_000),
    ("changes of shared keys", 9_300),
    ("checkpoint", 340),
    ("checkpoints opened and compared", 300),
    ("clear", 340),
    ("clock jumps ahead", 110),
    ("clock moves", 1_000),
    ("clock set back", 230),
    ("clock set while clients write", 4_700),
    ("closed", 370),
    ("compact", 700),
    ("compact in part", 350),
    ("compare_and_set", 3_800),
    ("cuts between operations", 170),
    ("cuts in the middle of an operation", 500),
    ("cuts while it is opened", 140),
    ("delete", 6_900),
    ("delete_many", 2_700),
    ("delete_range", 1_400),
    ("delete_range apart", 2_600),
    ("disk operations", 2_700_000),
    ("dropped", 380),
    ("errors returned", 4_000),
    ("expire_at", 4_100),
    ("faults while it is opened", 26),
    ("faults: disk full", 630),
    ("faults: lasting errors", 160),
    ("faults: lost sectors", 130),
    ("faults: misdirected sectors", 130),
    ("faults: misread sectors", 290),
    ("faults: passing errors", 290),
    ("faults: short writes", 24_000),
    ("faults: syncs that drop pages", 75),
    ("files laid aside", 20),
    ("flush", 1_000),
    ("get_and_expire", 2_900),
    ("increment", 5_700),
    ("ingest", 2_600),
    ("ingests given up", 320),
    ("kept snapshots of a closed database refused", 54),
    ("kept snapshots read", 1_100),
    ("lives", 1_400),
    ("lives with flushes", 930),
    ("lives with merges", 850),
    ("lives with tables below level 0", 1_000),
    ("open bank", 1_200),
    ("opened", 1_400),
    ("opened read-only", 360),
    ("opened without room", 23),
    ("persist", 2_600),
    ("phases with several clients", 1_200),
    ("reads", 14_000),
    ("rename", 4_000),
    ("repairs that failed", 15),
    ("set", 16_000),
    ("set too large", 1_300),
    ("set_many", 4_000),
    ("set_with", 7_600),
    ("settle", 350),
    ("snapshots refused", 55),
    ("stores found damaged", 29),
    ("stores repaired", 20),
    ("sync", 1_600),
    ("take", 2_900),
    ("time passes behind the highest", 340),
    ("transfer", 2_400),
    ("values that contain records of logs", 2_300),
    ("verify", 350),
    ("whole comparisons", 1_400),
    ("write delays", 29),
    ("write stalls", 890),
    ("writes refused", 1_900),
];

/// Prints how often everything happened, and fails where something happened less often than it should.
pub(super) fn check(counts: &Counts, runs: u64) {
    let least =
        |name: &str| LEAST.iter().find(|(other, _)| *other == name).map(|(_, least)| least * runs / RUNS);
    for (name, count) in counts {
        println!("  {count:>12} {name} (at least {})", least(name).unwrap_or(0));
    }
    let unknown: Vec<_> = counts.keys().filter(|name| least(name).is_none()).collect();
    let missed: Vec<_> = LEAST
        .iter()
        .map(|(name, least)| (*name, least * runs / RUNS, counts.get(name).copied().unwrap_or(0)))
        .filter(|(_, least, count)| count < least)
        .collect();
    assert!(
        runs < RUNS || missed.is_empty(),
        "the simulation did too little (name, least, count): {missed:?}"
    );
    assert!(runs < RUNS || unknown.is_empty(), "no least count of {unknown:?}");
}
