//! The parts of the durable store one by one, for benchmarks and fuzzers: no part of the public interface, and without a promise to stay what it is.

pub use super::parts_tree::{Look, Move, Tree, TreeShape, Walk};

use super::manifest::Edit;
use super::memtable::{Inserter, Memtable as Inner};
use super::record::{Kind, MAX_SEQUENCE, Record, Stamp, is_before as comes_before};
use super::table::{
    Block as RawBlock, BlockBuilder, BlockCache, BlockCursor, Compression, Filter, FilterBuilder,
    Index as RawIndex, IndexBuilder, Shape, Table as RawTable, TableBuilder, hash,
};
use super::vfs::{Disk, Vfs};
use super::wal::{LogWriter, Write, parse, put_write, writes};
use std::path::Path;
use std::sync::Arc;

/// A memtable, and the right to insert.
pub struct Memtable {
    table: Inner,
    inserter: Inserter,
    sequence: u64,
}

impl Memtable {
    /// Room for so many bytes, most of whose keys begin so.
    #[must_use]
    pub fn new(bytes: usize, common: &[u8]) -> Option<Self> {
        Inner::new(bytes, common).map(|(table, inserter)| Self { table, inserter, sequence: 0 })
    }

    /// False where there is no room.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.sequence += 1;
        self.table
            .insert(&mut self.inserter, &Record { key, stamp: Stamp::new(self.sequence, Kind::Set), value })
    }

    /// The newest value.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.table.get(key, MAX_SEQUENCE).map(|record| record.value)
    }
}

/// A Bloom filter.
pub struct Bloom(Filter);

impl Bloom {
    /// Of these keys, with ten bits for each.
    pub fn new<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut filter = FilterBuilder::default();
        keys.for_each(|key| filter.add(hash(key)));
        Filter::new(&filter.finish(10)).ok().map(Self)
    }

    /// Whether a key may be among them.
    #[must_use]
    #[inline]
    pub fn may_hold(&self, key: &[u8]) -> bool {
        self.0.may_hold(hash(key))
    }
}

/// A block of pairs.
pub struct Block(Vec<u8>);

impl Block {
    /// Of pairs in their order.
    pub fn new<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let mut builder = BlockBuilder::new(usize::MAX);
        pairs.for_each(|(key, value)| builder.add(&Record { key, stamp: Stamp::new(1, Kind::Set), value }));
        let mut bytes = Vec::new();
        builder.finish(&mut bytes);
        Self(bytes)
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let block = RawBlock::new(&self.0).ok()?;
        block.get(key, Stamp::newest_at(MAX_SEQUENCE)).ok()?.map(|(_, value)| value)
    }
}

/// The index of a table.
pub struct Index(RawIndex);

impl Index {
    /// Of blocks that end with these keys.
    pub fn new<'a>(last_keys: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut builder = IndexBuilder::new();
        (1..).zip(last_keys).for_each(|(end, key)| builder.add(key, None, end));
        let mut bytes = Vec::new();
        builder.finish(&mut bytes);
        RawIndex::new(&bytes).ok().map(Self)
    }

    /// The block that may hold a key.
    #[must_use]
    pub fn find(&self, key: &[u8]) -> usize {
        self.0.find(key)
    }
}

/// The block cache.
pub struct Cache(BlockCache);

impl Cache {
    /// For so many bytes, in blocks of so many.
    #[must_use]
    pub fn new(bytes: u64, block_bytes: usize) -> Self {
        Self(BlockCache::new(bytes, block_bytes))
    }

    /// Hands a block of a file to `f`, where it lies.
    #[must_use]
    #[inline]
    pub fn read<R>(&self, file: u64, block: u32, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.0.get((file, block)).map(|block| f(&block))
    }

    /// Whether a block that was missed is to be put in.
    #[must_use]
    pub fn wants(&self, file: u64, block: u32) -> bool {
        self.0.wants((file, block))
    }

    /// Puts a block in.
    #[inline]
    pub fn set(&self, file: u64, block: u32, bytes: &[u8]) {
        self.0.insert((file, block), bytes);
    }
}

/// A log.
pub struct Wal {
    log: LogWriter,
    payload: Vec<u8>,
    sequence: u64,
}

impl Wal {
    /// In a new file.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        Ok(Self { log: LogWriter::filled_ahead(Disk.create(path)?, 1), payload: Vec::new(), sequence: 0 })
    }

    /// From the beginning of a file that held a log, as a store goes on when it has flushed what the log is for.
    ///
    /// # Errors
    /// The system's.
    pub fn reuse(path: &Path, log: u64) -> std::io::Result<Self> {
        Ok(Self { log: LogWriter::reused(Disk.reuse(path)?, log), payload: Vec::new(), sequence: 0 })
    }

    /// Appends a write, for the next [`hand_over`](Self::hand_over).
    pub fn append(&mut self, key: &[u8], value: &[u8]) {
        self.payload.clear();
        put_write(&mut self.payload, &Write { kind: Kind::Set, key, value });
        self.sequence += 1;
        self.log.add(self.sequence, &self.payload);
    }

    /// Hands what was appended to the system.
    ///
    /// # Errors
    /// The system's.
    pub fn hand_over(&mut self) -> std::io::Result<()> {
        self.log.write()
    }
}

/// Whether a version of a key with this sequence number stands before another.
#[must_use]
pub fn is_before(key: &[u8], sequence: u64, other: &[u8], other_sequence: u64) -> bool {
    let stamp = |sequence: u64| Stamp::new(sequence.min(MAX_SEQUENCE), Kind::Set);
    comes_before(key, stamp(sequence), other, stamp(other_sequence))
}

/// Adds a write as a log holds it.
pub fn encode_write(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    put_write(out, &Write { kind: Kind::Set, key, value });
}

/// Key and value of the write that these bytes begin with.
#[must_use]
pub fn decode_write(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let write = writes(bytes).next()?.ok()?;
    Some((write.key, write.value))
}

/// A table in a file.
pub struct Table(RawTable);

impl Table {
    /// Of pairs in their order, with a cache of so many bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn create<'a>(
        path: &Path,
        pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        cache_bytes: u64,
    ) -> crate::error::Result<Self> {
        let failed = |error: std::io::Error| crate::error::Error::io(path, "write", &error);
        let shape = Shape {
            block_bytes: 2 << 10,
            compression: Compression::Lz4,
            filter_bits_per_key: 10,
            piece_bytes: 64 << 10,
        };
        let vfs: Arc<dyn Vfs> = Arc::new(Disk);
        let mut builder = TableBuilder::new(vfs.create(path).map_err(failed)?, 1, shape);
        for (key, value) in pairs {
            builder.add(&Record { key, stamp: Stamp::new(1, Kind::Set), value }).map_err(failed)?;
        }
        builder.finish().map_err(failed)?;
        let cache = (cache_bytes > 0).then(|| Arc::new(BlockCache::new(cache_bytes, shape.block_bytes)));
        RawTable::open(&vfs, path, 1, cache).map(Self)
    }

    /// Hands the value of a key to `f`.
    ///
    /// # Errors
    /// The system's, and damage.
    pub fn get<R>(&self, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> crate::error::Result<Option<R>> {
        self.0.get(key, hash(key), Stamp::newest_at(MAX_SEQUENCE), |_, value| f(value))
    }
}

/// What is read from files, from any bytes.
pub mod fuzz {
    use super::{BlockCursor, Edit, Filter, RawBlock, RawIndex, Stamp, hash, parse, writes};

    /// A record of a log, and its writes.
    pub fn record(bytes: &[u8]) {
        for log in [0, 1] {
            if let Some((record, _)) = parse(bytes, log) {
                writes(record.payload).for_each(drop);
            }
        }
        writes(bytes).for_each(drop);
    }

    /// A block: looked up in, and walked in both directions.
    pub fn block(bytes: &[u8], key: &[u8]) {
        if let Ok(block) = RawBlock::new(bytes) {
            let _ = block.get(key, Stamp::newest_at(7));
        }
        let Ok(mut cursor) = BlockCursor::new(bytes) else { return };
        let mut steps = 0;
        let mut done = cursor.first();
        while done.is_ok() && cursor.record().is_some() && steps < 100 {
            done = cursor.next();
            steps += 1;
        }
        let mut done = cursor.last();
        while done.is_ok() && cursor.record().is_some() && steps < 200 {
            done = cursor.previous();
            steps += 1;
        }
        let _ = cursor.seek(key, Stamp::newest_at(7));
        let _ = cursor.seek_before(key, Stamp::newest_at(7));
    }

    /// An index.
    pub fn index(bytes: &[u8], key: &[u8]) {
        if let Ok(index) = RawIndex::new(bytes) {
            let found = index.find(key);
            assert!(found <= index.blocks());
            if found < index.blocks() {
                let (begin, end) = index.range(found);
                assert!(begin < end);
            }
        }
    }

    /// A filter.
    pub fn filter(bytes: &[u8], key: &[u8]) {
        if let Ok(filter) = Filter::new(bytes) {
            let _ = filter.may_hold(hash(key));
        }
    }

    /// An edit of the manifest.
    pub fn edit(bytes: &[u8]) {
        if let Ok(edit) = Edit::parse(bytes) {
            let mut written = Vec::new();
            edit.put(&mut written);
            assert_eq!(Edit::parse(&written), Ok(edit));
        }
    }
}
