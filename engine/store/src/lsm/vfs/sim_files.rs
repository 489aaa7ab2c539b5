//! The simulated disk as a file system: the calls on names and directories, the files that are open, and the
//! lock of a directory.

use super::{Change, Course, Fault, Inode, Kind, NameChange, SimDisk, State};
use crate::lsm::vfs::{Locked, ReadFile, SyncFile, Vfs, WriteFile, names_unknown};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl SimDisk {
    fn handle(&self, file: usize) -> Handle {
        Handle { disk: self.clone(), file, life: self.0.lock().life }
    }
}

impl Vfs for SimDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.enter();
        let course = state.begin(Kind::Names)?;
        if path.parent() != Some(Path::new("/")) {
            state.has_directory(path)?;
        }
        state.directories.insert(path.to_owned());
        course.end(())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.enter();
        let course = state.begin(Kind::Names)?;
        let file = state.make(path)?;
        drop(state);
        course.end(Box::new(self.handle(file)))
    }

    fn reuse(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.enter();
        let course = state.begin(Kind::Names)?;
        let file = state.find(path)?;
        drop(state);
        course.end(Box::new(self.handle(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        let mut state = self.enter();
        let course = state.begin(Kind::Read)?;
        let file = state.find(path)?;
        drop(state);
        course.end(Arc::new(self.handle(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.enter();
        let course = state.begin(Kind::Names)?;
        let file = state.find(from)?;
        state.has_directory(to)?;
        state.change_names(NameChange::Rename { from: from.to_owned(), to: to.to_owned(), file });
        course.end(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.enter();
        let course = state.begin(Kind::Names)?;
        let file = state.find(from)?;
        state.has_directory(to)?;
        if state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.change_names(NameChange::Put { path: to.to_owned(), file });
        course.end(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.enter();
        let course = state.begin(Kind::Names)?;
        state.find(path)?;
        state.change_names(NameChange::Remove { path: path.to_owned() });
        course.end(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut state = self.enter();
        let course = state.begin(Kind::Read)?;
        let inside = state.names.keys().filter(|name| name.parent() == Some(path));
        let names =
            inside.filter_map(|name| Some(name.file_name()?.to_str()?.to_owned())).collect::<Vec<_>>();
        course.end(names)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.enter();
        let dropped = match state.fault {
            Some((at, Fault::NamesDropped(kind))) if at == state.operations => Some(kind),
            _ => None,
        };
        // A sync during which the power goes may have done nothing.
        state.begin(Kind::Sync).map_err(names_unknown)?.end(())?;
        if let Some(kind) = dropped {
            state.unsynced_names.retain(|change| change.directory() != Some(path));
            return Err(names_unknown(kind.into()));
        }
        let (synced, rest) = std::mem::take(&mut state.unsynced_names)
            .into_iter()
            .partition::<Vec<_>, _>(|change| change.directory() == Some(path));
        synced.iter().for_each(|change| change.apply(&mut state.lasting_names));
        state.unsynced_names = rest;
        let State { directories, lasting_directories, .. } = &mut *state;
        lasting_directories
            .extend(directories.iter().filter(|inside| inside.parent() == Some(path)).cloned());
        Ok(())
    }

    /// No operation. The same of each disk, so that a run can be repeated.
    fn random(&self) -> io::Result<u64> {
        let mut state = self.0.lock();
        state.drawn += 1;
        Ok(fastrand::Rng::with_seed(state.drawn).u64(..))
    }

    fn lock(&self, directory: &Path) -> io::Result<Box<dyn Locked>> {
        let mut state = self.enter();
        let course = state.begin(Kind::Names)?;
        let file = directory.join("LOCK");
        if !state.names.contains_key(&file) {
            state.make(&file)?;
        }
        if state.read_locked.contains_key(directory) || !state.locked.insert(directory.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let life = state.life;
        drop(state);
        let directory = directory.to_owned();
        course.end(Box::new(Lock { disk: self.clone(), directory, life, is_shared: false }))
    }

    fn lock_shared(&self, directory: &Path) -> io::Result<Box<dyn Locked>> {
        let mut state = self.enter();
        let course = state.begin(Kind::Read)?;
        if state.locked.contains(directory) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        *state.read_locked.entry(directory.to_owned()).or_default() += 1;
        let life = state.life;
        drop(state);
        let directory = directory.to_owned();
        course.end(Box::new(Lock { disk: self.clone(), directory, life, is_shared: true }))
    }
}

struct Handle {
    disk: SimDisk,
    file: usize,
    life: u64,
}

impl Handle {
    fn with<T>(
        &self,
        kind: Kind,
        f: impl FnOnce(&mut State, usize, &Course) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.disk.enter();
        if state.life != self.life {
            return Err(io::Error::other("a handle of before the power cut"));
        }
        let course = state.begin(kind)?;
        let done = f(&mut state, self.file, &course)?;
        course.end(done)
    }
}

impl WriteFile for Handle {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.with(Kind::Write, |state, file, course| {
            let taken = state.taken(file, bytes.len(), offset, course)?;
            state.write(file, Change { offset, bytes: bytes[..taken].to_vec() });
            Ok(taken)
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        SyncFile::sync(self)
    }

    /// No operation: what is put through a mapping is written, and counts there.
    fn map(&mut self, offset: u64, len: usize) -> bool {
        self.disk.0.lock().files[self.file].now.len() as u64 >= offset + len as u64
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(Self { disk: self.disk.clone(), file: self.file, life: self.life }))
    }
}

impl SyncFile for Handle {
    fn sync(&self) -> io::Result<()> {
        self.with(Kind::Sync, |state, file, course| {
            if state.drops_sync(file) {
                return Err(io::Error::other("the device failed, and the pages are dropped"));
            }
            if !matches!(course, Course::Last) {
                let Inode { lasting, unsynced, .. } = &mut state.files[file];
                unsynced.drain(..).for_each(|change| change.apply(lasting));
            }
            Ok(())
        })
    }
}

impl ReadFile for Handle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(Kind::Read, |state, file, _| Ok(state.read(file, buffer, offset)))
    }

    fn len(&self) -> io::Result<u64> {
        self.with(Kind::Read, |state, file, _| Ok(state.files[file].now.len() as u64))
    }
}

struct Lock {
    disk: SimDisk,
    directory: PathBuf,
    life: u64,
    is_shared: bool,
}

impl Locked for Lock {
    fn remove(&self, name: &str) -> io::Result<()> {
        assert!(!self.is_shared, "a reader removes {name}");
        if self.disk.0.lock().life != self.life {
            return Err(io::Error::other("a lock of before the power cut"));
        }
        self.disk.remove(&self.directory.join(name))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadFile>> {
        if self.disk.0.lock().life != self.life {
            return Err(io::Error::other("a lock of before the power cut"));
        }
        Vfs::open(&self.disk, &self.directory.join(name))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut state = self.disk.0.lock();
        if state.life != self.life {
            return;
        }
        if !self.is_shared {
            state.locked.remove(&self.directory);
            return;
        }
        if let Some(readers) = state.read_locked.get_mut(&self.directory) {
            *readers -= 1;
            if *readers == 0 {
                state.read_locked.remove(&self.directory);
            }
        }
    }
}
