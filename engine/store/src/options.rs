//! How is a database opened? Each knob says its default and what it costs.

use std::fmt;
use std::sync::Arc;

use std::path::PathBuf;

use crate::clock::{Clock, SystemClock};
use crate::durable::{Compression, DurableOptions, Profile, SyncMode};
use crate::event::{Event, OnEvent};
use crate::memory::Policy;

/// What a [`Database`](crate::Database) is opened with.
#[derive(Clone)]
pub struct Options {
    pub(crate) cap_bytes: u64,
    pub(crate) policy: Policy,
    pub(crate) samples: u32,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shards: Option<usize>,
    pub(crate) seed: Option<u64>,
    pub(crate) has_keyspaces: bool,
    pub(crate) on_event: Option<OnEvent>,
    pub(crate) durable: Option<DurableOptions>,
}

impl Options {
    /// A volatile store that never accounts for more than `cap_bytes` of memory: entries, tables and shards,
    /// by the pages they lie in. `u64::MAX` means no cap; 0 is refused by
    /// [`open`](crate::Database::open).
    #[must_use]
    pub fn memory(cap_bytes: u64) -> Self {
        Self {
            cap_bytes,
            policy: Policy::default(),
            samples: 5,
            clock: Arc::new(SystemClock),
            shards: None,
            seed: None,
            has_keyspaces: false,
            on_event: None,
            durable: None,
        }
    }

    /// A store in a directory, which is made where it is not there, with the directories above it; what
    /// is acknowledged survives the end of the process. One process at a time has it open. A relative
    /// path counts from the working directory at the time of [`open`](crate::Database::open).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Error, Options};
    ///
    /// let db = Database::open(Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// assert!(matches!(Database::open(Options::durable(&path)), Err(Error::InUse { .. })));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn durable(path: impl Into<PathBuf>) -> Self {
        let durable = Some(DurableOptions::new(path.into()));
        Self { policy: Policy::NoEviction, shards: Some(1), durable, ..Self::memory(u64::MAX) }
    }

    /// When writes are on the disk. Default: every second. Of no effect on a memory store, as the four below.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Options, SyncMode};
    ///
    /// let db = Database::open(Options::durable(&path).sync_mode(SyncMode::Always))?;
    /// db.set(b"a", b"1")?; // No power cut takes it away.
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn sync_mode(self, sync: SyncMode) -> Self {
        self.with_durable(|durable| durable.sync = sync)
    }

    /// What the durable store is made for.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Options, Profile};
    ///
    /// let db = Database::open(Options::durable(&path).profile(Profile::LowMemory))?;
    /// assert_eq!(db.storage_stats()?.cache_bytes, 0);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn profile(self, profile: Profile) -> Self {
        self.with_durable(|durable| durable.profile = profile)
    }

    /// Bytes of memory for memtables, cache, indexes and filters together; at least 1 MiB, and not more
    /// than the machine has. Default as the profile says. Key and value of an entry may take a twelfth of it
    /// together, a batch a quarter of it: what is larger is refused with
    /// [`TooLargeForBudget`](crate::Error::TooLargeForBudget) or [`BatchTooLong`](crate::Error::BatchTooLong).
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Error, Options};
    ///
    /// let db = Database::open(Options::durable(&path).memory_budget(4 << 20))?;
    /// assert!(matches!(db.set(b"a", &vec![0; 2 << 20]), Err(Error::TooLargeForBudget { .. })));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn memory_budget(self, bytes: u64) -> Self {
        self.with_durable(|durable| durable.budget = Some(bytes))
    }

    /// Files of tables that are open at once, at least 1; others are opened when they are read, and the
    /// least recently used ones are closed. Default: 1024, or half of the descriptors that the process
    /// may have (`ulimit -n`) where that is less. A higher limit than three quarters of those is not used.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Options};
    ///
    /// let db = Database::open(Options::durable(&path).max_open_files(100))?;
    /// assert!(db.storage_stats()?.open_files <= 100);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn max_open_files(self, files: usize) -> Self {
        self.with_durable(|durable| durable.max_open_files = Some(files))
    }

    /// Threads that share a large compaction, at least 1; default: 2. They do while much waits to be compacted or
    /// [`Database::settle`](crate::Database::settle) waits; otherwise one thread is enough. With more of them
    /// compactions keep up with more writes, and each takes a processor and a few MiB more.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Options};
    ///
    /// let db = Database::open(Options::durable(&path).merge_threads(4))?;
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn merge_threads(self, threads: usize) -> Self {
        self.with_durable(|durable| durable.merge_threads = Some(threads))
    }

    /// Opens a store that is there without writing a byte to its directory, not even `LOCK`: also on a full
    /// disk, and where the directory may not be written. Default: false.
    ///
    /// Several processes may read a store at once; beside one that writes it, each gets
    /// [`Error::InUse`](crate::Error::InUse). So a copy of the directory that is made while a read-only
    /// database is open is a backup. What the logs hold is read into memory, and has to fit the
    /// [memory budget](Self::memory_budget). Changes, [`flush`](crate::Database::flush),
    /// [`settle`](crate::Database::settle), [`compact`](crate::Database::compact) and
    /// [`checkpoint`](crate::Database::checkpoint) return [`Error::ReadOnly`](crate::Error::ReadOnly), also
    /// where they would change nothing; [`sync`](crate::Database::sync) has nothing to do.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Error, Options};
    ///
    /// let db = Database::open(Options::durable(&path))?;
    /// db.set(b"a", b"1")?;
    /// drop(db);
    /// let db = Database::open(Options::durable(&path).read_only(true))?;
    /// assert_eq!(db.get(b"a")?.as_deref(), Some(&b"1"[..]));
    /// assert_eq!(db.set(b"a", b"2"), Err(Error::ReadOnly));
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn read_only(self, is_read_only: bool) -> Self {
        self.with_durable(|durable| durable.is_read_only = is_read_only)
    }

    /// Bytes of the block cache, 0 for none, whatever else the budget holds; not more than the machine has.
    /// Default: what memtables, indexes and filters leave of the budget.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Options};
    ///
    /// let db = Database::open(Options::durable(&path).cache_bytes(0))?;
    /// db.set(b"a", b"1")?; // Read from the system's page cache, as long as it is there.
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn cache_bytes(self, bytes: u64) -> Self {
        self.with_durable(|durable| durable.cache = Some(bytes))
    }

    /// How tables are compressed that are written from now on. Default [`Compression::Lz4`]. Each block says how it is: a store can be opened with another compression than before,
    /// and merges bring it in bit by bit.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Compression, Database, Options};
    ///
    /// let db = Database::open(Options::durable(&path).compression(Compression::None))?;
    /// db.set(b"a", b"what is compressed already")?;
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn compression(self, compression: Compression) -> Self {
        self.with_durable(|durable| durable.compression = compression)
    }

    /// How many bytes of keys and values the merges behind the writes may read in a second, so that they leave the disk to others. Default: as many as they can. Set below what writes
    /// bring in, several times over, it slows writes down in the end. [`compact`](crate::Database::compact) knows no limit.
    #[must_use]
    pub fn merge_bytes_per_second(self, bytes: u64) -> Self {
        self.with_durable(|durable| durable.merge_bytes_per_second = Some(bytes))
    }

    /// The most memory in bytes that [`reserve`](crate::Database::reserve) and [`buffer`](crate::Database::buffer) may take beside a durable
    /// store's own. Default: none. Of no effect on a memory store, whose cap counts both.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Options};
    ///
    /// let db = Database::open(Options::durable(&path).client_cap(1 << 20))?;
    /// assert!(db.reserve(1 << 19).is_ok());
    /// assert!(db.reserve(1 << 20).is_err());
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn client_cap(mut self, bytes: u64) -> Self {
        if self.durable.is_some() {
            self.cap_bytes = bytes;
        }
        self
    }

    /// A function that gets the [events](crate::Event) of the durable store: flushes, merges, write stalls,
    /// failures. Default: none. Of no effect on a memory store.
    ///
    /// A thread of the store calls it, with one event at a time, in their order, and under no lock: it may
    /// call the database. Nothing waits for it, so an event can be delivered later than it happened; of more
    /// than 4096 that wait the newest are dropped. [`close`](crate::Database::close) and the drop of the
    /// database wait until the rest is delivered. A panic in it ends that call alone.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("store");
    /// use plumbkv::{Database, Event, Options};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let flushed = Arc::new(AtomicU64::new(0));
    /// let counter = Arc::clone(&flushed);
    /// let options = Options::durable(&path).on_event(move |event| match event {
    ///     Event::FlushEnded { bytes, error: None, .. } => {
    ///         counter.fetch_add(*bytes, Ordering::Relaxed);
    ///     }
    ///     Event::Failed { error, .. } => eprintln!("no more writes: {error}"),
    ///     _ => {}
    /// });
    /// let db = Database::open(options)?;
    /// db.set(b"a", b"1")?;
    /// db.flush()?;
    /// db.close()?;
    /// assert!(flushed.load(Ordering::Relaxed) > 0);
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn on_event(mut self, on_event: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(on_event));
        self
    }

    fn with_durable(mut self, change: impl FnOnce(&mut DurableOptions)) -> Self {
        if let Some(durable) = &mut self.durable {
            change(durable);
        }
        self
    }

    /// Which key goes when the cap is reached. Default [`Policy::AllkeysLru`].
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How many random keys an eviction chooses among, 1 to 64. Default 5: more come nearer to exact LRU and
    /// cost one cache miss each (`docs/eviction.md` has the figures).
    #[must_use]
    pub fn samples(mut self, samples: u32) -> Self {
        self.samples = samples;
        self
    }

    /// The clock that expiry follows. Default [`SystemClock`].
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Number of shards: a power of two up to 4096, or `None` (the default) for one per 256 KiB of cap.
    /// More shards let more threads write at once; each costs 128 bytes, empty or not.
    #[must_use]
    pub fn shards(mut self, shards: Option<usize>) -> Self {
        self.shards = shards;
        self
    }

    /// Whether [keyspaces](crate::Keyspace) behind the first are used. Then a memory store has shards for them, too, an eighth as many for each, and counts 256
    /// bytes more for each of its shards; without it their keys lie among those of the first. A durable store needs nothing for them. Default: false.
    #[must_use]
    pub fn keyspaces(mut self, has_keyspaces: bool) -> Self {
        self.has_keyspaces = has_keyspaces;
        self
    }

    /// Fixes every random choice (hashing and eviction), so that a single-threaded run repeats exactly.
    /// For tests and simulations only: with a seed that others know, keys can be made to collide.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The seed stays out: with it, colliding keys can be computed.
        f.debug_struct("Options")
            .field("cap_bytes", &self.cap_bytes)
            .field("policy", &self.policy)
            .field("samples", &self.samples)
            .field("shards", &self.shards)
            .field("durable", &self.durable)
            .finish_non_exhaustive()
    }
}
