//! Write groups: all writes of one thread between two calls become one batch, with one sync.
//!
//! A server executes the commands of a transaction one after the other. Reads of the thread see its own
//! earlier writes, which are kept in an overlay until they are committed. Other threads see all of them
//! or none. The caller keeps other writers away meanwhile: no lock of a key is taken.
//!
//! The overlay may take as much memory as a batch. A group that exceeds it, or a part of which could not
//! be committed, has failed: all its further calls and its commit return that error.

use std::cell::{Cell, RefCell};

use super::Durable;
use super::entries::{Combined, Written};
use crate::error::{Error, Result};

// Under shuttle all threads are one thread of the system.
#[cfg(shuttle)]
use crate::lsm::sync::thread_local;

thread_local! {
    /// The address of the database that has a group on this thread; 0 for none.
    static OWNER: Cell<usize> = const { Cell::new(0) };
    static GROUP: RefCell<Group> = const { RefCell::new(Group { written: Written::new(), failure: None }) };
}

#[derive(Default)]
struct Group {
    written: Written,
    failure: Option<Error>,
}

impl Durable {
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Whether writes of this thread are kept for a group.
    pub(super) fn is_grouped(&self) -> bool {
        OWNER.with(Cell::get) == self.address()
    }

    /// Keeps the writes of this thread from now on.
    pub(crate) fn begin_group(&self) {
        GROUP.with(RefCell::take);
        OWNER.with(|owner| owner.set(self.address()));
    }

    /// Writes what was kept as one batch, and ends the group.
    pub(crate) fn commit_group(&self) -> Result<()> {
        let done = self.commit_written();
        self.discard_group();
        done
    }

    /// Forgets what was kept, and ends the group.
    pub(crate) fn discard_group(&self) {
        if self.is_grouped() {
            OWNER.with(|owner| owner.set(0));
            GROUP.with(RefCell::take);
        }
    }

    /// Writes what the group has kept so far, for calls that look at the database as a whole.
    pub(super) fn commit_written(&self) -> Result<()> {
        if !self.is_grouped() {
            return Ok(());
        }
        self.grouped(|entries| {
            let done = if entries.is_changed() { entries.commit() } else { Ok(()) };
            entries.forget();
            done
        })
        .inspect_err(|error| self.fail(error))
    }

    /// Reads and writes of the group.
    pub(super) fn grouped<R>(&self, operation: impl FnOnce(&mut Combined<'_>) -> Result<R>) -> Result<R> {
        let Group { written, failure } = GROUP.with(RefCell::take);
        if let Some(error) = failure {
            self.fail(&error);
            return Err(error);
        }
        let mut combined = Combined::over(self, written);
        let done = operation(&mut combined);
        let written = combined.into_written();
        let (len, max) = (written.memory_bytes(), self.limits.batch);
        if len > max {
            let error = Error::BatchTooLong { len, max, unit: "bytes of memory, a quarter of the budget" };
            self.fail(&error);
            return Err(error);
        }
        GROUP.with(|group| group.replace(Group { written, failure: None }));
        done
    }

    /// Lets the group fail, and forgets what it has kept.
    fn fail(&self, error: &Error) {
        GROUP.with(|group| group.replace(Group { written: Written::new(), failure: Some(error.clone()) }));
    }
}
