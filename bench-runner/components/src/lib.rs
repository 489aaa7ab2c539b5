//! What do the benchmarks of parts have in common? An allocator that counts, inputs that ours and a rival's part share, and a note beside each estimate.
//!
//! `make components` runs them (`benches/components/`); `bench-runner import criterion` takes estimates and notes into the records.

mod inputs;
mod libraries;
mod part;

pub use inputs::{SIZES, VALUE, absent, common, keys, shuffled};
pub use part::{Cost, Filling, Part, Prepared};
pub use plumbkv_bench_driver::Counting;
