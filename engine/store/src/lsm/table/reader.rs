//! How is a version found in a table? The filter may say no; else the index names the one block, which is in the cache or is read, and that is searched as it is.

use super::block::{Block, BlockCursor};
use super::cache::BlockCache;
use super::filter::Filter;
use super::footer::{FOOTER, Footer};
use super::frame;
use super::index::Index;
use crate::error::{Error, Result};
use crate::lsm::record::{Record, Stamp};
use crate::lsm::vfs::{ReadFile, Vfs, read_exact_at};
use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Space for a block as it lies in its file, and as it was before.
#[derive(Default)]
struct Space {
    framed: Vec<u8>,
    raw: Vec<u8>,
}

thread_local! {
    static SPACE: RefCell<Space> = RefCell::default();
}

/// Spaces above it are given back after use.
const KEPT: usize = 1 << 20;

/// A table that is there to be read.
pub(crate) struct Table {
    file: Arc<dyn ReadFile>,
    path: PathBuf,
    number: u64,
    footer: Footer,
    index: Index,
    filter: Option<Vec<u8>>,
    cache: Option<Arc<BlockCache>>,
    vfs: Arc<dyn Vfs>,
    is_needless: AtomicBool,
}

impl Table {
    /// Reads footer, index and filter.
    pub(crate) fn open(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        number: u64,
        cache: Option<Arc<BlockCache>>,
    ) -> Result<Self> {
        let failed = |error| Error::io(path, "open", &error);
        let file = vfs.open(path).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        let damaged = |offset, reason| Error::corrupt(path, offset, reason);
        let footer_at = len
            .checked_sub(FOOTER as u64)
            .ok_or_else(|| damaged(0, "this is shorter than a table can be"))?;
        let mut bytes = [0; FOOTER];
        read_exact_at(&*file, &mut bytes, footer_at).map_err(failed)?;
        let footer = Footer::parse(&bytes, number, len).map_err(|reason| damaged(footer_at, reason))?;
        let part = |at: u64, part_len: u64| -> Result<Vec<u8>> {
            let (mut framed, mut space) = (vec![0; part_len as usize], Vec::new());
            read_exact_at(&*file, &mut framed, at).map_err(failed)?;
            let raw = frame::open(&framed, number, &mut space).map_err(|reason| damaged(at, reason))?;
            Ok(raw.to_vec())
        };
        let filter_at = footer.blocks_len;
        let filter = if footer.filter_len > 0 { Some(part(filter_at, footer.filter_len)?) } else { None };
        if let Some(bytes) = &filter {
            Filter::new(bytes).map_err(|reason| damaged(filter_at, reason))?;
        }
        let index_at = filter_at + footer.filter_len;
        let index =
            Index::new(&part(index_at, footer.index_len)?).map_err(|reason| damaged(index_at, reason))?;
        if index.blocks() == 0 || index.range(index.blocks() - 1).1 != footer.blocks_len {
            return Err(damaged(index_at, "the index does not cover the blocks"));
        }
        let (path, vfs) = (path.to_owned(), Arc::clone(vfs));
        Ok(Self {
            file,
            path,
            number,
            footer,
            index,
            filter,
            cache,
            vfs,
            is_needless: AtomicBool::new(false),
        })
    }

    /// Removes the file once nobody reads it any more.
    pub(crate) fn remove_when_dropped(&self) {
        self.is_needless.store(true, Ordering::Relaxed);
    }

    /// Versions in it.
    pub(crate) fn versions(&self) -> u64 {
        self.footer.versions
    }

    /// Bytes of memory that it takes as long as it is open.
    pub(crate) fn resident_bytes(&self) -> usize {
        self.index.bytes() + self.filter.as_ref().map_or(0, Vec::len)
    }

    /// Hands the newest version of a key that is not newer than `stamp` to `f`. `hash` is the key's, for filters.
    #[inline]
    pub(crate) fn get<R>(
        &self,
        key: &[u8],
        hash: u64,
        stamp: Stamp,
        f: impl FnOnce(Stamp, &[u8]) -> R,
    ) -> Result<Option<R>> {
        if let Some(filter) = &self.filter
            && Filter::new(filter).is_ok_and(|filter| !filter.may_hold(hash))
        {
            return Ok(None);
        }
        let number = self.index.find(key);
        if number == self.index.blocks() {
            return Ok(None);
        }
        self.with_block(number, |block| Ok(block.get(key, stamp)?.map(|(stamp, value)| f(stamp, value))))
    }

    /// Hands a block to `f`, from the cache or from the file.
    fn with_block<R>(
        &self,
        number: usize,
        f: impl FnOnce(Block) -> std::result::Result<R, &'static str>,
    ) -> Result<R> {
        let damaged = |reason| self.damaged(number, reason);
        let Some(cache) = &self.cache else {
            return self.read(number, |raw| Block::new(raw).and_then(f).map_err(damaged))?;
        };
        let key = (self.number, number as u32);
        if let Some(block) = cache.get(key) {
            return Block::new(&block).and_then(f).map_err(damaged);
        }
        self.read(number, |raw| {
            // Not before it is read: one that would have to be waited for is asked for again.
            if cache.wants(key) {
                cache.insert(key, Arc::from(raw));
            }
            Block::new(raw).and_then(f).map_err(damaged)
        })?
    }

    /// Reads a block and hands its bytes to `f`, from space that the thread keeps.
    fn read<R>(&self, number: usize, f: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let (begin, end) = self.index.range(number);
        SPACE.with(|space| match space.try_borrow_mut() {
            Ok(mut space) => self.read_into(begin, end, &mut space, f),
            // Whoever reads this has been handed a block by this thread.
            Err(_) => self.read_into(begin, end, &mut Space::default(), f),
        })
    }

    fn read_into<R>(&self, begin: u64, end: u64, space: &mut Space, f: impl FnOnce(&[u8]) -> R) -> Result<R> {
        space.framed.resize((end - begin) as usize, 0);
        let done = read_exact_at(&*self.file, &mut space.framed, begin)
            .map_err(|error| match error.kind() {
                ErrorKind::WouldBlock => self.would_block(),
                _ => Error::io(&self.path, "read", &error),
            })
            .and_then(|()| {
                frame::open(&space.framed, self.number, &mut space.raw)
                    .map_err(|reason| Error::corrupt(&self.path, begin, reason))
            })
            .map(f);
        if space.framed.capacity() + space.raw.capacity() > KEPT {
            *space = Space::default();
        }
        done
    }

    /// A block of its own, for a cursor.
    fn block(&self, number: usize) -> Result<BlockCursor<Arc<[u8]>>> {
        let cached = self.cache.as_ref().and_then(|cache| cache.get((self.number, number as u32)));
        // Not put into the cache: a scan would push out what is read again.
        let block = cached.map_or_else(|| self.read(number, |raw| Arc::from(raw)), Ok)?;
        BlockCursor::new(block).map_err(|reason| self.damaged(number, reason))
    }

    #[cold]
    fn would_block(&self) -> Error {
        if let Some(cache) = &self.cache {
            cache.asked_again();
        }
        Error::WouldBlock
    }

    fn damaged(&self, block: usize, reason: &'static str) -> Error {
        Error::corrupt(&self.path, self.index.range(block).0, reason)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if *self.is_needless.get_mut() {
            // One that stays is removed when the store is opened.
            let _ = self.vfs.remove(&self.path);
        }
    }
}

/// A place in a table, or past its ends.
pub(crate) struct TableCursor {
    table: Arc<Table>,
    number: usize,
    block: Option<BlockCursor<Arc<[u8]>>>,
}

impl TableCursor {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(table: Arc<Table>) -> Self {
        Self { table, number: 0, block: None }
    }

    /// The version at the place.
    #[inline]
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        self.block.as_ref().and_then(BlockCursor::record)
    }

    /// Moves within a block; none, where there is none with this number.
    fn within(
        &mut self,
        number: Option<usize>,
        go: impl FnOnce(&mut BlockCursor<Arc<[u8]>>) -> std::result::Result<(), &'static str>,
    ) -> Result<()> {
        let Some(number) = number.filter(|number| *number < self.table.index.blocks()) else {
            self.block = None;
            return Ok(());
        };
        if self.number != number || self.block.is_none() {
            self.block = None;
            self.block = Some(self.table.block(number)?);
            self.number = number;
        }
        let Some(block) = &mut self.block else { return Ok(()) };
        let done = go(block);
        if done.is_err() {
            self.block = None;
        }
        done.map_err(|reason| self.table.damaged(number, reason))
    }

    /// Goes to the first version that does not stand before `(key, stamp)`.
    pub(crate) fn seek(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        let number = self.table.index.find(key);
        self.within(Some(number), |block| block.seek(key, stamp))?;
        self.go_on()
    }

    /// Goes to the last version that stands before `(key, stamp)`.
    pub(crate) fn seek_before(&mut self, key: &[u8], stamp: Stamp) -> Result<()> {
        let last = self.table.index.blocks() - 1;
        let number = self.table.index.find(key).min(last);
        self.within(Some(number), |block| block.seek_before(key, stamp))?;
        self.go_back()
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        self.within(Some(0), BlockCursor::first)
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        let last = self.table.index.blocks() - 1;
        self.within(Some(last), BlockCursor::last)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        let Some(block) = &mut self.block else { return Ok(()) };
        if let Err(reason) = block.next() {
            self.block = None;
            return Err(self.table.damaged(self.number, reason));
        }
        self.go_on()
    }

    pub(crate) fn previous(&mut self) -> Result<()> {
        if self.block.is_none() {
            return Ok(());
        }
        self.within(Some(self.number), BlockCursor::previous)?;
        self.go_back()
    }

    /// At the end of a block, the first version of the next one.
    #[inline]
    fn go_on(&mut self) -> Result<()> {
        if self.block.is_some() && self.record().is_none() {
            return self.within(Some(self.number + 1), BlockCursor::first);
        }
        Ok(())
    }

    /// Before the beginning of a block, the last version of the one before.
    fn go_back(&mut self) -> Result<()> {
        if self.block.is_some() && self.record().is_none() {
            return self.within(self.number.checked_sub(1), BlockCursor::last);
        }
        Ok(())
    }
}
