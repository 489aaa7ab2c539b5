//! Which programs are compared, and how do they come about from commits?
//!
//! Both sides are built one after the other in one checkout: a path is part of what a compiler sees, so the same code at two places
//! would give two programs.

use super::super::begin::target_triple;
use super::layout::{self, Link};
use crate::scenario::{BuildRecipe, Layouts};
use crate::target::sha256_file;
use anyhow::{Context as _, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Where gates build, below the root.
const FOLDER: &str = "target/gate";

/// The programs of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Programs {
    /// As it was given.
    pub(super) given: String,
    /// Full commit id; empty where a file was given.
    pub(super) commit: String,
    /// As it was built.
    pub(super) program: PathBuf,
    /// What it was linked from; none where it cannot be linked again.
    pub(super) link: Option<Link>,
    /// SHA-256 of the program.
    pub(super) sha256: String,
    /// The same without symbols and notes.
    pub(super) stripped_sha256: String,
}

/// Finds or makes the programs of both sides. `tell` hears what is being built.
///
/// # Errors
/// Neither a file nor a commit, or a build that fails: the message ends with what it printed last.
pub(super) fn programs(
    root: &Path,
    given: [&str; 2],
    recipes: [Option<&BuildRecipe>; 2],
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<([Programs; 2], f64)> {
    let begin = Instant::now();
    let root = std::path::absolute(root).context("no such root")?;
    let [base, head] = given;
    let base = side(&root, base, recipes[0], tell).with_context(|| format!("base {base}"))?;
    let head = side(&root, head, recipes[1], tell).with_context(|| format!("head {head}"))?;
    Ok(([base, head], begin.elapsed().as_secs_f64()))
}

fn side(
    root: &Path,
    given: &str,
    recipe: Option<&BuildRecipe>,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<Programs> {
    let file = Path::new(given);
    let (commit, program, link) = if file.is_file() {
        (String::new(), std::path::absolute(file)?, None)
    } else {
        let commit = resolve(root, given)?;
        let recipe =
            recipe.context("a commit needs [build] in the gate's file, which says how it is built")?;
        let (program, link) = build(root, &commit, recipe, tell)?;
        (commit, program, link)
    };
    Ok(Programs {
        given: given.to_owned(),
        commit,
        sha256: sha256_file(&program).with_context(|| format!("reading {}", program.display()))?,
        stripped_sha256: stripped(&program)?,
        program,
        link,
    })
}

/// The commit of a name.
pub(super) fn resolve(root: &Path, given: &str) -> anyhow::Result<String> {
    ensure!(!given.starts_with('-'), "no file or commit '{given}'");
    let reference = format!("{given}^{{commit}}");
    git(root, &["rev-parse", "--verify", "--end-of-options", &reference])
        .with_context(|| format!("no file or commit '{given}'"))
}

/// What a call of git prints.
pub(super) fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().context("running git")?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Builds a commit; what an earlier gate built of it is taken again.
fn build(
    root: &Path,
    commit: &str,
    recipe: &BuildRecipe,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<(PathBuf, Option<Link>)> {
    let folder = root.join(FOLDER);
    let kept = folder.join("programs");
    std::fs::create_dir_all(&kept).with_context(|| format!("making {}", kept.display()))?;
    let program = kept.join(format!("{commit}-{}", digest_of(recipe)));
    // By what the program is: cargo links nothing where the same bytes lie there, and they were linked before.
    let link = |program: &Path| -> anyhow::Result<PathBuf> {
        let digest = sha256_file(program).with_context(|| format!("reading {}", program.display()))?;
        Ok(kept.join(format!("{digest}.link")))
    };
    if !program.is_file() {
        let checkout = checkout(root, &folder, commit)?;
        tell(&format!("building {}", commit.get(..10).unwrap_or(commit)));
        let (made, linked) = run_recipe(&checkout, &folder, recipe)?;
        if let Some(linked) = linked.filter(|linked| Link::found(linked).is_some()) {
            copy_folder(&linked, &link(&made)?)?;
        }
        // Whole or not at all, and last: a gate that is stopped must not leave half a program.
        let unfinished = program.with_extension("part");
        std::fs::copy(&made, &unfinished)
            .with_context(|| format!("the build left no program at {}", made.display()))?;
        std::fs::rename(&unfinished, &program)?;
    }
    let link = Link::found(&link(&program)?);
    Ok((program, link))
}

/// The files of a folder.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    let told = || format!("copying {} to {}", from.display(), to.display());
    if to.exists() {
        std::fs::remove_dir_all(to).with_context(told)?;
    }
    std::fs::create_dir_all(to).with_context(told)?;
    for entry in std::fs::read_dir(from).with_context(told)? {
        let entry = entry.with_context(told)?;
        std::fs::copy(entry.path(), to.join(entry.file_name())).with_context(told)?;
    }
    Ok(())
}

/// Another recipe makes another program of the same commit.
fn digest_of(recipe: &BuildRecipe) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(format!("{recipe:?}"));
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// The one checkout in which gates build.
fn checkout(root: &Path, folder: &Path, commit: &str) -> anyhow::Result<PathBuf> {
    let checkout = folder.join("checkout");
    if !checkout.join(".git").exists() {
        git(root, &["worktree", "prune"])?;
        let place = checkout.to_string_lossy().into_owned();
        git(root, &["worktree", "add", "--force", "--detach", &place, commit])?;
    }
    git(&checkout, &["checkout", "--force", "--detach", commit])?;
    Ok(checkout)
}

/// The program that a build makes, and the folder of what it is linked from where that is kept.
fn run_recipe(
    checkout: &Path,
    folder: &Path,
    recipe: &BuildRecipe,
) -> anyhow::Result<(PathBuf, Option<PathBuf>)> {
    let fill = |text: &str| text.replace("{triple}", &target_triple());
    let [program, arguments @ ..] = recipe.command.as_slice() else { bail!("the build has no command") };
    let mut command = Command::new(fill(program));
    command.args(arguments.iter().map(|one| fill(one))).current_dir(checkout).stdin(Stdio::null());
    // What stands outside would put the program somewhere else.
    command.env_remove("CARGO_TARGET_DIR");
    command.envs(recipe.environment.iter().map(|(key, value)| (key, fill(value))));
    let made = checkout.join(fill(&recipe.binary));
    let mut link = None;
    if recipe.layouts == Layouts::Cargo {
        let name = made.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (wrapper, kept) = layout::keep(folder, &name, &recipe.salt)?;
        command.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
        link = Some(kept);
    }
    let output = command.output().with_context(|| format!("running {program}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = text.lines().rev().take(12).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        bail!("the build failed ({}):\n{}", output.status, last.join("\n"));
    }
    Ok((made, link))
}

/// SHA-256 of a program without symbols, debug information and build notes. Where `strip` is not installed or refuses the
/// file, as it does a script, of the file as it is.
fn stripped(program: &Path) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let bare = folder.path().join("bare");
    let done = Command::new("strip")
        .args(["--strip-all", "--remove-section=.note.gnu.build-id", "--remove-section=.comment", "-o"])
        .arg(&bare)
        .arg(program)
        .stderr(Stdio::null())
        .status();
    let file = if done.is_ok_and(|status| status.success()) { bare.as_path() } else { program };
    Ok(sha256_file(file)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A repository whose program is a script that says its version.
    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| git(dir.path(), arguments).unwrap();
        run(&["init", "--quiet"]);
        for version in ["one", "two"] {
            std::fs::write(dir.path().join("server.sh"), format!("#!/bin/sh\necho {version}\n")).unwrap();
            run(&["add", "."]);
            let author = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
            run(&[&author[..], &["commit", "--quiet", "-m", version]].concat());
        }
        dir
    }

    fn recipe(command: &str) -> BuildRecipe {
        BuildRecipe {
            command: vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()],
            binary: "out/server".to_owned(),
            environment: BTreeMap::from([("NAME".to_owned(), "server".to_owned())]),
            layouts: Layouts::One,
            calibration: None,
            salt: String::new(),
        }
    }

    #[test]
    fn commits_are_built_once_and_files_are_taken_as_they_are() {
        let dir = repository();
        let good = recipe("mkdir -p out && cp server.sh out/$NAME");
        let mut told = Vec::new();
        let mut tell = |text: &str| told.push(text.to_owned());
        let ([base, head], _) =
            programs(dir.path(), ["HEAD~1", "HEAD"], [Some(&good); 2], &mut tell).unwrap();
        let said = |one: &Programs| std::fs::read_to_string(&one.program).unwrap();
        assert!(said(&base).contains("one") && said(&head).contains("two"));
        assert!(base.commit.len() == 40 && base.stripped_sha256 != head.stripped_sha256);
        let file = head.program.to_string_lossy().into_owned();
        let ([again, same], _) = programs(dir.path(), ["HEAD", &file], [Some(&good); 2], &mut tell).unwrap();
        assert_eq!(again.stripped_sha256, same.stripped_sha256);
        assert!(same.commit.is_empty());
        assert_eq!(told.len(), 2, "{told:?}");
    }

    #[test]
    fn what_cannot_be_built_says_why() {
        let dir = repository();
        let error = |given: &str, recipe: Option<&BuildRecipe>| {
            format!("{:#}", programs(dir.path(), [given, given], [recipe; 2], &mut |_| {}).unwrap_err())
        };
        let bad = recipe("echo no compiler here >&2; exit 3");
        assert!(error("HEAD", Some(&bad)).contains("no compiler here"));
        assert!(error("HEAD", Some(&recipe("true"))).contains("left no program"));
        assert!(error("HEAD", None).contains("[build]"));
        assert!(error("nowhere", Some(&bad)).contains("no file or commit"));
        assert!(error("--upload-pack=x", Some(&bad)).contains("no file or commit"));
    }

    #[test]
    fn symbols_do_not_make_a_program_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let own = std::env::current_exe().unwrap();
        let copy = dir.path().join("bare");
        let done = Command::new("strip").arg("--strip-all").arg("-o").arg(&copy).arg(&own).status();
        if done.is_ok_and(|status| status.success()) {
            assert_eq!(stripped(&own).unwrap(), stripped(&copy).unwrap());
            assert_ne!(sha256_file(&own).unwrap(), sha256_file(&copy).unwrap());
        }
    }
}
