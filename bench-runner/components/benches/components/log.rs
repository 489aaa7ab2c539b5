//! Appending a write to a log: handed to the system one at a time, or a thousand at once, as a batch or a group of writers is. Nothing is synced.
//!
//! A log begins anew when it holds so many entries, in the same file: a store uses the files of its logs again. lsm-tree has no log, and fjall's is not to be had without fjall.

use criterion::Criterion;
use plumbkv::parts::Wal;
use plumbkv_components::{Cost, Part, Prepared, SIZES, VALUE, shuffled};
use std::hint::black_box;
use std::path::Path;

struct Appending<'a> {
    folder: &'a Path,
    keys: &'a [[u8; 16]],
    /// Writes that go to the system together.
    group: usize,
    log: Option<Wal>,
    /// Logs that were begun.
    begun: u64,
    at: usize,
}

impl Prepared for Appending<'_> {
    fn run(&mut self, operations: usize) -> Cost {
        let mut cost = Cost::default();
        let mut left = operations;
        while left > 0 {
            if self.at == self.keys.len() || self.log.is_none() {
                self.at = 0;
                let path = self.folder.join("log");
                drop(self.log.take());
                self.begun += 1;
                let log = if path.exists() { Wal::reuse(&path, self.begun) } else { Wal::create(&path) };
                self.log = Some(log.expect("a log"));
            }
            let Some(log) = &mut self.log else { return cost };
            let upto = (self.at + left).min(self.keys.len());
            cost.of(|| {
                for at in self.at..upto {
                    log.append(black_box(&self.keys[at]), &VALUE);
                    if (at + 1) % self.group == 0 || at + 1 == upto {
                        log.hand_over().expect("written");
                    }
                }
            });
            left -= upto - self.at;
            self.at = upto;
        }
        cost
    }
}

pub(crate) fn append(c: &mut Criterion, home: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut part = Part::new(c, home, "lsm-log");
    for size in SIZES {
        let keys = shuffled(size);
        // The file goes between sizes, or the short log would begin in what a long one left.
        let _ = std::fs::remove_file(folder.path().join("log"));
        for (operation, group) in [("append", 1), ("append-in-thousands", 1_000)] {
            part.ours_prepared(
                operation,
                size,
                Appending { folder: folder.path(), keys: &keys, group, log: None, begun: 0, at: 0 },
            );
        }
    }
}
