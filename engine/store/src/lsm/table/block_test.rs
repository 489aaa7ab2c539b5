//! Does a block give back what a sorted map holds, and is a damaged one an error or another block, but never a panic?

use super::block::{Block, BlockCursor};
use super::block_builder::BlockBuilder;
use crate::lsm::record::{Kind, Record, Stamp};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;

type Model = BTreeMap<(Vec<u8>, Reverse<Stamp>), Vec<u8>>;
type Owned = (Vec<u8>, Stamp, Vec<u8>);

fn model() -> impl Strategy<Value = Model> {
    let key = prop::collection::vec(prop::sample::select(vec![0_u8, 1, b'a', 255]), 0..9);
    let stamp = (0_u64..40, 0_u8..3)
        .prop_map(|(sequence, kind)| Reverse(Stamp::new(sequence, Kind::from_byte(kind).unwrap())));
    prop::collection::btree_map((key, stamp), prop::collection::vec(any::<u8>(), 0..40), 0..90)
}

fn built(model: &Model) -> Vec<u8> {
    let (mut builder, mut bytes) = (BlockBuilder::new(usize::MAX), Vec::new());
    for ((key, stamp), value) in model {
        builder.add(&Record { key, stamp: stamp.0, value });
    }
    let len = builder.len();
    builder.finish(&mut bytes);
    assert_eq!((bytes.len(), builder.is_empty()), (len, true));
    bytes
}

fn expected((key, value): (&(Vec<u8>, Reverse<Stamp>), &Vec<u8>)) -> Owned {
    (key.0.clone(), key.1.0, value.clone())
}

fn shown(record: Record) -> Owned {
    (record.key.to_vec(), record.stamp, record.value.to_vec())
}

proptest! {
    #[test]
    fn a_block_is_a_sorted_map(model in model(), probes in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..45, 0_usize..3), 1..30)) {
        let bytes = built(&model);
        let block = Block::new(&bytes).unwrap();
        let all: Vec<_> = model.iter().map(expected).collect();
        let mut cursor = BlockCursor::new(&bytes).unwrap();
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        cursor.first().unwrap();
        while let Some(record) = cursor.record() {
            forward.push(shown(record));
            cursor.next().unwrap();
        }
        cursor.last().unwrap();
        while let Some(record) = cursor.record() {
            backward.push(shown(record));
            cursor.previous().unwrap();
        }
        backward.reverse();
        prop_assert_eq!(&forward, &all);
        prop_assert_eq!(&backward, &all);
        for (index, sequence, change) in probes {
            let mut key = if all.is_empty() { Vec::new() } else { index.get(&all).0.clone() };
            match change {
                1 => key.push(0),
                2 => drop(key.pop()),
                _ => {}
            }
            let stamp = Stamp::newest_at(sequence);
            let from = (key.clone(), Reverse(stamp));
            let found = block.get(&key, stamp).unwrap().map(|(stamp, value)| (key.clone(), stamp, value.to_vec()));
            let next = model.range(from.clone()..).next().map(expected);
            prop_assert_eq!(found, next.clone().filter(|(found, ..)| *found == key));
            cursor.seek(&key, stamp).unwrap();
            prop_assert_eq!(cursor.record().map(shown), next);
            cursor.seek_before(&key, stamp).unwrap();
            prop_assert_eq!(cursor.record().map(shown), model.range(..from).next_back().map(expected));
        }
    }

    #[test]
    fn no_bytes_are_a_panic(model in model(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5), cut in any::<prop::sample::Index>()) {
        let mut bytes = built(&model);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let Ok(block) = Block::new(&bytes) else { return Ok(()) };
        let mut cursor = BlockCursor::new(&bytes).unwrap();
        for (key, stamp) in model.keys().take(10) {
            let _ = (block.get(key, stamp.0), cursor.seek(key, stamp.0), cursor.previous(), cursor.seek_before(key, stamp.0));
        }
        let _ = cursor.first();
        for _ in 0..200 {
            if cursor.next().is_err() || cursor.record().is_none() {
                break;
            }
        }
        let _ = (cursor.last(), cursor.previous());
    }
}
