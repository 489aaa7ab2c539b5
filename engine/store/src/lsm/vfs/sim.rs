//! A disk in memory that forgets what was not synced, as the worst disk that POSIX allows would.
//!
//! Each operation has a number. A [`Fault`] names one: it fails with an error, takes half of what it was given, or the power goes while
//! it is under way, after which every operation fails until [`SimDisk::restart`] has decided what survived:
//!
//! - Of a file: what was there at its last sync, and of later writes any 512-byte sectors, each on its own, in any order.
//! - Of a directory: the names at its last sync, and of later operations any, each on its own. A rename is whole or not at all. A directory is a name in the one
//!   above it, and takes what is in it along.

#[path = "sim_faults.rs"]
mod faults;
#[path = "sim_files.rs"]
mod files;

use crate::lsm::sync::pause;
use faults::{Faults, Kind};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use faults::{FaultCounts, FaultPlan};

/// What a disk writes whole or not at all.
const SECTOR: u64 = 512;

/// What goes wrong, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The operation fails with this and does nothing.
    Error(io::ErrorKind),
    /// A write takes half of its bytes; other operations succeed.
    Short,
    /// A sync of a directory fails with this, and no later one makes last what this one was to. Other operations succeed.
    NamesDropped(io::ErrorKind),
    /// The power goes: the operation may have happened or not, and the later ones fail.
    PowerCut,
}

/// What survives a power cut of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survival {
    Nothing,
    Everything,
    /// Each piece by a coin, thrown from this seed.
    Some(u64),
}

/// A handle to the disk; clones are the same disk.
#[derive(Clone)]
pub(crate) struct SimDisk(Arc<Mutex<State>>);

/// What a test does just before an operation, in the thread that makes it.
type Hook = Arc<dyn Fn() + Send + Sync>;

#[derive(Default, Clone)]
struct State {
    files: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    lasting_names: BTreeMap<PathBuf, usize>,
    unsynced_names: Vec<NameChange>,
    directories: BTreeSet<PathBuf>,
    lasting_directories: BTreeSet<PathBuf>,
    /// Every change of names there was, in words.
    history: Vec<String>,
    locked: BTreeSet<PathBuf>,
    /// How many readers have a directory.
    read_locked: BTreeMap<PathBuf, usize>,
    operations: u64,
    /// The operations that were writes.
    writes: Vec<u64>,
    /// Random numbers that were drawn.
    drawn: u64,
    fault: Option<(u64, Fault)>,
    hook: Option<(u64, Hook)>,
    faults: Option<Faults>,
    dead: bool,
    /// Handles of before a restart are dead.
    life: u64,
}

#[derive(Default, Clone)]
struct Inode {
    now: Vec<u8>,
    lasting: Vec<u8>,
    unsynced: Vec<Change>,
}

/// A write that is not synced.
#[derive(Clone)]
struct Change {
    offset: u64,
    bytes: Vec<u8>,
}

#[derive(Clone)]
enum NameChange {
    Put { path: PathBuf, file: usize },
    Remove { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf, file: usize },
}

impl NameChange {
    fn directory(&self) -> Option<&Path> {
        let (Self::Put { path, .. } | Self::Remove { path } | Self::Rename { to: path, .. }) = self;
        path.parent()
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Self::Put { path, file } => {
                names.insert(path.clone(), *file);
            }
            Self::Remove { path } => {
                names.remove(path);
            }
            Self::Rename { from, to, file } => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
        }
    }
}

impl NameChange {
    fn words(&self) -> String {
        match self {
            Self::Put { path, .. } => format!("put {}", path.display()),
            Self::Remove { path } => format!("remove {}", path.display()),
            Self::Rename { from, to, .. } => format!("rename {} {}", from.display(), to.display()),
        }
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        put(content, &self.bytes, self.offset);
    }

    /// The sectors that survive, each on its own.
    fn apply_some(&self, content: &mut Vec<u8>, mut survives: impl FnMut() -> bool) {
        let Self { offset, bytes } = self;
        let mut from = 0;
        while from < bytes.len() {
            let at = offset + from as u64;
            let to = bytes.len().min(from + (SECTOR - at % SECTOR) as usize);
            if survives() {
                put(content, &bytes[from..to], at);
            }
            from = to;
        }
    }
}

fn put(content: &mut Vec<u8>, bytes: &[u8], offset: u64) {
    let end = offset as usize + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset as usize..end].copy_from_slice(bytes);
}

impl SimDisk {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Another disk that holds the same.
    pub(crate) fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().clone())))
    }

    /// Makes a directory that lasts; it counts as no operation.
    pub(crate) fn make_dir(&self, path: &Path) {
        let mut state = self.0.lock();
        state.directories.insert(path.to_owned());
        state.lasting_directories.insert(path.to_owned());
    }

    /// The changes of names there were: "put a", "remove a", "rename a b".
    pub(crate) fn history(&self) -> Vec<String> {
        self.0.lock().history.clone()
    }

    /// The names of all files.
    #[cfg(shuttle)]
    pub(crate) fn names(&self) -> Vec<PathBuf> {
        self.0.lock().names.keys().cloned().collect()
    }

    /// How many changes of names there were.
    pub(crate) fn name_changes(&self) -> usize {
        self.0.lock().history.len()
    }

    /// How many operations there were.
    pub(crate) fn operations(&self) -> u64 {
        self.0.lock().operations
    }

    /// The operations that wrote bytes.
    pub(crate) fn writes(&self) -> Vec<u64> {
        self.0.lock().writes.clone()
    }

    /// Lets the operation with this number, counted from 0 on, go wrong.
    pub(crate) fn fail(&self, operation: u64, fault: Fault) {
        self.0.lock().fault = Some((operation, fault));
    }

    /// Just before the operation with this number, its thread runs the hook, which may wait or panic. Once.
    #[cfg(not(shuttle))]
    pub(crate) fn before(&self, operation: u64, hook: impl Fn() + Send + Sync + 'static) {
        self.0.lock().hook = Some((operation, Arc::new(hook)));
    }

    /// The power comes back. What was not synced survives as said; earlier handles are dead, locks are gone, no fault is left.
    pub(crate) fn restart(&self, survival: Survival) {
        let mut state = self.0.lock();
        let mut random = fastrand::Rng::with_seed(if let Survival::Some(seed) = survival { seed } else { 0 });
        let mut survives = || match survival {
            Survival::Nothing => false,
            Survival::Everything => true,
            Survival::Some(_) => random.bool(),
        };
        for file in &mut state.files {
            for change in std::mem::take(&mut file.unsynced) {
                change.apply_some(&mut file.lasting, &mut survives);
            }
            file.now = file.lasting.clone();
        }
        for change in std::mem::take(&mut state.unsynced_names) {
            if survives() {
                change.apply(&mut state.lasting_names);
            }
        }
        let State { directories, lasting_directories, lasting_names, .. } = &mut *state;
        directories.retain(|path| lasting_directories.contains(path) || survives());
        // What is in a directory goes with it.
        while let Some(gone) = directories.iter().find(|path| {
            path.parent().is_some_and(|parent| parent != Path::new("/") && !directories.contains(parent))
        }) {
            let gone = gone.clone();
            directories.remove(&gone);
        }
        lasting_directories.clone_from(directories);
        lasting_names.retain(|path, _| path.parent().is_some_and(|parent| directories.contains(parent)));
        state.names = state.lasting_names.clone();
        state.locked.clear();
        state.read_locked.clear();
        state.fault = None;
        if let Some(faults) = &mut state.faults {
            *faults = Faults::new(FaultPlan::default(), faults.counts);
        }
        state.dead = false;
        state.life += 1;
    }

    /// Flips bits of a file, for good.
    pub(crate) fn flip(&self, path: &Path, offset: usize, mask: u8) {
        let mut state = self.0.lock();
        let file = state.names[path];
        let file = &mut state.files[file];
        file.now[offset] ^= mask;
        file.lasting = file.now.clone();
        file.unsynced.clear();
    }

    /// Cuts a file off, for good.
    pub(crate) fn truncate(&self, path: &Path, len: usize) {
        let mut state = self.0.lock();
        let file = state.names[path];
        let file = &mut state.files[file];
        file.now.truncate(len);
        file.lasting = file.now.clone();
        file.unsynced.clear();
    }

    /// All files and their bytes.
    pub(crate) fn content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.0.lock();
        state.names.iter().map(|(path, file)| (path.clone(), state.files[*file].now.clone())).collect()
    }

    /// From now on these faults strike at random; those before are over.
    pub(crate) fn set_faults(&self, plan: FaultPlan) {
        let mut state = self.0.lock();
        let counts = state.faults.as_ref().map(|faults| faults.counts).unwrap_or_default();
        state.faults = Some(Faults::new(plan, counts));
    }

    pub(crate) fn fault_counts(&self) -> FaultCounts {
        self.0.lock().faults.as_ref().map(|faults| faults.counts).unwrap_or_default()
    }

    /// The power goes now.
    pub(crate) fn cut(&self) {
        self.0.lock().dead = true;
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.0.lock().dead
    }

    /// Bytes of all files.
    pub(crate) fn used(&self) -> u64 {
        self.0.lock().used()
    }

    fn enter(&self) -> MutexGuard<'_, State> {
        pause();
        let mut state = self.0.lock();
        let now = state.operations;
        let Some((_, hook)) = state.hook.take_if(|(at, _)| *at == now) else { return state };
        drop(state);
        hook();
        self.0.lock()
    }
}

/// What is to become of an operation.
enum Course {
    Whole,
    Short,
    /// It happens, perhaps, and the power is gone.
    Last,
}

impl State {
    /// Counts an operation and says whether it goes well.
    fn begin(&mut self, kind: Kind) -> io::Result<Course> {
        if self.dead {
            return Err(io::Error::other("no power"));
        }
        let number = self.operations;
        self.operations += 1;
        if kind == Kind::Write {
            self.writes.push(number);
        }
        match self.fault {
            Some((at, fault)) if at == number => match fault {
                Fault::Error(kind) => Err(kind.into()),
                Fault::Short => Ok(Course::Short),
                Fault::NamesDropped(_) => Ok(Course::Whole),
                Fault::PowerCut => {
                    self.dead = true;
                    Ok(Course::Last)
                }
            },
            _ => match &mut self.faults {
                Some(faults) => faults.look(kind).map(|()| Course::Whole),
                None => Ok(Course::Whole),
            },
        }
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.history.push(change.words());
        self.unsynced_names.push(change);
    }

    fn make(&mut self, path: &Path) -> io::Result<usize> {
        if self.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.has_directory(path)?;
        self.files.push(Inode::default());
        let file = self.files.len() - 1;
        self.change_names(NameChange::Put { path: path.to_owned(), file });
        Ok(file)
    }

    fn has_directory(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if self.directories.contains(parent) => Ok(()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Course {
    /// The operation is done; but was it, if the power went?
    fn end<T>(self, done: T) -> io::Result<T> {
        match self {
            Self::Whole | Self::Short => Ok(done),
            Self::Last => Err(io::Error::other("the power went")),
        }
    }
}
