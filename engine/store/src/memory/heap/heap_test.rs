use std::collections::HashMap;

use super::*;

const KIB: u64 = 1024;

/// Entries by their key, as a table would have them.
struct Model {
    heap: Heap,
    budget: Budget,
    entries: HashMap<u32, (Entry, Vec<u8>)>,
    rng: fastrand::Rng,
}

impl Model {
    fn new(cap: u64) -> Self {
        let (heap, budget) = (Heap::new(cap), Budget::new(cap, 0));
        assert!(heap.prepare(&budget));
        Self { heap, budget, entries: HashMap::new(), rng: fastrand::Rng::with_seed(cap) }
    }

    fn put(&mut self, key: u32, value: Vec<u8>) -> Result<(), NoRoom> {
        let name = key.to_le_bytes();
        let contents = Contents { key: &name, value: [&value, &[]], expiry: None, stamp: key };
        let entry = self.heap.store(&self.budget, &contents, 0)?.into_entry();
        if let Some((old, _)) = self.entries.insert(key, (entry, value)) {
            // SAFETY: the model has it no more.
            self.heap.free(&self.budget, unsafe { Owned::new(old) });
        }
        Ok(())
    }

    fn remove(&mut self, key: u32) {
        if let Some((old, _)) = self.entries.remove(&key) {
            // SAFETY: the model has it no more.
            self.heap.free(&self.budget, unsafe { Owned::new(old) });
        }
    }

    fn clean(&mut self) -> Option<u64> {
        let entries = &mut self.entries;
        self.heap.clean(&self.budget, &mut self.rng, false, &mut |found, survivors| {
            let key = u32::from_le_bytes(found.key().try_into().unwrap());
            if let Some((held, _)) = entries.get_mut(&key)
                && *held == found.entry()
            {
                // SAFETY: one thread, so nobody else looks at the entry, and the model has it.
                *held = unsafe { survivors.take(found) }.unwrap();
            }
        })
    }

    fn check(&self) {
        let mut live = 0;
        for (key, (entry, value)) in &self.entries {
            // SAFETY: the model holds only entries that are there.
            unsafe {
                assert_eq!((entry.key(), entry.value()), (&key.to_le_bytes()[..], &value[..]));
                assert_eq!(entry.stamp(), *key);
                live += if entry.is_mapped() { 0 } else { entry.shape().len() as u64 };
            }
        }
        let usage = self.heap.usage();
        assert_eq!(usage.live, live);
        while self.heap.bury(&self.budget) {}
        assert_eq!(self.budget.used(), usage.segments + usage.large);
        assert!(self.budget.used() <= self.budget.cap());
    }
}

#[test]
fn whatever_comes_and_goes_nothing_is_lost_and_the_cap_holds() {
    for cap in [256 * KIB, 2048 * KIB, 20 * KIB * KIB] {
        let mut model = Model::new(cap);
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut refused, mut cleaned) = (0, 0);
        for step in 0..60_000 {
            let key = rng.u32(0..3000);
            match rng.u32(0..10) {
                0..7 => {
                    // Sizes change their character as time goes on.
                    let longest = [100, 900, 40, 30_000][step / 15_000];
                    let value = vec![rng.u8(..); rng.usize(..longest)];
                    if model.put(key, value).is_err() {
                        refused += 1;
                        // As an eviction would.
                        let some: Vec<u32> = model.entries.keys().copied().take(20).collect();
                        some.into_iter().for_each(|key| model.remove(key));
                        cleaned += u32::from(model.clean().is_some());
                        model.heap.give_back(&model.budget, 1, usize::MAX);
                    }
                }
                _ => model.remove(key),
            }
            if step % 5000 == 0 {
                model.check();
            }
        }
        model.check();
        assert!(
            refused > 0 && cleaned > 0 || cap > 10_000 * KIB,
            "{cap}: {refused} refused, {cleaned} cleaned"
        );
        let keys: Vec<u32> = model.entries.keys().copied().collect();
        keys.into_iter().for_each(|key| model.remove(key));
        model.check();
        model.heap.give_back(&model.budget, 0, usize::MAX);
        let kept = model.heap.fixed_bytes();
        assert!(model.budget.used() <= kept, "{} bytes are left of an empty heap", model.budget.used());
    }
}

#[test]
fn cleaning_makes_room_where_a_third_is_dead() {
    let mut model = Model::new(1024 * KIB);
    let mut key = 0;
    while model.put(key, vec![1; 100]).is_ok() {
        key += 1;
    }
    for dead in (0..key).step_by(3) {
        model.remove(dead);
    }
    let mut again = 0;
    loop {
        while model.put(key + again, vec![2; 100]).is_ok() {
            again += 1;
        }
        if again > key / 4 {
            break;
        }
        assert!(model.clean().is_some());
    }
    model.check();
}
