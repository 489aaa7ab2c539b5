//! Who is connected to this reactor? Connections by number; numbers are used again.

use crate::warm;

pub(super) struct Peers<P> {
    pub(super) slots: Vec<Option<Box<P>>>,
    free: Vec<usize>,
    /// How many there were when memory was last looked after.
    before: usize,
}

/// So many connections fewer are worth a look at what the allocator keeps of them.
const MANY: usize = 256;

impl<P> Default for Peers<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), before: 0 }
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

    /// Gives memory back to the system when many have gone since the last call: what they took lies in small pieces between
    /// others, and the allocator would keep it.
    pub(super) fn give_back_memory(&mut self) {
        let now = self.len();
        if now + MANY <= self.before {
            if now == 0 {
                self.slots = Vec::new();
                self.free = Vec::new();
            }
            warm::release_freed_memory();
        }
        self.before = now;
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
