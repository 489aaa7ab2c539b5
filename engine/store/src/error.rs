//! What can go wrong, where, and what to do next.

/// The result of every call on a [`Database`](crate::Database).
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call was not carried out. A call that returns an error has changed nothing the caller can see,
/// except that making room for it may have evicted other keys.
///
/// One case is undecided: in durable mode, a write whose own append to the log or whose own sync failed
/// ([`is_in_doubt`](Self::is_in_doubt)). This process does not show it, but if the process ends before the store has
/// recovered ([`StorageStats::failure`](crate::StorageStats::failure)), it may be there after the next
/// open. A failure in the background is never the result of a write that was applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key is longer than [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES).
    #[error("the key is {len} bytes long and a key may have {max}; store under a digest of it instead")]
    KeyTooLong {
        /// Length of the key in bytes.
        len: usize,
        /// The longest key allowed, in bytes.
        max: usize,
    },
    /// The value is, or would become, longer than [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES).
    #[error("the value would be {len} bytes long and a value may have {max}; split it over several keys")]
    ValueTooLong {
        /// Length the value would have, in bytes.
        len: usize,
        /// The longest value allowed, in bytes.
        max: usize,
    },
    /// The entry could not be stored even in an otherwise empty database; nothing was evicted for it.
    #[error(
        "storing this takes {needed} bytes of memory and the cap is {cap}; nothing was evicted: store less \
         or raise the cap"
    )]
    TooLargeForCap {
        /// Bytes the call would occupy with every other key gone, the fixed part of the store included.
        needed: u64,
        /// The memory cap in bytes.
        cap: u64,
    },
    /// The cap is reached and the policy gives no key that may be evicted, or the allocator is out of memory.
    #[error(
        "the memory cap is reached and the eviction policy allows no key to be removed; delete keys, raise the \
         cap or choose an allkeys policy"
    )]
    OutOfMemory,
    /// [`increment`](crate::Database::increment) met a value that is no decimal 64-bit integer.
    #[error("the value is not a decimal integer of 64 bits; overwrite it with one before incrementing")]
    NotAnInteger,
    /// [`increment`](crate::Database::increment) would leave the range of an `i64`; the value is unchanged.
    #[error("the increment would leave the range of a 64-bit integer; the value is unchanged")]
    Overflow,
    /// The storage mode of this database cannot serve the call.
    #[error("`{call}` is not available in {mode} mode; open the database in a mode that has it")]
    Unsupported {
        /// Name of the call.
        call: &'static str,
        /// Name of the storage mode.
        mode: &'static str,
    },
    /// An option has a value that cannot be used.
    #[error("option `{option}`: {reason}")]
    InvalidOption {
        /// Name of the option.
        option: &'static str,
        /// What is wrong with it and what would be right.
        reason: String,
    },
    /// The system refused an operation on a file.
    #[error("{path}: cannot {call}: {message}")]
    Io {
        /// The file or directory.
        path: String,
        /// What was to be done with it.
        call: &'static str,
        /// The kind of the system's error.
        kind: std::io::ErrorKind,
        /// The system's words.
        message: String,
    },
    /// The entry takes more than a twelfth of the memory that the database may use.
    #[error(
        "the entry takes {needed} bytes and may take {limit}, a twelfth of the memory budget of {budget}; raise \
         the budget or split the value"
    )]
    TooLargeForBudget {
        /// Bytes of key and value.
        needed: u64,
        /// The most that an entry may take.
        limit: u64,
        /// The memory budget in bytes.
        budget: u64,
    },
    /// A batch takes more than a quarter of the memory budget, or is longer than the log takes at once.
    #[error(
        "the batch has {len} {unit} and one may have {max}; split it: each part is carried out whole or not at all, though not all parts together"
    )]
    BatchTooLong {
        /// What it has.
        len: u64,
        /// The most that it may have.
        max: u64,
        /// Of what: bytes of memory, which are those of keys and values and some for each write; bytes of
        /// the log; or writes.
        unit: &'static str,
    },
    /// Snapshots that are held keep more memory than they may.
    #[error(
        "snapshots and ranges that are held keep {held} bytes of memory and may keep {limit}, half of the \
         memory budget; drop older ones, or raise the budget"
    )]
    SnapshotsHoldMemory {
        /// Bytes of memtables that were flushed, and of indexes and filters of tables that were merged.
        held: u64,
        /// The most that they may keep when another one is taken.
        limit: u64,
    },
    /// A cursor of [`scan`](crate::Database::scan) that no call has returned, or that is forgotten.
    #[error("the cursor {cursor} is not known, or no longer; begin again with 0")]
    UnknownCursor {
        /// The cursor.
        cursor: u64,
    },
    /// A pair that was to be [ingested](crate::Database::ingest) has a key that does not come after the one before it.
    #[error(
        "pair {pair} of those to be ingested has {}; sort them by key and name each key once. Nothing was ingested",
        if *is_duplicate { "the key of the one before it" } else { "a key below that of the one before it" }
    )]
    OutOfOrder {
        /// Which pair, counted from 1.
        pair: u64,
        /// Its key is the same.
        is_duplicate: bool,
    },
    /// Another process has the directory open: to write it, or to read it where this one would write.
    #[error(
        "{path} is in use by another process: one may write a store, or several may read it; end that one, or ask it"
    )]
    InUse {
        /// The directory.
        path: String,
    },
    /// The database was opened [to be read only](crate::Options::read_only).
    #[error("the database is open read-only; open it without `read_only` to change it")]
    ReadOnly,
    /// A thread of the store panicked, for example in a clock of the program.
    #[error("{thread} of the store panicked: no more writes are taken; open the store again")]
    Panicked {
        /// Which thread.
        thread: &'static str,
    },
    /// A directory without a `CURRENT` has a file whose name is one that a store gives.
    #[error(
        "{path} is no whole store: it has {file} and no CURRENT. Nothing in it was changed. For a new store \
         name another directory, or move the file away; for an old one bring CURRENT back, or a checkpoint"
    )]
    NotAStore {
        /// The directory.
        path: String,
        /// The name of the file.
        file: String,
    },
    /// The store is being closed.
    #[error("the store is being closed")]
    Closed,
    /// The call would have to wait, and its thread does not ([`NonBlocking`](crate::NonBlocking)). It has changed nothing.
    #[error("the call would have to wait for the disk, which this thread does not; make it on one that may")]
    WouldBlock,
    /// A file does not hold what was written to it.
    #[error(
        "{path}: at byte {offset}: {reason}; `Database::verify` tells how much is damaged, `Database::repair` saves the rest (in the program: `plumbkv check`, `plumbkv repair`)"
    )]
    Corrupt {
        /// The file.
        path: String,
        /// Where in it, in bytes from its beginning.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
}

/// Calls of which a failure leaves unknown whether the change is on the disk.
const APPEND: &str = "append to";
const REPLACE: &str = "replace the manifest at";

impl Error {
    /// Whether the write that returned it is undecided: its own append to the log, or its own sync, failed.
    /// This process does not show it, but if the process ends before the store has recovered, it may be
    /// there after the next open. The same for [`clear`](crate::Database::clear) and
    /// [`Ingest::finish`](crate::Ingest::finish). False for a write that is refused because an earlier one
    /// failed: that has changed nothing. Of calls that write no entries it says nothing.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = plumbkv::Database::open(plumbkv::Options::durable(directory.path().join("store")))?;
    /// match db.increment(b"visits", 1) {
    ///     Ok(visits) => println!("{visits} visits"),
    ///     Err(error) if error.is_in_doubt() => println!("read it before you count again: {error}"),
    ///     Err(error) => println!("not counted: {error}"),
    /// }
    /// # Ok::<(), plumbkv::Error>(())
    /// ```
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        matches!(self, Self::Io { call: APPEND | REPLACE, .. })
    }

    /// The error of an append, or of a sync that belongs to it.
    pub(crate) fn append(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::io(path, APPEND, error)
    }

    /// The same failure of an edit of the manifest that may count all the same.
    pub(crate) fn in_doubt(mut self) -> Self {
        if let Self::Io { call, .. } = &mut self
            && *call != APPEND
        {
            *call = REPLACE;
        }
        self
    }

    /// The error of the calls that are refused because of this one.
    pub(crate) fn of_later_calls(&self) -> Self {
        let mut error = self.clone();
        if let Self::Io { call, .. } = &mut error
            && self.is_in_doubt()
        {
            *call = "write, since an append or an edit failed, to";
        }
        error
    }

    pub(crate) fn io(path: &std::path::Path, call: &'static str, error: &std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), call, kind: error.kind(), message: error.to_string() }
    }

    pub(crate) fn corrupt(path: &std::path::Path, offset: u64, reason: &'static str) -> Self {
        Self::Corrupt { path: path.display().to_string(), offset, reason }
    }
}
