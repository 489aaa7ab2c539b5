//! Does the table keep its order whatever is inserted and removed? Compared with a `BTreeMap`, step by step.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn block(key: &[u8]) -> Block {
    Block::new(0, key, [b"v", b""], Some(7)).unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    Insert { tag: u32, key: u8, volatile: bool },
    Remove { tag: u32, key: u8 },
    Shrink,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few tags, most of them at the two ends: runs of equal tags, and runs that pass the end of the array.
    let tag = prop_oneof![
        Just(0u32),
        Just(2),
        Just(u32::MAX - 1),
        Just(u32::MAX - 3),
        any::<u32>().prop_map(|t| t & !1)
    ];
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
    for from in tags.iter().copied().take(3).chain([1, u32::MAX]) {
        let expected: Vec<u32> = tags.iter().copied().filter(|tag| *tag >= from).collect();
        assert_eq!(listed(from), expected, "from {from}");
    }
    for ((tag, key), volatile) in model {
        let at = table.find(*tag, &[*key]).expect("an entry that was inserted");
        assert_eq!(table.block(at).map(Block::key), Some(&[*key][..]));
        assert_eq!(table.slot(at).is_volatile(), *volatile);
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
                        table.resize(slots).unwrap();
                    }
                    match table.find(tag, &[key]) {
                        Err(at) => {
                            table.insert(at, Slot::new(tag, block(&[key]), volatile, 0));
                        }
                        Ok(at) => table.mark_expiry(at, volatile),
                    }
                    model.insert((tag, key), volatile);
                }
                Step::Remove { tag, key } => {
                    let found = table.find(tag, &[key]);
                    prop_assert_eq!(found.is_ok(), model.remove(&(tag, key)).is_some());
                    if let Ok(at) = found {
                        let slot = table.remove(at);
                        prop_assert_eq!(slot.block().map(Block::key), Some(&[key][..]));
                    }
                }
                Step::Shrink => {
                    if let Some(slots) = table.excess() {
                        table.resize(slots).unwrap();
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
            table.resize(slots).unwrap();
        }
        let (tag, key) = (rng.u32(..) & !1, number.to_be_bytes());
        let at = table.find(tag, &key).unwrap_err();
        table.insert(at, Slot::new(tag, block(&key), number % 10 == 0, number));
    }
    let rounds = 20_000;
    let mut seen = vec![0u32; entries];
    for _ in 0..rounds {
        table.sample(5, false, &mut rng, |slot| seen[slot.stamp as usize] += 1);
    }
    // 500 expected, standard deviation 22: five of them either way.
    assert!(seen.iter().all(|&count| (390..=610).contains(&count)), "{seen:?}");

    let mut seen = vec![0u32; entries];
    for _ in 0..rounds {
        table.sample(5, true, &mut rng, |slot| seen[slot.stamp as usize] += 1);
    }
    assert_eq!(seen.iter().sum::<u32>(), rounds * 5, "each round finds as many as it wants");
    assert!(
        (0..entries).all(|number| (seen[number] > 0) == (number % 10 == 0)),
        "only those that can expire"
    );
}
