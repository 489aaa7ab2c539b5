//! How long does each part take, and how often does it ask for memory? Beside it, where there is one, a like part of another library in the same run.
//!
//! Each at two sizes (`SIZES`): what an L2 cache holds, and a million entries or 64 MiB. All on one thread, in random order unless it says otherwise. Every operation
//! checks what it finds: a part that finds nothing is not measured.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says so and ends")]

mod cache;
mod database;
mod log;
mod memory;
mod memtable;
mod record;
mod resp;
mod rival;
mod table;

use criterion::Criterion;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: plumbkv_components::Counting = plumbkv_components::Counting;

/// Where criterion keeps its estimates: the notes lie beside them.
fn home() -> PathBuf {
    std::env::var_os("CRITERION_HOME")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("criterion"), PathBuf::from)
}

fn main() {
    let home = home();
    let criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(20)
        .output_directory(&home);
    let mut criterion = criterion.configure_from_args();
    let groups: [fn(&mut Criterion, &Path); 14] = [
        memtable::memtable,
        table::filter,
        table::index,
        table::block,
        cache::cache,
        record::compare,
        record::encode_and_decode,
        log::append,
        table::table,
        database::get_and_put,
        resp::parse,
        resp::compose,
        memory::get_and_set,
        memory::evict,
    ];
    groups.iter().for_each(|group| group(&mut criterion, &home));
    criterion.final_summary();
}
