//! The one checkout in which gates build: what an earlier commit left there must not become part of a later one.

use super::builds::git;
use crate::scenario::{BuildRecipe, Layouts};
use anyhow::Context as _;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where gates build, below the root.
const FOLDER: &str = "target/gate";

/// The folder of all that gates build.
pub(super) fn folder(root: &Path) -> PathBuf {
    root.join(FOLDER)
}

/// Keeps other gates out of the folder until it is dropped: two would build in one checkout, and measure each other.
///
/// # Errors
/// It cannot be locked here, or the wait was ended by a signal.
pub(super) fn lock(root: &Path, stop: &AtomicBool, tell: &mut dyn FnMut(&str)) -> anyhow::Result<File> {
    let folder = folder(root);
    let path = folder.join("lock");
    let told = || format!("locking {}", path.display());
    std::fs::create_dir_all(&folder).with_context(told)?;
    let file = File::options().create(true).append(true).open(&path).with_context(told)?;
    let mut is_told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error).with_context(told),
            Err(TryLockError::WouldBlock) => {}
        }
        anyhow::ensure!(
            !stop.load(Ordering::Relaxed),
            "stopped while another gate used {}",
            folder.display()
        );
        if !is_told {
            tell(&format!(
                "another gate uses {}: waiting for it to end; or use a second clone",
                folder.display()
            ));
            is_told = true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The checkout, at a commit, as if it were new. Of cargo's builds what git ignores is left: cargo knows what is stale.
pub(super) fn at(root: &Path, commit: &str, recipe: &BuildRecipe) -> anyhow::Result<PathBuf> {
    let checkout = folder(root).join("checkout");
    if !checkout.join(".git").exists() {
        git(root, &["worktree", "prune"])?;
        let place = checkout.to_string_lossy().into_owned();
        git(root, &["worktree", "add", "--force", "--detach", &place, commit])?;
    }
    git(&checkout, &["checkout", "--force", "--detach", commit])?;
    if checkout.join(".gitmodules").is_file() {
        git(&checkout, &["submodule", "update", "--init", "--recursive", "--force"])?;
    }
    let is_cargo =
        recipe.layouts == Layouts::Cargo || recipe.command.first().is_some_and(|one| one == "cargo");
    let words: &[&str] = if is_cargo { &["clean", "-ffd", "--exclude=/target"] } else { &["clean", "-ffdx"] };
    git(&checkout, words)?;
    if checkout.join(".gitmodules").is_file() {
        let inner = format!("git {}", words.join(" "));
        git(&checkout, &["submodule", "foreach", "--recursive", &inner])?;
    }
    Ok(checkout)
}

/// Puts comments in front of every Rust file that git knows: lines have other numbers, so the bytes of the program differ, and
/// nothing of what it does. The next [`at`] takes them away again.
///
/// # Errors
/// A file cannot be read or written, or there is no Rust file.
pub(super) fn comment(checkout: &Path, lines: usize) -> anyhow::Result<()> {
    let text = git(checkout, &["ls-files", "-z", "--", "*.rs"])?;
    let files: Vec<&str> = text.split('\0').filter(|name| !name.is_empty()).collect();
    anyhow::ensure!(!files.is_empty(), "there is no Rust file that a comment could be put in");
    for name in files {
        let path = checkout.join(name);
        // A link's file is commented where it is.
        if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            continue;
        }
        let told = || format!("putting a comment in {}", path.display());
        let text = std::fs::read_to_string(&path).with_context(told)?;
        std::fs::write(&path, commented(&text, lines)).with_context(told)?;
    }
    Ok(())
}

/// A first line that a shell reads stays the first.
fn commented(text: &str, lines: usize) -> String {
    let comment = "// This line changes nothing.\n".repeat(lines);
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("#!") && !first.starts_with("#![") => {
            format!("{first}\n{comment}{rest}")
        }
        _ => format!("{comment}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_gate_waits_and_a_signal_ends_its_wait() {
        let root = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let first = lock(root.path(), &stop, &mut |_| {}).unwrap();
        let mut told = Vec::new();
        let error = lock(root.path(), &AtomicBool::new(true), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("stopped while another gate"), "{error}");
        std::thread::scope(|scope| {
            let second =
                scope.spawn(|| lock(root.path(), &stop, &mut |text| told.push(text.to_owned())).is_ok());
            std::thread::sleep(Duration::from_millis(300));
            assert!(!second.is_finished());
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(told.len() == 1 && told[0].contains("second clone"), "{told:?}");
    }

    #[test]
    fn comments_stand_before_everything_but_a_shells_line() {
        assert_eq!(commented("#![no_std]\n", 1), "// This line changes nothing.\n#![no_std]\n");
        assert_eq!(commented("//! Docs\n", 2).lines().count(), 3);
        assert!(
            commented("#!/usr/bin/env run\nfn main() {}\n", 1).starts_with("#!/usr/bin/env run\n// This")
        );
    }
}
