//! Collections with writes that are not indexed, each once.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::collection::Collection;

/// Time until a collection that waits for another's rebuild is looked at again.
const LATER: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Collection>>,
    numbers: HashSet<u32>,
    is_closing: bool,
}

impl Queue {
    /// Requests a pass of a collection, unless one is due anyway.
    pub(crate) fn push(&self, collection: &Arc<Collection>) {
        let mut state = self.state.lock();
        if !state.is_closing && state.numbers.insert(collection.number()) {
            state.waiting.push_back(Arc::clone(collection));
            self.changed.notify_all();
        }
    }

    /// The same after a moment, so that the indexer does not spin.
    pub(super) fn push_later(&self, collection: &Arc<Collection>) {
        std::thread::sleep(LATER);
        self.push(collection);
    }

    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closing = true;
        // Collections refer to what holds the queue.
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
        self.changed.notify_all();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.state.lock().is_closing
    }

    /// The next collection; `None` when none came for a while.
    pub(super) fn pop(&self, patience: Duration) -> Option<Arc<Collection>> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() && !state.is_closing {
            self.changed.wait_for(&mut state, patience);
        }
        let collection = state.waiting.pop_front()?;
        state.numbers.remove(&collection.number());
        Some(collection)
    }
}
