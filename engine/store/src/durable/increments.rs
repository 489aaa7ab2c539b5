//! Combined increments: where each write is synced, increments of one key that wait for its lock are done
//! by the thread that has it, in one write and one sync.
//!
//! An increment reads what the one before wrote, so each would have to wait for the sync of the one
//! before, alone. The first that comes leads: it takes the key's lock and all increments of the key that
//! have come meanwhile, applies them in order and writes the last value. The others wait for their result,
//! and the first of those that it did not take leads next.

use super::Durable;
use crate::error::{Error, Result};
use crate::lsm::hash;
use crate::lsm::sync::{Condvar, Mutex};
use std::sync::{Arc, OnceLock};

/// Lists of waiting increments. Few, because a list is locked for moments only.
const LISTS: usize = 64;

/// The result of an increment, once it has one.
type Ticket = Arc<OnceLock<Result<i64>>>;

struct Increment {
    key: Box<[u8]>,
    delta: i64,
    ticket: Ticket,
}

#[derive(Default)]
struct List {
    waiting: Vec<Increment>,
    /// Keys whose increments a thread is doing.
    led: Vec<Box<[u8]>>,
}

/// Increments that wait for each other.
pub(super) struct Increments(Box<[(Mutex<List>, Condvar)]>);

impl Increments {
    pub(super) fn new() -> Self {
        Self((0..LISTS).map(|_| (Mutex::new(List::default()), Condvar::new())).collect())
    }

    fn list(&self, key: &[u8]) -> &(Mutex<List>, Condvar) {
        &self.0[hash(key) as usize % LISTS]
    }

    /// Adds an increment, and waits until it is done or until it is to lead the others.
    fn wait(&self, key: &[u8], delta: i64) -> Wait<'_> {
        let ticket = Ticket::default();
        let (list, done) = self.list(key);
        let mut list = list.lock();
        list.waiting.push(Increment { key: key.into(), delta, ticket: Arc::clone(&ticket) });
        loop {
            if let Some(result) = ticket.get() {
                return Wait::Done(result.clone());
            }
            if !list.led.iter().any(|led| **led == *key) {
                list.led.push(key.into());
                drop(list);
                return Wait::Lead(Lead { all: self, key: key.into(), taken: Vec::new() }, ticket);
            }
            done.wait(&mut list);
        }
    }
}

enum Wait<'a> {
    Done(Result<i64>),
    Lead(Lead<'a>, Ticket),
}

/// The increments of a key that a thread does. Dropped, they are done, also where it panicked.
struct Lead<'a> {
    all: &'a Increments,
    key: Box<[u8]>,
    taken: Vec<Increment>,
}

impl Lead<'_> {
    /// All that wait for the key, in the order in which they came.
    fn take(&mut self) -> &[Increment] {
        let mut list = self.all.list(&self.key).0.lock();
        self.taken.extend(list.waiting.extract_if(.., |increment| *increment.key == *self.key));
        &self.taken
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let (list, done) = self.all.list(&self.key);
        let mut list = list.lock();
        list.led.retain(|led| **led != *self.key);
        for increment in &self.taken {
            let _ =
                increment.ticket.set(Err(Error::Panicked { thread: "a thread that incremented the key" }));
        }
        drop(list);
        done.notify_all();
    }
}

impl Durable {
    /// An increment that is done together with those that wait beside it.
    pub(super) fn increment_together(&self, key: &[u8], delta: i64) -> Result<i64> {
        let (mut lead, ticket) = match self.increments.wait(key, delta) {
            Wait::Done(result) => return result,
            Wait::Lead(lead, ticket) => (lead, ticket),
        };
        let lock = self.change(key);
        let increments = lead.take();
        match lock {
            Ok(_lock) => self.increment_all(key, increments),
            Err(error) => tell(increments, &mut std::iter::repeat(Err(error))),
        }
        drop(lead);
        ticket.get().cloned().unwrap_or(Err(Error::Closed))
    }

    /// The lock of the key is held.
    fn increment_all(&self, key: &[u8], increments: &[Increment]) {
        let found = self.look_up(key).map(|found| found.unwrap_or_else(|| (b"0".to_vec(), None)));
        let (value, until_ms) = match found {
            Ok(found) => found,
            Err(error) => return tell(increments, &mut std::iter::repeat(Err(error))),
        };
        let Some(mut sum) = crate::bytes::parse_integer(&value) else {
            return tell(increments, &mut std::iter::repeat(Err(Error::NotAnInteger)));
        };
        let results: Vec<_> = increments
            .iter()
            .map(|increment| {
                sum = sum.checked_add(increment.delta).ok_or(Error::Overflow)?;
                Ok(sum)
            })
            .collect();
        if results.iter().any(Result::is_ok)
            && let Err(error) = self.put(key, sum.to_string().as_bytes(), until_ms)
        {
            return tell(increments, &mut results.into_iter().map(|result| result.and(Err(error.clone()))));
        }
        tell(increments, &mut results.into_iter());
    }
}

fn tell(increments: &[Increment], results: &mut dyn Iterator<Item = Result<i64>>) {
    for (increment, result) in increments.iter().zip(results) {
        let _ = increment.ticket.set(result);
    }
}
