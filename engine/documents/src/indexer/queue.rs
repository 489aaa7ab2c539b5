//! Collections with writes that are not indexed, each once.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::collection::Collection;

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Collection>>,
    /// Those whose turn comes later, and when.
    later: Vec<(Instant, Arc<Collection>)>,
    /// The numbers of all of them.
    numbers: HashSet<u32>,
    is_closing: bool,
}

impl State {
    /// Moves those whose time has come to the others.
    fn move_due(&mut self, now: Instant) {
        for (_, collection) in self.later.extract_if(.., |(due, _)| *due <= now) {
            self.waiting.push_back(collection);
        }
    }
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

    /// The same after some time.
    pub(super) fn push_later(&self, collection: &Arc<Collection>, time: Duration) {
        let mut state = self.state.lock();
        if !state.is_closing && state.numbers.insert(collection.number()) {
            state.later.push((Instant::now() + time, Arc::clone(collection)));
        }
    }

    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closing = true;
        // Collections refer to what holds the queue.
        let all = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.later));
        drop(state);
        drop(all);
        self.changed.notify_all();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.state.lock().is_closing
    }

    /// The next collection; `None` when none came for a while.
    pub(super) fn pop(&self, patience: Duration) -> Option<Arc<Collection>> {
        let mut state = self.state.lock();
        let now = Instant::now();
        state.move_due(now);
        if state.waiting.is_empty() && !state.is_closing {
            let due = state.later.iter().map(|(due, _)| due.saturating_duration_since(now)).min();
            self.changed.wait_for(&mut state, due.map_or(patience, |due| due.min(patience)));
            state.move_due(Instant::now());
        }
        let collection = state.waiting.pop_front()?;
        state.numbers.remove(&collection.number());
        Some(collection)
    }
}
