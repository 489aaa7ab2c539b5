//! What do bytes that pass for an edit of the manifest do to whoever reads them? What is read comes back when it is written.
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 cargo fuzz run edit    (in engine/store)
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv::parts::fuzz;

fuzz_target!(|bytes: &[u8]| {
    fuzz::edit(bytes);
});
