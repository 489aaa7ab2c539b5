//! What do bytes that pass for a filter do to a question?
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run filter    (in engine/store)
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv::parts::fuzz;

fuzz_target!(|bytes: &[u8]| {
    let (key, bytes) = bytes.split_at(bytes.len().min(4));
    fuzz::filter(bytes, key);
});
