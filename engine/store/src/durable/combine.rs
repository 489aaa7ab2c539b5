//! Combined read-modify-writes: where each write is synced, operations on the same keys that wait for each
//! other are done by one thread, in one write and one sync.
//!
//! An operation reads what the one before wrote, so each would have to wait for the sync of the one
//! before, alone. The first that comes leads: it takes the locks of the keys and all operations on them
//! that have come meanwhile, carries them out in order in memory, and writes the last value of each key.
//! The others wait for their result, and the first of those that it did not take leads next.
//!
//! No result is returned before the write is synced, and no reader sees a value before. If the write is
//! refused, so is each operation from the first that changed anything on, because it may have seen what
//! is lost now, also one that changed nothing itself. Operations before that one keep their result.

use super::Durable;
use super::entries::{Combined, Entries};
use crate::error::{Error, Result};
use crate::lsm::hash;
use crate::lsm::sync::{Condvar, Mutex};
use parking_lot::Mutex as Plain;
use std::sync::Arc;

/// Lists of waiting operations. Few, because a list is locked for moments only.
const LISTS: usize = 64;

/// The keys of an operation, each once, in order.
pub(super) type Keys = Box<[Box<[u8]>]>;

/// The result of an operation, once it has one. Never locked across a wait.
type Ticket<R> = Arc<Plain<Option<Result<R>>>>;

trait Operation: Send {
    fn run(&mut self, entries: &mut dyn Entries);

    /// Replaces the result.
    fn refuse(&mut self, error: &Error);

    /// Hands over the result.
    fn finish(&mut self);
}

struct Call<R, F> {
    change: F,
    result: Option<Result<R>>,
    ticket: Ticket<R>,
}

impl<R: Send, F: Fn(&mut dyn Entries) -> Result<R> + Send> Operation for Call<R, F> {
    fn run(&mut self, entries: &mut dyn Entries) {
        self.result = Some((self.change)(entries));
    }

    fn refuse(&mut self, error: &Error) {
        self.result = Some(Err(error.clone()));
    }

    fn finish(&mut self) {
        *self.ticket.lock() = self.result.take();
    }
}

struct Waiting {
    number: u64,
    keys: Keys,
    operation: Box<dyn Operation>,
}

#[derive(Default)]
struct List {
    /// The number of the next operation.
    next: u64,
    waiting: Vec<Waiting>,
    /// Keys whose operations a thread is doing.
    led: Vec<Keys>,
}

/// Operations that wait for each other.
pub(super) struct Combining(Box<[(Mutex<List>, Condvar)]>);

impl Combining {
    pub(super) fn new() -> Self {
        Self((0..LISTS).map(|_| (Mutex::new(List::default()), Condvar::new())).collect())
    }

    /// Operations that wait for the thread that leads those of these keys.
    #[cfg(all(test, not(shuttle)))]
    pub(super) fn waiting(&self, keys: &Keys) -> usize {
        self.list(keys).0.lock().waiting.iter().filter(|waiting| waiting.keys == *keys).count()
    }

    /// Whether a thread leads.
    #[cfg(all(test, not(shuttle)))]
    pub(super) fn is_led(&self, keys: &Keys) -> bool {
        self.list(keys).0.lock().led.contains(keys)
    }

    fn list(&self, keys: &Keys) -> &(Mutex<List>, Condvar) {
        &self.0[keys.first().map_or(0, |key| hash(key) as usize) % LISTS]
    }

    /// Adds an operation, and waits until it is done or until it is to lead the others.
    fn enter<R>(&self, keys: &Keys, operation: Box<dyn Operation>, ticket: &Ticket<R>) -> Option<Lead<'_>> {
        let (list, done) = self.list(keys);
        let mut list = list.lock();
        let number = list.next;
        list.next += 1;
        list.waiting.push(Waiting { number, keys: keys.clone(), operation });
        while ticket.lock().is_none() {
            if !list.led.contains(keys) {
                list.led.push(keys.clone());
                // Its own first: if it panics, no other thread carries it out.
                let taken = list.waiting.extract_if(.., |waiting| waiting.number == number).collect();
                return Some(Lead { all: self, keys: keys.clone(), taken, stage: Stage::Begun });
            }
            done.wait(&mut list);
        }
        None
    }
}

#[derive(PartialEq)]
enum Stage {
    Begun,
    /// The write may have been carried out.
    Writing,
    Finished,
}

/// The operations that a thread carries out, its own first.
struct Lead<'a> {
    all: &'a Combining,
    keys: Keys,
    taken: Vec<Waiting>,
    stage: Stage,
}

impl Lead<'_> {
    /// Takes all that wait for the keys, in the order in which they came.
    fn take(&mut self) {
        let mut list = self.all.list(&self.keys).0.lock();
        self.taken.extend(list.waiting.extract_if(.., |waiting| waiting.keys == self.keys));
    }

    /// Replaces the results from one on.
    fn refuse(&mut self, first: usize, error: &Error) {
        self.taken.iter_mut().skip(first).for_each(|waiting| waiting.operation.refuse(error));
    }

    fn finish(&mut self) {
        self.taken.iter_mut().for_each(|waiting| waiting.operation.finish());
        self.stage = Stage::Finished;
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if self.stage == Stage::Writing {
            self.refuse(0, &Error::Panicked { thread: "a writer" });
            self.finish();
        }
        let (list, done) = self.all.list(&self.keys);
        let mut list = list.lock();
        list.led.retain(|led| *led != self.keys);
        if self.stage == Stage::Begun {
            // It panicked before it wrote anything: another thread carries out the others.
            list.waiting.extend(self.taken.drain(..).skip(1));
        }
        drop(list);
        done.notify_all();
    }
}

impl Durable {
    /// An operation that is carried out together with those that wait beside it.
    pub(super) fn together<R: Send + 'static>(
        &self,
        keys: &Keys,
        change: impl Fn(&mut dyn Entries) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let ticket = Ticket::default();
        let call = Box::new(Call { change, result: None, ticket: Arc::clone(&ticket) });
        if let Some(mut lead) = self.combining.enter(keys, call, &ticket) {
            let locks = self.locks.several_alone(keys.iter().map(|key| &**key));
            lead.take();
            match &locks {
                Ok(_) => self.carry_out(&mut lead),
                Err(error) => lead.refuse(0, error),
            }
            drop(locks);
            lead.finish();
        }
        ticket.lock().take().unwrap_or(Err(Error::Closed))
    }

    /// The locks of the keys are held.
    fn carry_out(&self, lead: &mut Lead) {
        let mut entries = Combined::new(self);
        let mut unchanged = 0;
        for waiting in &mut lead.taken {
            waiting.operation.run(&mut entries);
            unchanged += usize::from(!entries.is_changed());
        }
        if entries.is_changed() {
            lead.stage = Stage::Writing;
            if let Err(error) = entries.commit() {
                lead.refuse(unchanged, &error);
            }
        }
    }
}
