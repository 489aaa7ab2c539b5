//! Who is connected to this reactor? Connections by number; numbers are used again.

use crate::warm;

pub(super) struct Peers<P> {
    pub(super) slots: Vec<Option<Box<P>>>,
    free: Vec<usize>,
    ebb: Ebb,
}

/// So many connections fewer are worth a look at what the allocator keeps of them.
const MANY: usize = 256;

/// When have so many connections gone that their memory is to be given back?
#[derive(Debug, Default)]
struct Ebb {
    /// How many there were when memory was last given back, or at most since then.
    before: usize,
    /// How many there were at the last look.
    last: usize,
    /// Memory was given back while connections went: what the last of them took is still to come.
    is_owed: bool,
}

impl Ebb {
    /// Whether memory is to be given back, with `now` connections; those that have gone keep none where `is_quiet`.
    fn look(&mut self, now: usize, is_quiet: bool) -> bool {
        let is_falling = now < std::mem::replace(&mut self.last, now);
        let is_over = is_quiet && !is_falling;
        let have_many_gone = now + MANY <= self.before;
        let is_due = have_many_gone || (is_over && self.is_owed);
        self.is_owed = have_many_gone || (self.is_owed && !is_over);
        self.before = if is_due { now } else { now.max(self.before) };
        is_due
    }
}

impl<P> Default for Peers<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), ebb: Ebb::default() }
    }
}

impl<P> Peers<P> {
    pub(super) fn insert(&mut self, peer: P) -> usize {
        let peer = Some(Box::new(peer));
        match self.free.pop() {
            Some(index) => {
                self.slots[index] = peer;
                index
            }
            None => {
                self.slots.push(peer);
                self.slots.len() - 1
            }
        }
    }

    pub(super) fn get(&mut self, index: usize) -> Option<&mut P> {
        self.slots.get_mut(index)?.as_deref_mut()
    }

    /// The numbers of those that are wanted.
    pub(super) fn numbers(&self, is_wanted: impl Fn(&P) -> bool) -> impl Iterator<Item = usize> {
        let wanted = move |slot: &Option<Box<P>>| slot.as_deref().is_some_and(&is_wanted);
        self.slots.iter().enumerate().filter(move |(_, slot)| wanted(slot)).map(|(number, _)| number)
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<Box<P>> {
        let peer = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        Some(peer)
    }

    /// Returns memory to the system after many connections have ended: their allocations are small and fragmented, so the allocator
    /// would keep them. `is_quiet` is true if no ended connection is still being closed.
    pub(super) fn give_back_memory(&mut self, is_quiet: bool) {
        let now = self.len();
        if self.ebb.look(now, is_quiet) {
            if now == 0 {
                self.slots = Vec::new();
                self.free = Vec::new();
            }
            warm::release_freed_memory();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_while_many_go_and_once_more_when_the_last_has_gone() {
        let looks = |looks: &[(usize, bool)]| -> Vec<bool> {
            let mut ebb = Ebb::default();
            looks.iter().map(|&(now, is_quiet)| ebb.look(now, is_quiet)).collect()
        };
        // At once, and again when what was still being closed has ended.
        assert_eq!(
            looks(&[(300, true), (0, false), (0, false), (0, true), (0, true)]),
            [false, true, false, true, false]
        );
        // By and by, a few between two looks: what counts is how many there were at most.
        let slowly: Vec<_> = (0..=30).rev().map(|tens| (10 * tens, true)).collect();
        assert_eq!(looks(&slowly).iter().filter(|&&is_due| is_due).count(), 1);
        // A few more after many.
        assert_eq!(looks(&[(1000, true), (100, true), (0, true), (0, true)]), [false, true, false, true]);
        // Some come and some go.
        assert_eq!(looks(&[(1000, true), (800, true), (900, true), (800, true)]), [false; 4]);
    }
}
