//! What do bytes that pass for a record of a log do to whoever reads them?
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run record    (in engine/store)
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv::parts::fuzz;

fuzz_target!(|bytes: &[u8]| {
    fuzz::record(bytes);
});
