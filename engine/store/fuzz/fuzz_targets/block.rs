//! What do bytes that pass for a block do to a look-up and to a walk in either direction?
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run block    (in engine/store)
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv::parts::fuzz;

fuzz_target!(|bytes: &[u8]| {
    let (key, bytes) = bytes.split_at(bytes.len().min(4));
    fuzz::block(bytes, key);
});
