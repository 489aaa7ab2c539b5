//! All collections of a directory: created, found, changed and deleted by name.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Mutex, RwLock};
use plumbkv::{Batch, Database, Direction, Profile, Snapshot, SyncMode};

use crate::collection::Collection;
use crate::error::{Error, Kind, Result};
use crate::index::io;
use crate::indexer::{self, Queue, version_of};
use crate::keys;
use crate::limits::MAX_COLLECTIONS;
use crate::meta::Meta;
use crate::names::{check_collection, hint};
use crate::schema::Schema;

/// Called with a collection's name and the reason when its index is built anew.
type OnRebuild = Box<dyn Fn(&str, &str) + Send + Sync>;

/// How collections are opened.
pub struct Options {
    directory: PathBuf,
    sync: SyncMode,
    profile: Profile,
    memory_budget: Option<u64>,
    on_rebuild: OnRebuild,
}

impl Options {
    /// Collections in this directory, which is created if it is missing.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            sync: SyncMode::default(),
            profile: Profile::default(),
            memory_budget: None,
            on_rebuild: Box::new(|_, _| {}),
        }
    }

    /// When writes are synced to the disk.
    #[must_use]
    pub fn sync_mode(self, sync: SyncMode) -> Self {
        Self { sync, ..self }
    }

    /// How much memory the store takes, by purpose.
    #[must_use]
    pub fn profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }

    /// Bytes of memory that the store may take, indexes not included.
    #[must_use]
    pub fn memory_budget(self, bytes: u64) -> Self {
        Self { memory_budget: Some(bytes), ..self }
    }

    /// Calls `f` with a collection's name and the reason each time an index is built anew.
    #[must_use]
    pub fn on_rebuild(self, f: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        Self { on_rebuild: Box::new(f), ..self }
    }
}

/// What all collections share.
pub(crate) struct Store {
    pub(crate) database: Database,
    pub(crate) indexes: PathBuf,
    pub(crate) queue: Arc<Queue>,
    pub(crate) on_rebuild: OnRebuild,
}

/// All collections of a directory. Dropping it waits for the indexer's pass that is under way.
pub struct Collections {
    store: Arc<Store>,
    all: RwLock<BTreeMap<String, Arc<Collection>>>,
    /// Held while a collection is created, changed or deleted.
    changing: Mutex<()>,
    indexer: Option<JoinHandle<()>>,
}

impl Collections {
    /// Opens the store, and begins to open the indexes.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub fn open(options: Options) -> Result<Self> {
        let Options { directory, sync, profile, memory_budget, on_rebuild } = options;
        let mut durable = plumbkv::Options::durable(directory.join("store")).sync_mode(sync).profile(profile);
        if let Some(bytes) = memory_budget {
            durable = durable.memory_budget(bytes);
        }
        let database = Database::open(durable)?;
        let indexes = directory.join("indexes");
        fs::create_dir_all(&indexes).map_err(|error| io(&indexes, "create", &error))?;
        let store = Arc::new(Store { database, indexes, queue: Arc::default(), on_rebuild });
        let snapshot = store.database.snapshot()?;
        let metas = metas(&snapshot)?;
        remove_orphans(&store, &snapshot, &metas)?;
        let mut all = BTreeMap::new();
        for (name, meta) in metas {
            let version = version_of(&snapshot, meta.number)?;
            let collection = Collection::new(&name, meta, version, &store);
            store.queue.push(&collection);
            all.insert(name, collection);
        }
        let queue = Arc::clone(&store.queue);
        let indexer = std::thread::Builder::new()
            .name("documents-index".to_owned())
            .spawn(move || indexer::run(&queue))
            .map_err(|error| Error::storage(format!("cannot start a thread: {error}")))?;
        Ok(Self { store, all: RwLock::new(all), changing: Mutex::new(()), indexer: Some(indexer) })
    }

    /// The names of all collections, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.all.read().keys().cloned().collect()
    }

    /// The collection with a name.
    ///
    /// # Errors
    /// There is none; the message names the nearest.
    pub fn get(&self, name: &str) -> Result<Arc<Collection>> {
        let all = self.all.read();
        all.get(name).cloned().ok_or_else(|| {
            let hint = hint(name, all.keys().map(|name| &**name));
            Error::new(Kind::NotFound, format!("no collection {name:?}; {hint}"))
        })
    }

    /// Creates a collection.
    ///
    /// # Errors
    /// The name or the schema is not valid, or a collection has the name.
    pub fn create(&self, name: &str, schema: Schema) -> Result<Arc<Collection>> {
        check_collection(name)?;
        schema.check()?;
        let _changing = self.changing.lock();
        let count = self.all.read().len();
        if self.all.read().contains_key(name) {
            return Err(Error::new(Kind::Exists, format!("the collection {name:?} exists")));
        }
        if count >= MAX_COLLECTIONS {
            return Err(Error::new(
                Kind::TooLarge,
                format!("there are {count} collections, the most there may be"),
            ));
        }
        let database = &self.store.database;
        let next = database.get(keys::NEXT_NUMBER)?.and_then(|value| value.try_into().ok());
        let number = next.map_or(1, u32::from_be_bytes);
        let meta = Meta { number, generation: 1, schema };
        let mut batch = Batch::new();
        batch.set(keys::NEXT_NUMBER, &(number + 1).to_be_bytes());
        batch.set(&keys::meta(name), &to_json(&meta)?);
        database.write(&batch)?;
        let collection = Collection::new(name, meta, 0, &self.store);
        self.all.write().insert(name.to_owned(), Arc::clone(&collection));
        self.store.queue.push(&collection);
        Ok(collection)
    }

    /// Changes what a collection indexes. The index is built anew beside the old one, which serves
    /// meanwhile. Values that do not fit their new type stay stored and are not indexed.
    ///
    /// # Errors
    /// There is no such collection, the schema is not valid, or it has another primary field.
    pub fn change(&self, name: &str, schema: Schema) -> Result<()> {
        schema.check()?;
        let _changing = self.changing.lock();
        let collection = self.get(name)?;
        let before = collection.definition();
        if before.schema.primary != schema.primary {
            return Err(Error::invalid(format!(
                "the primary field is `{}` and cannot change; create another collection",
                before.schema.primary
            )));
        }
        if before.schema == schema {
            return Ok(());
        }
        let meta = Meta { number: before.number, generation: before.generation + 1, schema };
        self.store.database.set(&keys::meta(name), &to_json(&meta)?)?;
        collection.define(meta);
        Ok(())
    }

    /// Deletes a collection with its documents.
    ///
    /// # Errors
    /// There is no such collection, or the store refuses the write.
    pub fn delete(&self, name: &str) -> Result<()> {
        let _changing = self.changing.lock();
        let collection = self.get(name)?;
        // Without its record the collection is gone, even if the process ends before its documents are.
        self.store.database.delete(&keys::meta(name))?;
        self.all.write().remove(name);
        collection.mark_dropped();
        self.store.queue.push(&collection);
        remove(&self.store, collection.number())
    }

    /// Writes all that was acknowledged to the disk.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&self) -> Result<()> {
        Ok(self.store.database.sync()?)
    }

    /// The database that holds the documents, for statistics, backups and checks.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.store.database
    }
}

impl Drop for Collections {
    fn drop(&mut self) {
        self.store.queue.close();
        if let Some(indexer) = self.indexer.take() {
            // A panic of the indexer was printed when it happened.
            let _ = indexer.join();
        }
    }
}

fn to_json(meta: &Meta) -> Result<Vec<u8>> {
    serde_json::to_vec(meta).map_err(|error| Error::storage(error.to_string()))
}

fn metas(snapshot: &Snapshot) -> Result<BTreeMap<String, Meta>> {
    let mut all = BTreeMap::new();
    let mut pairs = snapshot.prefix(keys::META_PREFIX, Direction::Forward);
    while let Some((key, value)) = pairs.next_pair()? {
        let name = String::from_utf8_lossy(&key[keys::META_PREFIX.len()..]).into_owned();
        let meta = serde_json::from_slice(value).map_err(|error| {
            Error::storage(format!("the record of collection {name:?} cannot be read: {error}"))
        })?;
        all.insert(name, meta);
    }
    Ok(all)
}

/// Removes what deleted collections have left behind when the process ended.
fn remove_orphans(store: &Store, snapshot: &Snapshot, metas: &BTreeMap<String, Meta>) -> Result<()> {
    let known: HashSet<u32> = metas.values().map(|meta| meta.number).collect();
    for kind in [b'd', b'j', b'v'] {
        let (mut from, end) = (vec![kind], vec![kind + 1]);
        loop {
            let mut keys_of_kind = snapshot.range(&from[..]..&end[..], Direction::Forward);
            let Some((key, _)) = keys_of_kind.next_pair()? else { break };
            let Some(number) = key.get(1..5).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
            else {
                break;
            };
            if !known.contains(&number) {
                remove(store, number)?;
            }
            from = keys::behind(&key[..5]);
        }
    }
    let folders: HashSet<String> =
        metas.values().map(|meta| format!("{}-{}", meta.number, meta.generation)).collect();
    remove_folders(&store.indexes, |name| !folders.contains(name))
}

fn remove(store: &Store, number: u32) -> Result<()> {
    for prefix in [keys::documents(number), keys::journal(number), keys::version(number)] {
        let end = keys::behind(&prefix);
        store.database.delete_range(&prefix[..]..&end[..])?;
    }
    remove_folders(&store.indexes, |name| name.starts_with(&format!("{number}-")))
}

/// Removes folders of indexes. Searches that are under way keep their files.
pub(crate) fn remove_folders(indexes: &Path, is_needless: impl Fn(&str) -> bool) -> Result<()> {
    let entries = fs::read_dir(indexes).map_err(|error| io(indexes, "list", &error))?;
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(&is_needless) {
            // One that stays is removed at the next start.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}
