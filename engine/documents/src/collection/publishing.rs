//! Publication: searcher and snapshot of one version, replaced together.

use std::sync::Arc;
use std::time::Instant;

use plumbkv::Snapshot;
use tantivy::Searcher;

use super::Collection;
use crate::error::{Error, Kind, Result};
use crate::index::Index;
use crate::search::Wait;

/// A state of the collection that is searched.
pub(crate) struct Published {
    pub(crate) index: Arc<Index>,
    pub(crate) searcher: Searcher,
    /// The store when the searcher's last document was written.
    pub(crate) snapshot: Snapshot,
    pub(crate) version: u64,
}

impl Collection {
    pub(crate) fn publish(&self, published: Published) {
        if self.is_dropped() {
            return;
        }
        self.published.store(Some(Arc::new(published)));
        self.notes.lock().is_rebuilding = false;
        // Under the lock, so that a search that has just looked does not miss it.
        drop(self.waiting.lock());
        self.was_published.notify_all();
    }

    /// The newest searchable state, once it holds the version that is waited for.
    pub(crate) fn searchable(&self, wait: Option<Wait>) -> Result<Arc<Published>> {
        let wanted = wait.map_or(0, |wait| wait.version);
        let is_enough = |published: &Arc<Published>| published.version >= wanted;
        if let Some(published) = self.published.load_full().filter(is_enough) {
            return Ok(published);
        }
        self.check_there()?;
        let Some(wait) = wait else {
            let message = "the index is being built; try again, or wait with `after`".to_owned();
            return Err(Error::new(Kind::NotReady, message));
        };
        let last = *self.writing.lock();
        if wait.version > last {
            return Err(Error::invalid(format!(
                "version {} is not written yet; the last is {last}",
                wait.version
            )));
        }
        let end = Instant::now() + wait.timeout;
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(published) = self.published.load_full().filter(is_enough) {
                return Ok(published);
            }
            self.check_there()?;
            if self.was_published.wait_until(&mut waiting, end).timed_out() {
                let message =
                    format!("version {} is not searchable after {:?}; try again", wait.version, wait.timeout);
                return Err(Error::new(Kind::Timeout, message));
            }
        }
    }
}
