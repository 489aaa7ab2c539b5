//! One collection: its documents by id, its writes, and what of it is searchable.
//!
//! Writes of a collection go one after the other: each takes the next version, and one batch holds
//! the documents, the journal entry for the indexer and the version. So a snapshot holds a whole
//! number of writes, and knows which was the last.

mod listing;
mod publishing;
mod writing;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use parking_lot::{Condvar, Mutex, RwLock};
use plumbkv::Database;

use crate::collections::Store;
use crate::error::{Error, Kind, Result};
use crate::keys;
use crate::meta::Meta;
use crate::schema::Schema;
use crate::stored;

pub use listing::Page;
pub(crate) use publishing::Published;
pub use writing::{Condition, Deleted, Put, Refusal, merge_patch};

/// A document as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// The write that stored it.
    pub version: u64,
    /// Its bytes.
    pub json: Vec<u8>,
}

/// State of a collection and of its index.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The last write.
    pub version: u64,
    /// The last write that is searchable; `None` until the index was opened.
    pub searchable_version: Option<u64>,
    /// Documents that are searchable.
    pub searchable_documents: u64,
    /// Segments of the index.
    pub segments: usize,
    /// Documents of an index that is being built, so far.
    pub rebuilt_documents: Option<u64>,
    /// Why the last index was not used, if one had to be built.
    pub rebuild_reason: Option<String>,
    /// Why the index does not follow the writes, if it does not.
    pub index_error: Option<String>,
}

/// A collection of documents. Calls may come from any number of threads.
pub struct Collection {
    name: String,
    number: u32,
    store: Arc<Store>,
    definition: RwLock<Arc<Meta>>,
    /// The version of the last write; held while a write is made.
    writing: Mutex<u64>,
    is_dropped: AtomicBool,
    published: ArcSwapOption<Published>,
    /// For those who wait for a version.
    waiting: Mutex<()>,
    was_published: Condvar,
    rebuilt: AtomicU64,
    notes: Mutex<Notes>,
    /// To hand the collection to the indexer.
    this: std::sync::Weak<Self>,
}

#[derive(Default)]
struct Notes {
    is_rebuilding: bool,
    rebuild_reason: Option<String>,
    index_error: Option<String>,
}

impl Collection {
    pub(crate) fn new(name: &str, meta: Meta, version: u64, store: &Arc<Store>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            name: name.to_owned(),
            number: meta.number,
            store: Arc::clone(store),
            definition: RwLock::new(Arc::new(meta)),
            writing: Mutex::new(version),
            is_dropped: AtomicBool::new(false),
            published: ArcSwapOption::empty(),
            waiting: Mutex::new(()),
            was_published: Condvar::new(),
            rebuilt: AtomicU64::new(0),
            notes: Mutex::default(),
            this: this.clone(),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its schema. Until an index of a new one is built, searches use the one before.
    #[must_use]
    pub fn schema(&self) -> Schema {
        self.definition().schema.clone()
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn definition(&self) -> Arc<Meta> {
        Arc::clone(&self.definition.read())
    }

    pub(crate) fn define(&self, meta: Meta) {
        *self.definition.write() = Arc::new(meta);
        self.request_pass();
    }

    pub(crate) fn database(&self) -> &Database {
        &self.store.database
    }

    pub(crate) fn indexes(&self) -> &Path {
        &self.store.indexes
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire)
    }

    /// No write succeeds from now on; waits for one that is under way.
    pub(crate) fn mark_dropped(&self) {
        let _writing = self.writing.lock();
        self.is_dropped.store(true, Ordering::Release);
        self.published.store(None);
        drop(self.waiting.lock());
        self.was_published.notify_all();
    }

    pub(crate) fn request_pass(&self) {
        if let Some(this) = self.this.upgrade() {
            self.store.queue.push(&this);
        }
    }

    fn check_there(&self) -> Result<()> {
        if self.is_dropped() {
            return Err(Error::new(Kind::NotFound, format!("the collection `{}` was deleted", self.name)));
        }
        Ok(())
    }

    /// The document with an id. The index is not read.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        let copied = self.read(id, |version, json| (version, json.to_vec()))?;
        Ok(copied.map(|(version, json)| Document { id: id.to_owned(), version, json }))
    }

    /// Hands version and bytes of a document to `f` without copying them.
    ///
    /// # Errors
    /// The store cannot be read, or would be waited for by a non-blocking caller.
    pub fn read<R>(&self, id: &str, f: impl FnOnce(u64, &[u8]) -> R) -> Result<Option<R>> {
        self.check_there()?;
        let found = self.database().read(&keys::document(self.number, id), |value| {
            stored::parse(value).map(|(version, json)| f(version, json))
        })?;
        found.transpose()
    }

    /// State of the collection and of its index.
    #[must_use]
    pub fn status(&self) -> Status {
        let version = *self.writing.lock();
        let published = self.published.load_full();
        let notes = self.notes.lock();
        Status {
            version,
            searchable_version: published.as_ref().map(|published| published.version),
            searchable_documents: published.as_ref().map_or(0, |published| published.searcher.num_docs()),
            segments: published.as_ref().map_or(0, |published| published.searcher.segment_readers().len()),
            rebuilt_documents: notes.is_rebuilding.then(|| self.rebuilt.load(Ordering::Relaxed)),
            rebuild_reason: notes.rebuild_reason.clone(),
            index_error: notes.index_error.clone(),
        }
    }

    pub(crate) fn note_rebuild(&self, reason: &str) {
        let mut notes = self.notes.lock();
        notes.is_rebuilding = true;
        notes.rebuild_reason = Some(reason.to_owned());
        self.rebuilt.store(0, Ordering::Relaxed);
        drop(notes);
        (self.store.on_rebuild)(&self.name, reason);
    }

    pub(crate) fn note_rebuilt(&self, documents: u64) {
        self.rebuilt.store(documents, Ordering::Relaxed);
    }

    pub(crate) fn note_index_error(&self, error: Option<&Error>) {
        self.notes.lock().index_error = error.map(ToString::to_string);
    }
}

impl std::fmt::Debug for Collection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Collection").field("name", &self.name).finish_non_exhaustive()
    }
}
