//! The commit that is measured, and git's hash of the engine's sources in it.

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
    Source {
        dirty: !changed.is_empty(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        engine_tree: engine_tree(root, &commit),
        commit,
    }
}

/// Git's hash of the folder `engine/` in a commit; none where the commit or the folder is not known.
#[must_use]
pub fn engine_tree(root: &Path, commit: &str) -> Option<String> {
    if commit.is_empty() {
        return None;
    }
    let place = format!("{commit}:engine");
    let ask = ["rev-parse", "--verify", "--quiet", &place];
    let output = Command::new("git").arg("-C").arg(root).args(ask).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
