//! Does every array come alone, empty, and counted, and does all of it go back?

use super::*;
use crate::memory::slots::Slot;

#[test]
fn lengths_are_rounded_to_what_their_memory_holds() {
    let table = [(1, 8), (8, 8), (9, 16), (200, 256), (257, 384), (385, 512), (513, 768), (769, 1024)];
    for (len, expected) in table.into_iter().chain([(1025, 1536), (1536, 1536), (1_000_000, 1_000_448)]) {
        assert_eq!(rounded(len), expected, "{len} slots");
        assert_eq!(rounded(expected), expected, "{expected} slots");
    }
}

#[test]
fn arrays_of_random_lengths_do_not_overlap_and_the_count_is_that_of_their_pages() {
    let (pool, budget) = (SlotPool::default(), Budget::new(64 << 20, 0));
    let mut rng = fastrand::Rng::with_seed(5);
    let mut taken: Vec<(Slots, u64)> = Vec::new();
    for step in 0..30_000u64 {
        // More comes than goes, then the other way round, with many small ones.
        let growing = step / 5000 % 2 == 0;
        if rng.u32(0..10) < if growing { 7 } else { 3 } {
            let len = rounded([5, 20, 100, 200, 300, 500, 700, 900, 1500][rng.usize(0..9)]);
            let before = budget.used();
            let mut slots = pool.take(&budget, len).unwrap();
            assert!(slots.iter().all(|slot| slot.is_empty()) && slots.len() == len);
            assert!(budget.used() - before <= (len * SLOT_BYTES).next_multiple_of(3 * PAGE) as u64);
            slots.fill(Slot::of_number(step + 1));
            taken.push((slots, step + 1));
        } else if !taken.is_empty() {
            let (slots, mark) = taken.swap_remove(rng.usize(..taken.len()));
            assert!(slots.iter().all(|slot| *slot == Slot::of_number(mark)), "somebody else wrote there");
            pool.put(&budget, slots);
        }
        let bytes: usize = taken.iter().map(|(slots, _)| slots.len() * SLOT_BYTES).sum();
        assert!(budget.used() >= bytes as u64);
    }
    for (slots, _) in taken {
        pool.put(&budget, slots);
    }
    assert_eq!(budget.used(), 0, "all of it is back");
    assert!(pool.slabs.lock().iter().all(|slabs| slabs.by_page.is_empty() && slabs.open.is_empty()));
}

#[test]
fn what_the_budget_has_no_room_for_is_refused_and_not_counted() {
    let (pool, budget) = (SlotPool::default(), Budget::new(2 * PAGE as u64, 0));
    let small = pool.take(&budget, 8).unwrap();
    assert!(matches!(pool.take(&budget, 1024), Err(NoRoom::Beside(8192))));
    assert!(matches!(pool.take(&budget, 384), Err(NoRoom::Beside(12_288))));
    // Another one of the same page takes nothing.
    let other = pool.take(&budget, 8).unwrap();
    assert_eq!(budget.used(), PAGE as u64);
    pool.put(&budget, small);
    pool.put(&budget, other);
    assert_eq!(budget.used(), 0);
}
