//! Write groups: all writes of one thread between two calls become one batch, with one sync.
//!
//! A server executes the commands of a transaction one after the other. Reads of the thread see its own
//! earlier writes, which are kept in an overlay until they are committed. Other threads see all of them
//! or none. The caller keeps other writers away meanwhile: no lock of a key is taken.

use std::cell::{Cell, RefCell};

use super::Durable;
use super::entries::{Combined, Written};
use crate::error::Result;

// Under shuttle all threads are one thread of the system.
#[cfg(shuttle)]
use crate::lsm::sync::thread_local;

thread_local! {
    /// The address of the database that has a group on this thread; 0 for none.
    static OWNER: Cell<usize> = const { Cell::new(0) };
    static WRITTEN: RefCell<Written> = const { RefCell::new(Written::new()) };
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
        WRITTEN.with(|written| written.borrow_mut().clear());
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
            WRITTEN.with(|written| written.borrow_mut().clear());
        }
    }

    /// Writes what the group has kept so far, for calls that look at the database as a whole.
    pub(super) fn commit_written(&self) -> Result<()> {
        if !self.is_grouped() {
            return Ok(());
        }
        let written = WRITTEN.with(|written| std::mem::take(&mut *written.borrow_mut()));
        let combined = Combined::over(self, written);
        if combined.is_changed() { combined.commit() } else { Ok(()) }
    }

    /// Reads and writes of the group.
    pub(super) fn grouped<R>(&self, operation: impl FnOnce(&mut Combined<'_>) -> Result<R>) -> Result<R> {
        let written = WRITTEN.with(|written| std::mem::take(&mut *written.borrow_mut()));
        let mut combined = Combined::over(self, written);
        let done = operation(&mut combined);
        WRITTEN.with(|written| *written.borrow_mut() = combined.into_written());
        done
    }
}
