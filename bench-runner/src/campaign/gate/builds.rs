//! Which programs are compared, and how do they come about from commits?
//!
//! Both sides are built one after the other in one checkout: a path is part of what a compiler sees, so the same code at two places
//! would give two programs.

use super::super::begin::target_triple;
use super::layout::{self, Link};
use super::{checkout, whole};
use crate::scenario::{BuildRecipe, Layouts};
use crate::target::sha256_file;
use anyhow::{Context as _, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a link's folder is called behind the SHA-256 of its program.
const LINK: &str = "link";

/// Variables of the environment that compilers read.
const COMPILER: [&str; 10] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "RUSTC_WRAPPER",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
];

/// A commit that does not build: its own fault, and not that of the machine.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct BuildFailed(String);

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
    /// Why the same bytes can be another server: it starts or loads other files. None where they cannot.
    pub(super) loads: Option<String>,
}

impl Programs {
    /// Whether another one does the same, whatever it loads.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.stripped_sha256 == other.stripped_sha256
            && (self.loads.is_none() && other.loads.is_none() || self.is_of_one_place(other))
    }

    /// Whether it starts another program.
    pub(super) fn is_script(&self) -> bool {
        whole::is_script(&self.program)
    }

    /// Whether both are of one commit, or one file.
    fn is_of_one_place(&self, other: &Self) -> bool {
        self.commit == other.commit && (!self.commit.is_empty() || self.program == other.program)
    }
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
        loads: whole::loads(&program),
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
    Ok(git_as_it_is(folder, arguments)?.trim().to_owned())
}

/// The same with its blanks and line breaks.
pub(super) fn git_as_it_is(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().context("running git")?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Builds a commit; what an earlier gate built of it is taken again.
fn build(
    root: &Path,
    commit: &str,
    recipe: &BuildRecipe,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<(PathBuf, Option<Link>)> {
    let folder = checkout::folder(root);
    let kept = folder.join("programs");
    std::fs::create_dir_all(&kept).with_context(|| format!("making {}", kept.display()))?;
    let program = kept.join(format!("{commit}-{}", digest_of(root, commit, recipe)));
    // By what the program is: cargo links nothing where its output has the same bytes already.
    let link = |program: &Path| -> anyhow::Result<PathBuf> {
        let digest = sha256_file(program).with_context(|| format!("reading {}", program.display()))?;
        Ok(kept.join(format!("{digest}.{LINK}")))
    };
    let is_here =
        program.is_file() && (recipe.layouts != Layouts::Cargo || Link::found(&link(&program)?).is_some());
    if !is_here {
        tell(&format!("building {}", commit.get(..10).unwrap_or(commit)));
        let checkout = checkout::at(root, commit, recipe)?;
        if recipe.comments > 0 {
            checkout::comment(&checkout, recipe.comments)?;
        }
        let (mut made, mut linked) = run_recipe(&checkout, &folder, recipe)?;
        if linked.as_deref().is_some_and(|linked| Link::found(linked).is_none())
            && Link::found(&link(&made)?).is_none()
        {
            // Cargo linked it before, and what it was linked from is gone: a gate was stopped between the two.
            forget_link(&made)?;
            (made, linked) = run_recipe(&checkout, &folder, recipe)?;
        }
        if let Some(linked) = linked.filter(|linked| Link::found(linked).is_some()) {
            copy_folder(&linked, &link(&made)?)?;
        }
        // Whole or not at all, and last: a gate that is stopped must not leave half a program.
        let unfinished = program.with_extension("part");
        std::fs::copy(&made, &unfinished).with_context(|| format!("copying {}", made.display()))?;
        std::fs::rename(&unfinished, &program)?;
    }
    let link = Link::found(&link(&program)?);
    Ok((program, link))
}

/// Removes a program that cargo built, and the file that cargo made it from, so that it is linked again.
fn forget_link(made: &Path) -> anyhow::Result<()> {
    let Some(name) = made.file_name().map(|name| name.to_string_lossy().into_owned()) else { return Ok(()) };
    let names = [name.clone(), name.replace('-', "_")].map(|name| format!("{name}-"));
    let is_of_it = |found: &str| {
        names
            .iter()
            .filter_map(|name| found.strip_prefix(name))
            .any(|hash| hash.len() == 16 && hash.chars().all(|one| one.is_ascii_hexdigit()))
    };
    let deps = made.with_file_name("deps");
    for entry in std::fs::read_dir(&deps).into_iter().flatten().flatten() {
        if is_of_it(&entry.file_name().to_string_lossy()) {
            std::fs::remove_file(entry.path())
                .with_context(|| format!("removing {}", entry.path().display()))?;
        }
    }
    match std::fs::remove_file(made) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", made.display()))
        }
        _ => Ok(()),
    }
}

/// Removes the links of all programs but these: each holds the libraries of its program.
pub(super) fn forget_other_links(root: &Path, sides: [&Programs; 2]) -> anyhow::Result<()> {
    let kept = checkout::folder(root).join("programs");
    for entry in std::fs::read_dir(&kept).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let Some((digest, _)) = name.split_once('.').filter(|(_, kind)| kind.starts_with(LINK)) else {
            continue;
        };
        if sides.iter().all(|side| side.sha256 != digest) {
            std::fs::remove_dir_all(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// The files of a folder and of its folders, whole or not at all.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    let told = || format!("copying {} to {}", from.display(), to.display());
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    for old in [&part, to] {
        if old.exists() {
            std::fs::remove_dir_all(old).with_context(told)?;
        }
    }
    copy_into(from, &part).with_context(told)?;
    std::fs::rename(&part, to).with_context(told)
}

fn copy_into(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_into(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Another recipe, compiler or flag makes another program of the same commit.
fn digest_of(root: &Path, commit: &str, recipe: &BuildRecipe) -> String {
    use sha2::{Digest as _, Sha256};
    let version = |program: &str, word: &str| {
        let output = Command::new(program).arg(word).current_dir(root).output();
        output.map_or_else(|_| Vec::new(), |output| output.stdout)
    };
    let mut digest = Sha256::new();
    digest.update(format!("{recipe:?}"));
    digest.update(version("rustc", "-vV"));
    digest.update(version("cc", "--version"));
    for name in ["rust-toolchain.toml", "rust-toolchain"] {
        // A commit can name a compiler of its own.
        digest.update(git(root, &["show", &format!("{commit}:{name}")]).unwrap_or_default());
    }
    for name in COMPILER {
        digest.update(format!("{name}={:?}\n", std::env::var_os(name)));
    }
    digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
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
        let elsewhere = recipe.environment.get("CARGO_TARGET_DIR").map(|folder| checkout.join(fill(folder)));
        let (wrapper, kept) = layout::keep(folder, elsewhere.as_slice(), &name, &recipe.salt)?;
        command.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
        link = Some(kept);
    }
    let output = command.output().with_context(|| format!("running {program}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = text.lines().rev().take(12).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        let words = format!("the build failed ({}):\n{}", output.status, last.join("\n"));
        // A full disk fails every build.
        if text.contains("No space left on device") || text.contains("os error 28") {
            bail!(words);
        }
        return Err(BuildFailed(words).into());
    }
    if !made.is_file() {
        return Err(BuildFailed(format!("the build left no program at {}", made.display())).into());
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
#[path = "builds_test.rs"]
mod tests;
