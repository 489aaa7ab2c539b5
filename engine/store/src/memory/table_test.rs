//! Does the table keep its order whatever is inserted and removed? Compared with a `BTreeMap`, step by step.

use std::collections::BTreeMap;
use std::ptr::NonNull;

use proptest::prelude::*;

use super::*;
use crate::memory::entry::{Contents, Entry, UNIT};

/// An entry that is there for as long as the test runs.
fn entry(key: &[u8], stamp: u32) -> Owned {
    let contents = Contents { key, value: [b"v", b""], expiry: Some(7), stamp };
    let shape = contents.shape(0);
    let memory = vec![0u64; shape.len() / UNIT].leak();
    // SAFETY: the memory is fresh, long enough, and never freed.
    unsafe { Owned::new(Entry::write(NonNull::from(memory).cast(), shape, &contents, false)) }
}

fn fresh(len: usize) -> Slots {
    let memory = vec![0u64; len].leak();
    // SAFETY: the memory is fresh, so long, and never freed.
    unsafe { Slots::at(NonNull::from(memory).cast(), len) }
}

const HIGHEST: u32 = (1 << TAG_BITS) - 1;

#[derive(Debug, Clone)]
enum Step {
    Insert { tag: u32, key: u8, volatile: bool },
    Remove { tag: u32, key: u8 },
    Shrink,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few tags, most of them at the two ends: runs of equal tags, and runs that pass the end of the array.
    let tag = prop_oneof![Just(0u32), Just(2), Just(HIGHEST), Just(HIGHEST - 3), 0..=HIGHEST];
    let key = 0..12u8;
    let step = prop_oneof![
        6 => (tag.clone(), key.clone(), any::<bool>())
            .prop_map(|(tag, key, volatile)| Step::Insert { tag, key, volatile }),
        4 => (tag, key).prop_map(|(tag, key)| Step::Remove { tag, key }),
        1 => Just(Step::Shrink),
    ];
    proptest::collection::vec(step, 1..200)
}

fn check(table: &Table, model: &BTreeMap<(u32, u8), bool>) {
    assert_eq!(table.len(), model.len());
    assert_eq!(table.volatile(), model.values().filter(|volatile| **volatile).count());
    let listed = |from: u32| -> Vec<u32> { table.walk_from(from).map(|(_, slot)| slot.tag()).collect() };
    let tags: Vec<u32> = model.keys().map(|(tag, _)| *tag).collect();
    assert_eq!(listed(0), tags, "a walk lists all entries by tag");
    for from in tags.iter().copied().take(3).chain([1, HIGHEST]) {
        let expected: Vec<u32> = tags.iter().copied().filter(|tag| *tag >= from).collect();
        assert_eq!(listed(from), expected, "from {from}");
    }
    for ((tag, key), volatile) in model {
        let at = table.find(*tag, &[*key]).expect("an entry that was inserted");
        assert_eq!(table.held(at).map(Held::key), Some(&[*key][..]));
        assert_eq!(table.held(at).map(Held::is_volatile), Some(*volatile));
    }
    assert!(
        table.slots.is_empty() || table.len() < table.slots.len(),
        "a search needs an empty slot to end at"
    );
}

proptest! {
    #[test]
    fn a_table_behaves_like_a_sorted_map(steps in steps(), comfort in any::<bool>()) {
        let mut table = Table::default();
        let mut model = BTreeMap::new();
        for step in steps {
            match step {
                Step::Insert { tag, key, volatile } => {
                    if let Some(slots) = table.growth(1, comfort) {
                        table.resize(fresh(slots));
                    }
                    match table.find(tag, &[key]) {
                        Err(_) => table.insert(tag, entry(&[key], 0), volatile),
                        Ok(at) => table.mark_expiry(at, volatile),
                    }
                    model.insert((tag, key), volatile);
                }
                Step::Remove { tag, key } => {
                    let found = table.find(tag, &[key]);
                    prop_assert_eq!(found.is_ok(), model.remove(&(tag, key)).is_some());
                    if let Ok(at) = found {
                        let taken = table.remove(at).unwrap();
                        // SAFETY: the entry is there for ever.
                        prop_assert_eq!(unsafe { taken.entry.into_entry().key() }, &[key][..]);
                    }
                }
                Step::Shrink => {
                    if let Some(slots) = table.excess() {
                        table.resize(fresh(slots));
                    }
                }
            }
            check(&table, &model);
        }
    }
}

#[test]
fn sampling_reaches_every_entry_about_equally_often() {
    let mut table = Table::default();
    let mut rng = fastrand::Rng::with_seed(1);
    let entries = 200;
    for number in 0..entries as u32 {
        if let Some(slots) = table.growth(1, true) {
            table.resize(fresh(slots));
        }
        let (tag, key) = (rng.u32(..=HIGHEST), number.to_be_bytes());
        table.insert(tag, entry(&key, number), number % 10 == 0);
    }
    let rounds = 20_000;
    let mut seen = vec![0u32; entries];
    for _ in 0..rounds {
        table.sample(5, false, &mut rng, |held| seen[held.stamp() as usize] += 1);
    }
    // 500 expected, standard deviation 22: five of them either way.
    assert!(seen.iter().all(|&count| (390..=610).contains(&count)), "{seen:?}");

    let mut seen = vec![0u32; entries];
    for _ in 0..rounds {
        table.sample(5, true, &mut rng, |held| seen[held.stamp() as usize] += 1);
    }
    assert_eq!(seen.iter().sum::<u32>(), rounds * 5, "each round finds as many as it wants");
    assert!(
        (0..entries).all(|number| (seen[number] > 0) == (number % 10 == 0)),
        "only those that can expire"
    );
}
