//! The options of a simulated store, drawn from the seed: as small as they can be, so that a few
//! hundred steps fill memtables, levels and manifests.

use crate::durable::{DurableOptions, Limits};
use crate::lsm::{Compression, Shape, SyncMode, Targets, TreeOptions};
use fastrand::Rng;
use std::path::PathBuf;
use std::time::Duration;

pub(super) struct Drawn {
    pub(super) tree: TreeOptions,
    pub(super) limits: Limits,
    /// The most steps of a phase.
    pub(super) steps: u32,
}

pub(super) fn one_of<T: Copy>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}

impl Drawn {
    pub(super) fn new(random: &mut Rng) -> Self {
        let memtable_bytes = one_of(random, &[900, 1_500, 3_000, 8_000, 30_000]);
        let level0_tables = random.usize(1..=4);
        let sync = match random.u32(..3) {
            0 => SyncMode::Always,
            1 => SyncMode::Interval(Duration::from_millis(one_of(random, &[1, 50, 1_000]))),
            _ => SyncMode::OnCall,
        };
        #[allow(unused_variables, reason = "all fields are drawn")]
        let like = DurableOptions::new(PathBuf::from("/")).tree_options().unwrap();
        #[allow(clippy::needless_update, reason = "as above")]
        let tree = TreeOptions {
            sync,
            memtable_bytes,
            frozen_memtables: random.usize(1..=3),
            cache_bytes: one_of(random, &[0, 600, 4_000, 40_000]),
            is_cache_shared: random.bool(),
            shape: Shape {
                block_bytes: one_of(random, &[64, 200, 1_000]),
                compression: match random.u32(..5) {
                    0..2 => Compression::None,
                    2..4 => Compression::Lz4,
                    _ => compressed(),
                },
                filter_bits_per_key: one_of(random, &[0, 3, 10]),
                piece_bytes: one_of(random, &[100, 1_000, 10_000]),
            },
            table_bytes: one_of(random, &[300, 1_000, 5_000]),
            targets: Targets {
                level0_tables,
                base_bytes: one_of(random, &[500, 2_000, 10_000]),
                multiplier: random.u64(2..=5),
            },
            level0_stop: level0_tables + random.usize(1..=6),
            merge_bytes_per_second: one_of(random, &[None, None, None, Some(100_000)]),
            queue_bytes: one_of(random, &[100, 1_000, 1 << 20]),
            pinned_bytes: one_of(random, &[memtable_bytes as u64, 5 * memtable_bytes as u64, u64::MAX]),
            merge_threads: one_of(random, &[1, 2, 2, 3]),
            debt_share: one_of(random, &[0, 5_000, u64::MAX]),
            filters_until: one_of(random, &[0, 2_000, u64::MAX]),
            debt_slow: one_of(random, &[2_000, 20_000, 1 << 20]),
            debt_stop: one_of(random, &[20_000, 60_000, 1 << 20]),
            open_tables: one_of(random, &[1, 2, 5, 1_000]),
            manifest_bytes: one_of(random, &[300, 1_000, 20_000]),
            replay_bytes: u64::MAX,
            is_read_only: false,
            has_workers: true,
            ..like
        };
        let budget = memtable_bytes as u64 * one_of(random, &[2, 4, 10]);
        Self {
            tree,
            // Nine of the longest entries fit.
            limits: Limits { budget, entry: budget / 4, batch: batch_limit(budget / 4) },
            steps: one_of(random, &[20, 60, 200]),
        }
    }
}

/// Bytes of the longest batch, where an entry has so many at most.
pub(super) fn batch_limit(entry: u64) -> u64 {
    10 * (entry + 200)
}

fn compressed() -> Compression {
    #[cfg(feature = "zstd")]
    return Compression::Zstd;
    #[cfg(not(feature = "zstd"))]
    Compression::Lz4
}
