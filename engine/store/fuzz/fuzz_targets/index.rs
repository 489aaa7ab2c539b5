//! What do bytes that pass for an index do to a look-up?
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run index    (in engine/store)
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv::parts::fuzz;

fuzz_target!(|bytes: &[u8]| {
    let (key, bytes) = bytes.split_at(bytes.len().min(4));
    fuzz::index(bytes, key);
});
