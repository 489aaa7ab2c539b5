//! The indexer: a thread that brings each collection's index to the state of the store.
//!
//! [`pass`] follows the journal of writes; [`rebuild`] builds an index from all documents, in a thread
//! beside, where there is none that can be used. Until it is built, the index of the schema before
//! goes on serving and following the writes.

mod pass;
mod queue;
mod rebuild;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tantivy::IndexWriter;

use crate::collection::Collection;
use crate::collections::remove_folders;
use crate::error::Result;
use crate::index::{Index, folder};
pub(crate) use pass::version_of;
pub(crate) use queue::Queue;
use rebuild::Rebuild;

/// A writer that is idle for so long is closed: it holds memory and threads.
const WRITER_IDLE: Duration = Duration::from_secs(5);
/// Writers of passes that are open at most.
const MOST_WRITERS: usize = 3;
/// Time between the begins of two passes of one collection.
const PASS_INTERVAL: Duration = Duration::from_millis(20);
/// Time until a pass that failed is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// Time between two looks at a rebuild.
const REBUILD_POLL: Duration = Duration::from_millis(20);

/// What the indexer has open for a collection.
struct Open {
    index: Arc<Index>,
    writer: Option<IndexWriter>,
    /// The version of the last commit.
    version: u64,
    /// The index may hold documents of writes after that, so each is deleted before it is added.
    is_unsure: bool,
    /// Begin of the last pass.
    begun: Instant,
}

/// The state of the thread.
#[derive(Default)]
struct Indexer {
    open: HashMap<u32, Open>,
    /// One at a time: it takes the memory of a writer and the time of a CPU.
    rebuild: Option<Rebuild>,
}

/// Works until the queue is closed.
pub(crate) fn run(queue: &Arc<Queue>) {
    let mut indexer = Indexer::default();
    while !queue.is_closing() {
        indexer.install_rebuilt(queue);
        let patience = if indexer.rebuild.is_some() { REBUILD_POLL } else { WRITER_IDLE };
        match queue.pop(patience) {
            Some(collection) => indexer.serve(&collection, queue),
            None => indexer.close_idle_writers(),
        }
    }
    if let Some(rebuild) = indexer.rebuild.take() {
        rebuild.abandon();
    }
}

impl Indexer {
    fn serve(&mut self, collection: &Arc<Collection>, queue: &Arc<Queue>) {
        let number = collection.number();
        if collection.is_dropped() {
            self.open.remove(&number);
            return;
        }
        if let Some(open) = self.open.get(&number) {
            std::thread::sleep(PASS_INTERVAL.saturating_sub(open.begun.elapsed()));
        }
        let begun = Instant::now();
        let done = self.bring_up(collection, queue);
        if let Some(open) = self.open.get_mut(&number) {
            open.begun = begun;
        }
        collection.note_index_error(done.as_ref().err());
        if done.is_err() && !collection.is_dropped() {
            // What a failed pass has added is discarded with its writer.
            if let Some(open) = self.open.get_mut(&number) {
                open.writer = None;
                open.is_unsure = true;
            }
            std::thread::sleep(RETRY);
            queue.push(collection);
        }
        self.limit_writers();
    }

    fn bring_up(&mut self, collection: &Arc<Collection>, queue: &Arc<Queue>) -> Result<()> {
        let number = collection.number();
        let generation = collection.definition().generation;
        if self.open.get(&number).is_none_or(|open| open.index.generation != generation)
            && !self.rebuild.as_ref().is_some_and(|rebuild| rebuild.is_of(number))
        {
            match self.opened(collection)? {
                Ok(open) => {
                    self.open.insert(number, open);
                }
                // Another collection's rebuild is under way: this one's turn comes.
                Err(_) if self.rebuild.is_some() => queue.push_later(collection),
                Err(reason) => {
                    collection.note_rebuild(&reason);
                    self.rebuild = Some(Rebuild::start(collection, queue)?);
                }
            }
        }
        let floor =
            self.rebuild.as_ref().filter(|rebuild| rebuild.is_of(number)).map(|rebuild| rebuild.version);
        match self.open.get_mut(&number) {
            Some(open) => pass::pass(collection, open, floor),
            None => Ok(()),
        }
    }

    /// The index of the collection's schema, or why it must be built anew.
    fn opened(&self, collection: &Collection) -> Result<Result<Open, String>> {
        let definition = collection.definition();
        let folder = folder(collection.indexes(), collection.number(), definition.generation);
        let (index, version) = match Index::open(&folder, &definition.schema, definition.generation) {
            Ok(opened) => opened,
            Err(unusable) => return Ok(Err(unusable.0)),
        };
        // A store that lost its last writes in a power cut is behind its index.
        if version > version_of(&collection.database().snapshot()?, collection.number())? {
            return Ok(Err("it is ahead of the store".to_owned()));
        }
        let (index, begun) = (Arc::new(index), Instant::now());
        Ok(Ok(Open { index, writer: None, version, is_unsure: true, begun }))
    }

    fn install_rebuilt(&mut self, queue: &Arc<Queue>) {
        let Some(rebuild) = self.rebuild.take_if(|rebuild| rebuild.is_finished()) else { return };
        let collection = Arc::clone(&rebuild.collection);
        match rebuild.join() {
            // The schema may have changed once more meanwhile.
            Ok(open) if open.index.generation == collection.definition().generation => {
                let number = collection.number();
                let (of_collection, current) =
                    (format!("{number}-"), format!("{number}-{}", open.index.generation));
                // The writer of the index before is dropped first.
                self.open.insert(number, open);
                let is_old = |name: &str| name.starts_with(&of_collection) && name != current;
                let removed = remove_folders(collection.indexes(), is_old);
                collection.note_index_error(removed.as_ref().err());
            }
            Ok(_) => {}
            Err(error) => {
                collection.note_index_error(Some(&error));
                std::thread::sleep(RETRY);
            }
        }
        queue.push(&collection);
    }

    fn close_idle_writers(&mut self) {
        let idle = self.open.values_mut().filter(|open| open.begun.elapsed() >= WRITER_IDLE);
        idle.for_each(|open| open.writer = None);
    }

    fn limit_writers(&mut self) {
        if self.open.values().filter(|open| open.writer.is_some()).count() > MOST_WRITERS {
            let writing = self.open.values_mut().filter(|open| open.writer.is_some());
            if let Some(oldest) = writing.min_by_key(|open| open.begun) {
                oldest.writer = None;
            }
        }
    }
}
