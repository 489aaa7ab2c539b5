//! Where is the C++ library that a static program takes?
//!
//! The bindings ask for `stdc++` and leave it to the linker which one, and that takes the shared one where both lie side by side: in a program that is otherwise static it
//! is never loaded, and the program ends at once by a signal. So a folder that comes first in the search holds the static one alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if !features.split(',').any(|feature| feature == "crt-static") {
        return Ok(());
    }
    let compiler = env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    let said = Command::new(&compiler).arg("-print-file-name=libstdc++.a").output()?;
    let library = PathBuf::from(String::from_utf8_lossy(&said.stdout).trim());
    // It repeats the name where it finds nothing.
    if !library.is_absolute() {
        println!(
            "cargo::error={compiler} has no libstdc++.a: install it (package libstdc++-12-dev or the like), or build without crt-static"
        );
        return Ok(());
    }
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::copy(library, Path::new(&folder).join("libstdc++.a"))?;
    println!("cargo::rustc-link-search=native={}", Path::new(&folder).display());
    Ok(())
}
