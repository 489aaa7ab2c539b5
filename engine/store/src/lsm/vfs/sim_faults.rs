//! Random faults of the simulated disk, drawn from a seed: errors that pass and errors that last, a disk
//! that is full, syncs that fail and drop what they were to write, writes that are cut short, lost or
//! misdirected, and reads of another sector.

use super::{Change, Course, Inode, SECTOR, State};
use std::io;

/// Rates are one in so many operations of the kind; 0 is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FaultPlan {
    pub(crate) seed: u64,
    /// Operations that fail and do nothing.
    pub(crate) errors: u32,
    /// Operations from which on all of a kind fail until the plan is replaced.
    pub(crate) lasting: u32,
    /// Writes that take a part of their bytes.
    pub(crate) short: u32,
    /// Syncs that fail, after which the bytes are not written by any later sync.
    pub(crate) dropped_syncs: u32,
    /// Writes of which a sector never reaches the device, which says nothing.
    pub(crate) lost: u32,
    /// Writes of which a sector reaches another place, of this or another file.
    pub(crate) misdirected: u32,
    /// Reads that return another sector.
    pub(crate) misread: u32,
    /// Bytes of all files, beyond which the disk is full.
    pub(crate) capacity: Option<u64>,
}

/// How often each fault struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FaultCounts {
    pub(crate) errors: u64,
    pub(crate) lasting: u64,
    pub(crate) short: u64,
    pub(crate) dropped_syncs: u64,
    pub(crate) lost: u64,
    pub(crate) misdirected: u64,
    pub(crate) misread: u64,
    pub(crate) full: u64,
}

/// What an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Sync,
    Names,
}

/// A plan under way.
#[derive(Clone)]
pub(super) struct Faults {
    plan: FaultPlan,
    random: fastrand::Rng,
    /// What fails from now on.
    broken: Option<Broken>,
    pub(super) counts: FaultCounts,
}

#[derive(Clone, Copy)]
enum Broken {
    /// All that changes the disk.
    Changes,
    Syncs,
    Everything,
}

impl Faults {
    pub(super) fn new(plan: FaultPlan, counts: FaultCounts) -> Self {
        Self { plan, random: fastrand::Rng::with_seed(plan.seed), broken: None, counts }
    }

    fn strikes(&mut self, one_in: u32) -> bool {
        one_in > 0 && self.random.u32(..one_in) == 0
    }

    /// An error where the operation is to fail.
    pub(super) fn look(&mut self, kind: Kind) -> io::Result<()> {
        if self.broken.is_none() && self.strikes(self.plan.lasting) {
            let all = [Broken::Changes, Broken::Changes, Broken::Syncs, Broken::Everything];
            self.broken = self.random.choice(all);
        }
        let is_broken = match self.broken {
            None => false,
            Some(Broken::Changes) => kind != Kind::Read,
            Some(Broken::Syncs) => kind == Kind::Sync,
            Some(Broken::Everything) => true,
        };
        if is_broken {
            self.counts.lasting += 1;
            return Err(io::Error::other("the device is broken"));
        }
        if self.strikes(self.plan.errors) {
            self.counts.errors += 1;
            return Err(io::Error::other("the device failed once"));
        }
        Ok(())
    }
}

impl State {
    pub(super) fn used(&self) -> u64 {
        self.names.values().map(|file| self.files[*file].now.len() as u64).sum()
    }

    /// How many bytes of a write are taken. An error where the disk is full.
    pub(super) fn taken(
        &mut self,
        file: usize,
        bytes: usize,
        offset: u64,
        course: &Course,
    ) -> io::Result<usize> {
        let mut taken = if matches!(course, Course::Short) { bytes.div_ceil(2) } else { bytes };
        let room = self.faults.as_ref().and_then(|faults| faults.plan.capacity).map(|capacity| {
            // Bytes inside the file have their blocks.
            let end = self.files[file].now.len() as u64;
            end.saturating_sub(offset) + capacity.saturating_sub(self.used())
        });
        let Some(faults) = &mut self.faults else { return Ok(taken) };
        if let Some(room) = room
            && room < taken as u64
        {
            faults.counts.full += 1;
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            taken = room as usize;
        }
        if taken > 1 && faults.strikes(faults.plan.short) {
            faults.counts.short += 1;
            taken = faults.random.usize(1..taken);
        }
        Ok(taken)
    }

    /// Writes, or does so badly.
    pub(super) fn write(&mut self, file: usize, change: Change) {
        if let Some(faults) = &mut self.faults {
            let end = (change.offset + change.bytes.len() as u64).div_ceil(SECTOR);
            let begin = change.offset / SECTOR;
            let at = faults.random.u64(begin..end.max(begin + 1));
            let is_lost = faults.strikes(faults.plan.lost);
            if is_lost || faults.strikes(faults.plan.misdirected) {
                let (other, to) = (faults.random.usize(..), faults.random.u64(..));
                if is_lost {
                    faults.counts.lost += 1;
                } else {
                    faults.counts.misdirected += 1;
                }
                return self.write_badly(file, &change, at, (!is_lost).then_some((other, to)));
            }
        }
        let inode = &mut self.files[file];
        change.apply(&mut inode.now);
        inode.unsynced.push(change);
    }

    /// Writes all but one sector, which reaches another place or none.
    fn write_badly(&mut self, file: usize, change: &Change, sector: u64, misdirected: Option<(usize, u64)>) {
        let (begin, end) = (sector * SECTOR, (sector + 1) * SECTOR);
        let piece = |from: u64, to: u64| {
            let from = from.clamp(change.offset, change.offset + change.bytes.len() as u64);
            let to = to.clamp(from, change.offset + change.bytes.len() as u64);
            let bytes = &change.bytes[(from - change.offset) as usize..(to - change.offset) as usize];
            Change { offset: from, bytes: bytes.to_vec() }
        };
        for change in [piece(0, begin), piece(end, u64::MAX)] {
            self.files[file].put(change);
        }
        let lost = piece(begin, end);
        // The file is as long as it would be.
        let len = (change.offset as usize + change.bytes.len()).max(self.files[file].now.len());
        self.files[file].now.resize(len, 0);
        if let Some((other, to)) = misdirected {
            let files: Vec<usize> =
                self.names.values().copied().filter(|file| !self.files[*file].now.is_empty()).collect();
            let Some(other) = files.get(other % files.len().max(1)) else { return };
            let inode = &mut self.files[*other];
            let offset = to % (inode.now.len() as u64).div_ceil(SECTOR) * SECTOR;
            let bytes = lost.bytes.into_iter().take((inode.now.len() as u64 - offset) as usize).collect();
            inode.put(Change { offset, bytes });
        }
    }

    /// Reads, perhaps another sector.
    pub(super) fn read(&mut self, file: usize, buffer: &mut [u8], offset: u64) -> usize {
        let inode = &self.files[file];
        let rest = inode.now.get(offset as usize..).unwrap_or(&[]);
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        if let Some(faults) = &mut self.faults
            && count > 0
            && faults.strikes(faults.plan.misread)
        {
            faults.counts.misread += 1;
            let at = faults.random.usize(..count);
            let from = faults.random.usize(..inode.now.len());
            let len = (SECTOR as usize).min(count - at).min(inode.now.len() - from);
            buffer[at..at + len].copy_from_slice(&inode.now[from..from + len]);
        }
        count
    }

    /// Whether a sync fails and drops what it was to write; then that is done.
    pub(super) fn drops_sync(&mut self, file: usize) -> bool {
        let Some(faults) = &mut self.faults else { return false };
        if !faults.strikes(faults.plan.dropped_syncs) {
            return false;
        }
        faults.counts.dropped_syncs += 1;
        let is_evicted = faults.random.bool();
        let inode = &mut self.files[file];
        inode.unsynced.clear();
        // What readers see is the page cache's, until it is evicted.
        if is_evicted {
            inode.now.clone_from(&inode.lasting);
        }
        true
    }
}

impl Inode {
    fn put(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.unsynced.push(change);
    }
}
