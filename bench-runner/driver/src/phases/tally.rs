//! What has one thread counted? Operations, what was found, what was wrong, and the time of each operation.

use crate::allocations::allocated;
use crate::engine::NotSupported;
use crate::protocol::Allocated;
use crate::times::Times;
use std::time::Instant;

/// The begin of a call: what the thread has allocated so far, and the time. The clock is read last here and first at
/// the end of the call, so that counting is not in the time of the operation.
#[derive(Clone, Copy)]
pub(super) struct Begin {
    allocated: Allocated,
    at: Instant,
}

impl Begin {
    pub(super) fn now() -> Self {
        Self { allocated: allocated(), at: Instant::now() }
    }
}

pub(super) struct Tally {
    pub(super) operations: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) errors: u64,
    pub(super) first_error: Option<String>,
    pub(super) not_supported: Option<String>,
    /// Requested from the allocator inside the calls that were timed.
    pub(super) allocated: Allocated,
    /// By kind of operation, in the order in which they were first seen.
    pub(super) times: Vec<(&'static str, Times)>,
    pub(super) end: Instant,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            operations: 0,
            hits: 0,
            misses: 0,
            errors: 0,
            first_error: None,
            not_supported: None,
            allocated: Allocated::default(),
            times: Vec::new(),
            end: Instant::now(),
        }
    }

    /// Counts `operations` that took one call from `begin` until now.
    pub(super) fn timed(&mut self, kind: &'static str, operations: u64, begin: Begin) -> anyhow::Result<()> {
        self.end = Instant::now();
        self.allocated = self.allocated.and(allocated().since(begin.allocated));
        self.operations += operations;
        let ns = u64::try_from(self.end.duration_since(begin.at).as_nanos()).unwrap_or(u64::MAX);
        if !self.times.iter().any(|(known, _)| *known == kind) {
            self.times.push((kind, Times::new()?));
        }
        if let Some((_, times)) = self.times.iter_mut().find(|(known, _)| *known == kind) {
            times.record(ns);
        }
        Ok(())
    }

    /// A record that should have been there.
    pub(super) fn miss(&mut self, index: u64) {
        self.misses += 1;
        self.first_error.get_or_insert_with(|| format!("key:{index:012} is not there"));
    }

    pub(super) fn wrong(&mut self, text: impl FnOnce() -> String) {
        self.errors += 1;
        self.first_error.get_or_insert_with(text);
    }

    /// The engine did not do `what`.
    pub(super) fn refused(&mut self, what: &str, error: &anyhow::Error) {
        if let Some(missing) = error.downcast_ref::<NotSupported>() {
            self.not_supported.get_or_insert_with(|| missing.0.clone());
        }
        self.wrong(|| format!("{what} was refused: {error:#}"));
    }

    pub(super) fn add(&mut self, other: Self) -> anyhow::Result<()> {
        self.operations += other.operations;
        self.hits += other.hits;
        self.misses += other.misses;
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
        self.not_supported = self.not_supported.take().or(other.not_supported);
        self.end = self.end.max(other.end);
        self.allocated = self.allocated.and(other.allocated);
        for (kind, theirs) in other.times {
            match self.times.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, mine)) => mine.merge(&theirs)?,
                None => self.times.push((kind, theirs)),
            }
        }
        Ok(())
    }
}
