//! Does a tree of any shape hold what a sorted map and fjall hold, at every moment that somebody looked, and do its walks lead where theirs would?
//!
//! Random steps, memtables from 4 KiB and blocks from 64 bytes on, so that a few hundred writes are flushed and merged many times. A sequence that fails is shrunk, printed, and kept in
//! `proptest-regressions/`, from where it is run first the next time. `PROPTEST_CASES=5000 make test-model` looks longer.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; clippy exempts only the tests themselves"
)]

use fjall::{KeyspaceCreateOptions, Readable as _};
use plumbkv::parts::{Look, Move, Tree, TreeShape};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    Flush,
    Settle,
    Reopen {
        is_closed: bool,
    },
    Look,
    /// Through the tree as it is, or as it was at one of the looks.
    Walk(prop::sample::Index, Vec<Move>),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 255]), 0..5),
        1 => (0..200_u16).prop_map(|number| format!("a long key that begins like the others {number:04}").into_bytes()),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..60),
        1 => (any::<u8>(), 0..1_500_usize).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

fn go() -> impl Strategy<Value = Move> {
    prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        2 => key().prop_map(Move::Seek),
        2 => key().prop_map(Move::SeekBefore),
        5 => Just(Move::Next),
        5 => Just(Move::Previous),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let write = (key(), prop::option::weighted(0.75, value()));
    prop_oneof![
        20 => prop::collection::vec(write, 1..12).prop_map(Step::Write),
        3 => Just(Step::Flush),
        2 => Just(Step::Settle),
        1 => any::<bool>().prop_map(|is_closed| Step::Reopen { is_closed }),
        2 => Just(Step::Look),
        4 => (any::<prop::sample::Index>(), prop::collection::vec(go(), 1..25)).prop_map(|(at, moves)| Step::Walk(at, moves)),
    ]
}

fn shape() -> impl Strategy<Value = TreeShape> {
    let bytes = (
        prop::sample::select(vec![4_096_usize, 16_384]),
        prop::sample::select(vec![64_usize, 300, 2_048]),
        prop::sample::select(vec![500_u64, 5_000]),
        prop::sample::select(vec![0_u64, 1_000, 1 << 20]),
    );
    (bytes, any::<bool>(), prop::sample::select(vec![0_u32, 10]), 1..5_usize, any::<bool>()).prop_map(
        |(
            (memtable_bytes, block_bytes, table_bytes, cache_bytes),
            is_compressed,
            filter_bits_per_key,
            level0_tables,
            has_workers,
        )| TreeShape {
            memtable_bytes,
            block_bytes,
            table_bytes,
            cache_bytes,
            is_compressed,
            filter_bits_per_key,
            level0_tables,
            base_bytes: 2 * table_bytes,
            has_workers,
        },
    )
}

/// fjall refuses an empty key; with a byte before each the order is the same.
fn fjall_key(key: &[u8]) -> Vec<u8> {
    [b"#", key].concat()
}

/// Where a move leads among the keys of a map.
fn moved(model: &Model, at: Option<&Vec<u8>>, to: &Move) -> Option<Vec<u8>> {
    let found = match (to, at) {
        (Move::First, _) => model.keys().next(),
        (Move::Last, _) => model.keys().next_back(),
        (Move::Seek(key), _) => model.range(key.clone()..).next().map(|(key, _)| key),
        (Move::SeekBefore(key), _) => model.range(..key.clone()).next_back().map(|(key, _)| key),
        (Move::Next, Some(at)) => model.range((Excluded(at.clone()), Unbounded)).next().map(|(key, _)| key),
        (Move::Previous, Some(at)) => model.range(..at.clone()).next_back().map(|(key, _)| key),
        (Move::Next | Move::Previous, None) => None,
    };
    found.cloned()
}

fn walk(look: &Look, model: &Model, moves: &[Move]) -> Result<(), TestCaseError> {
    let (mut walk, mut at) = (look.walk(), None);
    for to in moves {
        // From nowhere there is no next one.
        if at.is_none() && matches!(to, Move::Next | Move::Previous) {
            continue;
        }
        walk.go(to).unwrap();
        at = moved(model, at.as_ref(), to);
        let expected = at.as_ref().map(|key| (&key[..], &model[key][..]));
        prop_assert_eq!(walk.pair(), expected, "after {:?}", to);
    }
    Ok(())
}

/// All of it, in both directions.
fn everything(look: &Look) -> [Vec<(Vec<u8>, Vec<u8>)>; 2] {
    [(Move::First, Move::Next), (Move::Last, Move::Previous)].map(|(first, next)| {
        let (mut walk, mut found) = (look.walk(), Vec::new());
        walk.go(&first).unwrap();
        while let Some((key, value)) = walk.pair() {
            found.push((key.to_vec(), value.to_vec()));
            walk.go(&next).unwrap();
        }
        found
    })
}

fn compare(
    look: &Look,
    model: &Model,
    theirs: &fjall::Snapshot,
    keyspace: &fjall::Keyspace,
) -> Result<(), TestCaseError> {
    let pairs: Vec<_> = model.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let [forward, mut backward] = everything(look);
    backward.reverse();
    prop_assert_eq!(&forward, &pairs);
    prop_assert_eq!(&backward, &pairs);
    let theirs: Vec<_> = theirs
        .iter(keyspace)
        .map(|pair| pair.into_inner().unwrap())
        .map(|(key, value)| (key[1..].to_vec(), value.to_vec()))
        .collect();
    prop_assert_eq!(&forward, &theirs, "fjall has something else");
    for key in model.keys() {
        let found = look.get(key).unwrap();
        prop_assert_eq!(found.as_ref(), model.get(key));
        let longer = [&key[..], &[0]].concat();
        prop_assert_eq!(look.get(&longer).unwrap(), model.get(&longer).cloned());
    }
    Ok(())
}

fn config() -> ProptestConfig {
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/tree.txt");
    let from_environment = ProptestConfig::default();
    ProptestConfig {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { from_environment.cases } else { 60 },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..from_environment
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_tree_is_what_a_sorted_map_and_fjall_are(shape in shape(), steps in prop::collection::vec(step(), 1..150)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ours");
        let mut tree = Tree::open(&path, &shape).unwrap();
        let database = fjall::Database::builder(folder.path().join("theirs")).open().unwrap();
        let keyspace = database.keyspace("all", || KeyspaceCreateOptions::default().max_memtable_size(4_096)).unwrap();
        let (mut model, mut looks) = (Model::new(), Vec::new());
        for step in steps {
            match step {
                Step::Write(writes) => {
                    tree.write(&writes).unwrap();
                    let mut batch = database.batch();
                    for (key, value) in writes {
                        match value {
                            Some(value) => {
                                batch.insert(&keyspace, fjall_key(&key), &value[..]);
                                model.insert(key, value);
                            }
                            None => {
                                batch.remove(&keyspace, fjall_key(&key));
                                model.remove(&key);
                            }
                        }
                    }
                    batch.commit().unwrap();
                }
                Step::Flush => {
                    tree.flush().unwrap();
                    keyspace.rotate_memtable_and_wait().unwrap();
                }
                Step::Settle => tree.settle().unwrap(),
                Step::Reopen { is_closed } => {
                    looks.clear();
                    if is_closed { tree.close().unwrap() } else { drop(tree) }
                    tree = Tree::open(&path, &shape).unwrap();
                }
                Step::Look => looks.push((tree.look(), model.clone(), database.snapshot())),
                Step::Walk(at, moves) => match looks.get(at.index(looks.len() + 1)) {
                    Some((look, model, _)) => walk(look, model, &moves)?,
                    None => walk(&tree.look(), &model, &moves)?,
                },
            }
        }
        looks.push((tree.look(), model.clone(), database.snapshot()));
        for (look, model, theirs) in &looks {
            compare(look, model, theirs, &keyspace)?;
        }
        for key in model.keys() {
            let found = tree.get(key).unwrap();
            prop_assert_eq!(found.as_ref(), model.get(key));
        }
    }
}
