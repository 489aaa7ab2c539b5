//! Which axum is linked? The lock file knows, the crate itself does not say.

use std::fs;
use std::path::Path;

fn main() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = fs::read_to_string(&lock).unwrap_or_default();
    let version = text
        .split("[[package]]")
        .find(|package| package.contains("\nname = \"axum\"\n"))
        .and_then(|package| package.split("version = \"").nth(1)?.split('"').next());
    println!("cargo::rustc-env=AXUM_VERSION={}", version.unwrap_or("unknown"));
}
