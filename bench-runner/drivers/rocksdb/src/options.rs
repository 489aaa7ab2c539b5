//! What is RocksDB set to, and what stays as it comes? The reasons stand in `drivers/README.md`.

use plumbkv_bench_driver::protocol::{EngineOptions, EngineSetting, Profile, SyncMode};
use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, Options};

const MIB: usize = 1 << 20;
/// As PlumbKV's filters have them.
const FILTER_BITS: f64 = 10.0;

/// Options of a profile, and the settings that say so.
pub(crate) fn of(options: &EngineOptions) -> (Options, Vec<EngineSetting>) {
    let mut settings = Vec::new();
    let mut set = |key: &str, value: String| settings.push(EngineSetting { key: key.to_owned(), value });
    let (mut db, mut tables) = (Options::default(), BlockBasedOptions::default());
    db.create_if_missing(true);
    db.set_compression_type(DBCompressionType::Lz4);
    set("compression", "lz4".to_owned());
    let low_memory = options.profile == Profile::LowMemory;
    let buffer = MIB
        * match options.profile {
            Profile::Default => 32,
            Profile::LowMemory => 1,
            Profile::Throughput => 64,
        };
    db.set_write_buffer_size(buffer);
    set("write_buffer_size", buffer.to_string());
    if options.profile == Profile::Throughput {
        db.set_max_write_buffer_number(4);
        set("max_write_buffer_number", "4".to_owned());
    }
    if low_memory {
        // Its tuning guide: the first level as large as level 0 when it is merged, tables a fraction of that; else each of the small tables
        // of level 0 would be merged with 256 MiB.
        db.set_max_bytes_for_level_base(8 * MIB as u64);
        db.set_target_file_size_base(4 * MIB as u64);
        db.set_max_open_files(512);
        set("max_bytes_for_level_base", (8 * MIB).to_string());
        set("target_file_size_base", (4 * MIB).to_string());
        set("max_open_files", "512".to_owned());
    } else {
        tables.set_bloom_filter(FILTER_BITS, false);
        set("filter_policy", "bloom, 10 bits, on every level".to_owned());
    }
    // Index and filters are with the open tables and not in the cache, its default: they are what PlumbKV and fjall keep beside theirs.
    match options.cache_bytes.or(low_memory.then_some(0)) {
        Some(0) => {
            tables.disable_cache();
            set("no_block_cache", "true".to_owned());
        }
        Some(bytes) => {
            tables.set_block_cache(&Cache::new_lru_cache(usize::try_from(bytes).unwrap_or(usize::MAX)));
            set("block_cache", bytes.to_string());
        }
        None => {}
    }
    db.set_block_based_table_factory(&tables);
    if options.hold_merges {
        db.set_disable_auto_compactions(true);
        set("disable_auto_compactions", "true".to_owned());
    }
    match options.sync {
        SyncMode::Never => {}
        SyncMode::Interval => set("FlushWAL(sync)", "every second, by a thread of the driver".to_owned()),
        SyncMode::Always => set("WriteOptions.sync", "true".to_owned()),
    }
    (db, settings)
}
