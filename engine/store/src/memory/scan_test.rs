//! Are keys with the same tag returned together? Real hashes hardly ever collide, so the tags are made up here.

use std::sync::Arc;

use super::*;
use crate::clock::SystemClock;
use crate::memory::Policy;
use crate::memory::entry::Contents;
use crate::memory::slots::TAG_BITS;

#[test]
fn keys_with_the_same_tag_are_returned_by_the_same_call() {
    let store =
        Store::open(u64::MAX, Policy::NoEviction, 5, Arc::new(SystemClock), Some(2), Some(1), false).unwrap();
    for shard in 0..2 {
        let table = &mut store.lock(shard).table;
        table.resize(store.common.slots.take(&store.common.budget, 32).unwrap());
        // Tags 0, 2 and the highest, four keys each: at the start, and in a run that passes the end of the array.
        for (tag, number) in
            [0, 2, (1 << TAG_BITS) - 1].into_iter().flat_map(|tag| (0..4u8).map(move |number| (tag, number)))
        {
            let key = [shard as u8, tag as u8, number];
            let contents = Contents { key: &key, value: [b"", b""], expiry: None, stamp: 0 };
            let entry = store.common.heap.store(&store.common.budget, &contents, 0).unwrap();
            table.insert(tag, entry, false);
        }
    }
    for count in [1, 3, 4, 5, 100] {
        let (mut cursor, mut seen, mut calls) = (0, Vec::new(), 0);
        loop {
            cursor = store.scan(cursor, count, &mut |key| seen.push(key.to_vec()));
            calls += 1;
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(seen.len(), 24, "COUNT {count}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 24, "COUNT {count}: each once");
        assert!(calls <= 6, "COUNT {count} took {calls} calls for 6 tags");
    }
}
