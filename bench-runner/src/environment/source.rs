//! Which commit is measured?

use crate::model::Source;
use std::path::Path;
use std::process::Command;

/// Asks git about the checkout at `root`; commit is empty outside one.
#[must_use]
pub fn source(root: &Path) -> Source {
    let ask = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = ask(&["rev-parse", "HEAD"]).unwrap_or_default();
    let changed = ask(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
    Source { commit, dirty: !changed.is_empty(), version: env!("CARGO_PKG_VERSION").to_owned() }
}
