//! Does the database do what a plain map would? Random calls against a model, with a clock that stands still until it
//! is told to move, and the bytes counted afresh after every step.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

mod calls;

use calls::{Model, START, call, compare, step};
use plumbkv::{Database, ManualClock, Options};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

proptest! {
    #![proptest_config(calls::config!(300))]

    #[test]
    fn a_database_behaves_like_a_map(calls in proptest::collection::vec(call(), 1..120), shards in 0..4u32, seed in any::<u64>()) {
        let clock = Arc::new(ManualClock::new(START));
        let options = Options::memory(u64::MAX).shards(Some(1 << shards)).clock(clock.clone()).seed(seed);
        let db = Database::open(options).unwrap();
        let mut model = Model { now: START, ..Model::default() };
        for call in calls {
            step(&db, &clock, &mut model, call)?;
            prop_assert_eq!(db.recount_entry_bytes(), db.stats().entry_bytes);
        }
        compare(&db, &mut model)?;
        // A cycle ends early where little has ended, and the next one goes on with the shard behind it.
        let mut idle = 0;
        while idle < 1 << shards {
            idle = if db.expire_cycle(Duration::from_secs(5)) > 0 { 0 } else { idle + 1 };
        }
        prop_assert_eq!(db.len(), model.entries.len() as u64);
        db.clear().unwrap();
        prop_assert_eq!(db.stats().entry_bytes, 0);
        prop_assert_eq!(db.scan(0, 1_000_000, &mut |_| ()).unwrap(), 0);
    }
}
