//! Who is connected to this reactor? Connections by number; numbers are used again.

pub(super) struct Peers<P> {
    pub(super) slots: Vec<Option<Box<P>>>,
    free: Vec<usize>,
}

impl<P> Default for Peers<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
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

    pub(super) fn remove(&mut self, index: usize) -> Option<Box<P>> {
        let peer = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        Some(peer)
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
