//! How is a version found in a table? The filter may say no; else the index names the one block, which is in the cache or is read, and that is searched as it is.

use super::block::{Block, Damage};
use super::cache::BlockCache;
use super::files::{TableFile, TableFiles};
use super::filter::Filter;
use super::footer::{FOOTER, Footer};
use super::frame;
use super::index::Index;
use super::page_cache::PageCache;
use crate::error::{Error, Result};
use crate::lsm::buffer::Buffer;
use crate::lsm::record::Stamp;
use crate::lsm::vfs::{Home, ReadFile, Vfs, read_exact_at, read_exact_once_at};
use crate::nonblocking::NonBlocking;
use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// Space for a block as it lies in its file, and as it was before.
#[derive(Default)]
struct Space {
    framed: Buffer,
    raw: Buffer,
}

thread_local! {
    static SPACE: RefCell<Space> = RefCell::default();
}

/// Spaces above it are given back after use.
const KEPT: usize = 1 << 20;

/// What a table has beside its blocks: filter or index.
struct Part<'a> {
    file: &'a dyn ReadFile,
    path: &'a Path,
    /// The table's.
    number: u64,
    at: u64,
    len: u64,
}

impl Part<'_> {
    /// What `parse` makes of its bytes.
    fn read<T>(&self, parse: impl FnOnce(&[u8]) -> std::result::Result<T, Damage>) -> Result<T> {
        let (mut framed, mut space) = (vec![0; self.len as usize], Buffer::new());
        read_exact_at(self.file, &mut framed, self.at)
            .map_err(|error| Error::io(self.path, "open", &error))?;
        let raw = frame::open(&framed, self.number, &mut space);
        raw.and_then(parse).map_err(|reason| Error::corrupt(self.path, self.at, reason))
    }
}

/// A table that is there to be read.
pub(crate) struct Table {
    file: Arc<TableFile>,
    number: u64,
    footer: Footer,
    pub(super) index: Index,
    pub(super) filter: Option<Filter>,
    cache: Option<Arc<BlockCache>>,
    pages: Option<Arc<PageCache>>,
}

impl Table {
    /// Reads footer, index and filter.
    pub(crate) fn open(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        number: u64,
        cache: Option<Arc<BlockCache>>,
    ) -> Result<Self> {
        Self::open_in(vfs, path, number, cache, TableFiles::new(1))?.with_filter()
    }

    /// Reads footer and index, not yet the filter, and shares the limit of open files with other tables.
    pub(crate) fn open_in(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        number: u64,
        cache: Option<Arc<BlockCache>>,
        files: Arc<TableFiles>,
    ) -> Result<Self> {
        let failed = |error| Error::io(path, "open", &error);
        let file = TableFile::open(vfs, path, files).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        let damaged = |offset, reason| Error::corrupt(path, offset, reason);
        let footer_at = len
            .checked_sub(FOOTER as u64)
            .ok_or_else(|| damaged(0, "this is shorter than a table can be"))?;
        let mut bytes = [0; FOOTER];
        read_exact_at(&file, &mut bytes, footer_at).map_err(failed)?;
        let footer = Footer::parse(&bytes, number, len).map_err(|reason| damaged(footer_at, reason))?;
        let index_at = footer.blocks_len + footer.filter_len;
        let part = Part { file: &file, path, number, at: index_at, len: footer.index_len };
        let index = part.read(Index::new)?;
        if index.blocks() == 0 || index.range(index.blocks() - 1).1 != footer.blocks_len {
            return Err(damaged(index_at, "the index does not cover the blocks"));
        }
        Ok(Self { file: Arc::new(file), number, footer, index, filter: None, cache, pages: None })
    }

    /// The same table without its filter, and the bytes of memory that this saves; `None` where it has none.
    pub(crate) fn without_filter(&self) -> Option<(Self, u64)> {
        let saved = self.filter.as_ref()?.bytes() as u64;
        let table = Self {
            file: Arc::clone(&self.file),
            number: self.number,
            footer: self.footer,
            index: self.index.clone(),
            filter: None,
            cache: self.cache.clone(),
            pages: self.pages.clone(),
        };
        Some((table, saved))
    }

    /// Bytes of memory that its filter would take, which is in the file only; 0 where there is none.
    pub(crate) fn unread_filter_bytes(&self) -> u64 {
        if self.filter.is_some() { 0 } else { self.footer.filter_len }
    }

    /// Reads the filter, if its file has one.
    pub(crate) fn read_filter(&mut self) -> Result<()> {
        let (at, len) = (self.footer.blocks_len, self.footer.filter_len);
        let part = Part { file: &*self.file, path: self.file.path(), number: self.number, at, len };
        self.filter = (len > 0).then(|| part.read(Filter::new)).transpose()?;
        Ok(())
    }

    /// With the filter, if its file has one.
    pub(crate) fn with_filter(mut self) -> Result<Self> {
        self.read_filter()?;
        Ok(self)
    }

    /// Asks before a block is read whether that is to leave a copy; without this, each does.
    pub(crate) fn asking(mut self, pages: &Arc<PageCache>) -> Self {
        self.pages = Some(Arc::clone(pages));
        self
    }

    /// May remove its file from this directory; without this, none does.
    pub(crate) fn owned_by(mut self, home: &Arc<Home>) -> Self {
        if let Some(file) = Arc::get_mut(&mut self.file) {
            file.set_home(Arc::clone(home));
        }
        self
    }

    /// Removes the file once the last reader has dropped the table, if the store is open then.
    pub(crate) fn remove_when_dropped(&self) {
        self.file.remove_when_dropped();
    }

    /// Versions in it.
    pub(crate) fn versions(&self) -> u64 {
        self.footer.versions
    }

    /// Bytes of memory that it takes as long as it is open.
    pub(crate) fn resident_bytes(&self) -> usize {
        self.index.bytes() + self.filter.as_ref().map_or(0, Filter::bytes)
    }

    /// Asks for the line of memory that [`may_hold`](Self::may_hold) needs.
    #[inline]
    pub(crate) fn prefetch_filter(&self, hash: u64) {
        if let Some(filter) = &self.filter {
            filter.prefetch(hash);
        }
    }

    /// Whether a key with this hash may be in the table, as far as the filter knows.
    #[inline]
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.may_hold(hash))
    }

    /// Hands the newest version of a key that is not newer than `stamp` to `f`. `hash` is the key's, for filters.
    #[cfg(any(test, feature = "parts"))]
    pub(crate) fn get<R>(
        &self,
        key: &[u8],
        hash: u64,
        stamp: Stamp,
        f: impl FnOnce(Stamp, &[u8]) -> R,
    ) -> Result<Option<R>> {
        if self.may_hold(hash) { self.find(key, stamp, f) } else { Ok(None) }
    }

    /// The same, without a look at the filter.
    #[inline]
    pub(crate) fn find<R>(
        &self,
        key: &[u8],
        stamp: Stamp,
        f: impl FnOnce(Stamp, &[u8]) -> R,
    ) -> Result<Option<R>> {
        let number = self.index.find(key);
        if number == self.index.blocks() {
            return Ok(None);
        }
        self.with_block(number, |block| Ok(block.get(key, stamp)?.map(|(stamp, value)| f(stamp, value))))
    }

    /// Hands a block to `f`, from the cache or from the file.
    pub(super) fn with_block<R>(
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
            let done = Block::new(&block).and_then(f).map_err(damaged);
            cache.count(true);
            return done;
        }
        cache.count(false);
        self.read(number, |raw| {
            // Not before it is read: one that would have to be waited for is asked for again.
            if cache.wants(key) {
                cache.insert(key, raw);
            }
            Block::new(raw).and_then(f).map_err(damaged)
        })?
    }

    /// Reads a block and hands its bytes to `f`, from space that the thread keeps.
    fn read<R>(&self, number: usize, f: impl FnOnce(&[u8]) -> R) -> Result<R> {
        SPACE.with(|space| match space.try_borrow_mut() {
            Ok(mut space) => self.read_into(number, &mut space, f),
            // Whoever reads this has been handed a block by this thread.
            Err(_) => self.read_into(number, &mut Space::default(), f),
        })
    }

    fn read_into<R>(&self, number: usize, space: &mut Space, f: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let (begin, end) = self.index.range(number);
        space.framed.set_len((end - begin) as usize);
        let key = (self.number, number as u32);
        // Who does not wait reads nothing from the device, and has not asked for a block yet.
        let leaves_a_copy = NonBlocking::is_on() || self.pages.as_ref().is_none_or(|pages| pages.takes(key));
        let read = if leaves_a_copy { read_exact_at } else { read_exact_once_at };
        let done = read(&*self.file, &mut space.framed, begin)
            .map_err(|error| self.read_failed(&error))
            .and_then(|()| {
                frame::open(&space.framed, self.number, &mut space.raw)
                    .map_err(|reason| Error::corrupt(self.file.path(), begin, reason))
            })
            .map(f);
        if space.framed.capacity() + space.raw.capacity() > KEPT {
            *space = Space::default();
        }
        done
    }

    /// The blocks, by number.
    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// Copies a block to `raw` if it is in the cache.
    pub(super) fn copy_cached(&self, number: usize, raw: &mut Buffer) -> bool {
        let Some(cache) = &self.cache else { return false };
        let found = cache.get((self.number, number as u32)).map(|block| {
            raw.clear();
            raw.extend_from_slice(&block);
        });
        cache.count(found.is_some());
        found.is_some()
    }

    /// Reads the bytes from one place of the file to another, blocks as they lie there.
    pub(super) fn read_framed(&self, begin: u64, end: u64, framed: &mut Buffer) -> Result<()> {
        framed.set_len((end - begin) as usize);
        read_exact_at(&*self.file, framed, begin).map_err(|error| self.read_failed(&error))
    }

    fn read_failed(&self, error: &std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::WouldBlock => self.would_block(),
            _ => Error::io(self.file.path(), "read", error),
        }
    }

    /// Takes a block that was read out of its frame.
    pub(super) fn unframe(&self, framed: &[u8], begin: u64, raw: &mut Buffer) -> Result<()> {
        let opened = frame::open_into(framed, self.number, raw);
        opened.map_err(|reason| Error::corrupt(self.file.path(), begin, reason))
    }

    /// The same for a block that is long: one that was not compressed stays where it is.
    pub(super) fn unframe_long(&self, framed: Buffer, begin: u64) -> Result<Buffer> {
        let opened = frame::open_whole(framed, self.number);
        opened.map_err(|reason| Error::corrupt(self.file.path(), begin, reason))
    }

    #[cold]
    fn would_block(&self) -> Error {
        if let Some(cache) = &self.cache {
            cache.asked_again();
        }
        Error::WouldBlock
    }

    pub(super) fn damaged(&self, block: usize, reason: &'static str) -> Error {
        Error::corrupt(self.file.path(), self.index.range(block).0, reason)
    }
}
