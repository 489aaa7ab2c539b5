//! Does the driver do every phase, in every mode and profile, and tell what RocksDB tells?

use super::*;
use plumbkv_bench_driver::conformance;
use plumbkv_bench_driver::protocol::Profile;

fn options(folder: &tempfile::TempDir, cache_bytes: Option<u64>, sync: SyncMode) -> EngineOptions {
    EngineOptions::new(folder.path().to_str().unwrap(), cache_bytes, sync)
}

#[test]
fn every_record_is_read_back_in_every_way() {
    use Profile::{Default, LowMemory, Throughput};
    for (sync, cache_bytes, profile) in [
        (SyncMode::Never, None, Default),
        (SyncMode::Interval, Some(0), LowMemory),
        (SyncMode::Always, Some(1 << 20), Throughput),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = EngineOptions { profile, ..options(&folder, cache_bytes, sync) };
        assert_eq!(conformance::<RocksDb>(&options).unwrap(), [""; 0], "{options:?}");
    }
}

#[test]
fn the_version_is_that_of_the_engine() {
    let version = RocksDb::version();
    assert!(
        version.split('.').count() == 3 && version.split('.').all(|part| part.parse::<u32>().is_ok()),
        "{version}"
    );
}

#[test]
fn tables_stay_as_they_are_while_merges_are_held_and_then_become_one_level() {
    let folder = tempfile::tempdir().unwrap();
    let options = EngineOptions { hold_merges: true, ..options(&folder, None, SyncMode::Never) };
    let engine = RocksDb::open(&options).unwrap();
    for round in 0..40_u8 {
        engine.database.put([round], [round; 100]).unwrap();
        engine.flush_memtable().unwrap();
    }
    assert_eq!(engine.levels().first().unwrap().tables, 40);
    engine.compact().unwrap();
    let levels = engine.levels();
    assert_eq!((levels[0].tables, levels.iter().map(|level| level.tables).sum::<u64>()), (0, 1));
    assert!(engine.work().stalls.is_some() && engine.work().stalled_ns.is_some());
}
