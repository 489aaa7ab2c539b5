//! A rebuild: an index from all documents of a snapshot, in a thread of its own.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use plumbkv::{Direction, Snapshot};

use super::{Open, Queue, version_of};
use crate::collection::Collection;
use crate::error::{Error, Result};
use crate::index::{Index, folder};
use crate::keys;
use crate::meta::Meta;
use crate::stored;

/// Documents between two looks whether the rebuild is still wanted.
const CHECKED_EACH: u64 = 1_000;

/// A rebuild that is under way.
pub(super) struct Rebuild {
    pub(super) collection: Arc<Collection>,
    /// The version that the new index will be of: it needs the journal entries after it.
    pub(super) version: u64,
    thread: JoinHandle<Result<Open>>,
}

impl Rebuild {
    pub(super) fn start(collection: &Arc<Collection>, queue: &Arc<Queue>) -> Result<Self> {
        let snapshot = collection.database().snapshot()?;
        let version = version_of(&snapshot, collection.number())?;
        let definition = collection.definition();
        let (building, queue) = (Arc::clone(collection), Arc::clone(queue));
        let thread = std::thread::Builder::new()
            .name("documents-build".to_owned())
            .spawn(move || build(&building, &definition, &snapshot, version, &queue))
            .map_err(|error| Error::storage(format!("cannot start a thread: {error}")))?;
        Ok(Self { collection: Arc::clone(collection), version, thread })
    }

    pub(super) fn is_of(&self, collection: u32) -> bool {
        self.collection.number() == collection
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    pub(super) fn join(self) -> Result<Open> {
        self.thread.join().unwrap_or_else(|_| Err(Error::storage("building the index panicked")))
    }

    /// Waits until the thread has noticed that it is not wanted.
    pub(super) fn abandon(self) {
        let _ = self.thread.join();
    }
}

fn build(
    collection: &Collection,
    definition: &Meta,
    snapshot: &Snapshot,
    version: u64,
    queue: &Queue,
) -> Result<Open> {
    let number = collection.number();
    let folder = folder(collection.indexes(), number, definition.generation);
    let index = Index::create(&folder, &definition.schema, definition.generation)?;
    let mut writer = index.writer()?;
    let mut documents = snapshot.prefix(&keys::documents(number), Direction::Forward);
    let mut count = 0;
    while let Some((key, value)) = documents.next_pair()? {
        let id = keys::id_of(key).ok_or_else(|| Error::storage("the store holds an id that is not UTF-8"))?;
        let (_, json) = stored::parse(value)?;
        writer.add_document(index.fields.stored_document(id, json)?)?;
        count += 1;
        if count % CHECKED_EACH == 0 {
            collection.note_rebuilt(count);
            let is_wanted = collection.definition().generation == definition.generation;
            if queue.is_closing() || collection.is_dropped() || !is_wanted {
                return Err(Error::storage("the index is not wanted any more"));
            }
        }
    }
    index.commit(&mut writer, version)?;
    collection.note_rebuilt(count);
    Ok(Open {
        index: Arc::new(index),
        writer: Some(writer),
        version,
        is_unsure: false,
        begun: Instant::now(),
    })
}
