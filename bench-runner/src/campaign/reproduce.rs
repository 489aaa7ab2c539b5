//! Reproduction of a run: what to type, from a fresh clone on, to measure the same cells in the same order.
//!
//! No line holds a path of the machine that measured. A program that was named by its path is named by its key and
//! its version, for the reader to put the path of theirs in.

use super::begin::{Selection, Tools, target_triple};
use crate::model::{Role, Source, TargetRecord};
use crate::plan::{Step, mode_name};
use crate::scenario::profile_name;
use std::path::Path;

/// What the lines depend on.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// Which part of the catalogue.
    pub selection: &'a Selection,
    /// Commit measured.
    pub source: &'a Source,
    /// Seed.
    pub seed: u64,
    /// What was found to measure.
    pub targets: &'a [TargetRecord],
    /// Keys of targets whose client is a driver program.
    pub driven: &'a [&'a str],
    /// The plan.
    pub steps: &'a [Step],
    /// How the targets were found.
    pub tools: &'a Tools,
    /// Whether criterion's estimates were taken in.
    pub has_components: bool,
}

/// The lines: clone, commit, builds, who was measured beside, the run. What begins with `#` is said, not done.
#[must_use]
pub fn lines(made: &Made) -> Vec<String> {
    let mut lines = Vec::new();
    let Made { source, tools, .. } = made;
    let folder = env!("CARGO_PKG_REPOSITORY").rsplit('/').next().unwrap_or_default();
    lines.push(format!("git clone {} && cd {folder}", env!("CARGO_PKG_REPOSITORY")));
    if !source.commit.is_empty() {
        lines.push(format!("git checkout {}", source.commit));
    }
    if source.dirty {
        lines.push("# tracked files differed from that commit".to_owned());
    }
    let part: Vec<&TargetRecord> =
        made.targets.iter().filter(|target| target.available && takes_part(made, &target.key)).collect();
    lines.push("make setup build".to_owned());
    lines.extend(drivers(made, &part).map(str::to_owned));
    if made.has_components {
        lines.push("make components".to_owned());
    }
    let beside: Vec<&str> =
        part.iter().filter(|target| target.role == Role::Rival).map(|target| target.title.as_str()).collect();
    if !beside.is_empty() {
        lines.push(format!("# measured beside: {}", beside.join("; ")));
    }
    for (key, _) in tools.bins.iter().filter(|(key, _)| part.iter().any(|target| target.key == *key)) {
        lines.push(format!("# {key} was a program of its own: add --bin {key}=FILE to the last line"));
    }
    if !is_built_here(&tools.server_binary)
        && let Some(build) = part.iter().find_map(|target| {
            target.build.as_ref().filter(|_| target.role == Role::Subject && target.transport == "socket")
        })
    {
        lines.push(format!("# the server was a file built before, SHA-256 {}", build.sha256));
    }
    lines.push(run_line(made));
    lines
}

fn takes_part(made: &Made, key: &str) -> bool {
    made.steps.iter().any(|step| step.target == key)
}

/// Which drivers are needed beside the server and the runner.
fn drivers(made: &Made, part: &[&TargetRecord]) -> Option<&'static str> {
    let file =
        |target: &TargetRecord| target.build.as_ref().map(|build| build.file.clone()).unwrap_or_default();
    let files: Vec<String> = part.iter().map(|target| file(target)).collect();
    // These two take long to compile, so `make drivers` leaves them out.
    let is_rival = |file: &String| ["plumbkv-driver-rocksdb", "plumbkv-driver-lmdb"].contains(&file.as_str());
    if files.iter().any(is_rival) {
        return Some("make rivals");
    }
    let is_driven = part.iter().any(|target| made.driven.contains(&target.key.as_str()));
    (is_driven || files.iter().any(|file| file.starts_with("plumbkv-driver-"))).then_some("make drivers")
}

/// Whether a server is the one that `make build` leaves in its place.
fn is_built_here(server: &Path) -> bool {
    server.ends_with(format!("target/{}/release/plumbkv", target_triple()))
}

fn run_line(made: &Made) -> String {
    let Made { selection, seed, .. } = made;
    let mut run = format!(
        "target/{}/release/bench-runner run --profile {} --seed {seed}",
        target_triple(),
        profile_name(selection.profile)
    );
    let groups: Vec<String> = selection.groups.iter().map(|group| group.name().to_owned()).collect();
    let flags = [("scenario", &selection.scenarios), ("group", &groups), ("target", &selection.targets)];
    for (flag, values) in flags {
        for value in values {
            run.push_str(&format!(" --{flag} {value}"));
        }
    }
    for mode in &selection.modes {
        run.push_str(&format!(" --mode {}", mode_name(*mode)));
    }
    if !made.tools.containers && made.steps.iter().any(|step| step.mode.is_container()) {
        run.push_str(" --no-container");
    }
    if made.has_components {
        run.push_str(" --criterion target/criterion");
    }
    run
}

/// A word of a command line without the folders of this machine: `--server-binary=/opt/a/plumbkv` →
/// `--server-binary=plumbkv`.
#[must_use]
pub fn without_folders(word: &str) -> String {
    let (head, value) = match word.split_once('=') {
        Some((head, value)) if value.starts_with('/') => (format!("{head}="), value),
        _ => (String::new(), word),
    };
    if !value.starts_with('/') {
        return word.to_owned();
    }
    let name = Path::new(value).file_name().map_or(value.into(), |name| name.to_string_lossy());
    format!("{head}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_keeps_its_files_and_loses_their_folders() {
        for (word, expected) in [
            ("--server-binary", "--server-binary"),
            ("/opt/plumbkv-0.4.0b", "plumbkv-0.4.0b"),
            ("--bin=/usr/bin/redis", "--bin=redis"),
            ("redis-server=/opt/redis/redis-server", "redis-server=redis-server"),
            (
                "target/x86_64-unknown-linux-gnu/release/plumbkv",
                "target/x86_64-unknown-linux-gnu/release/plumbkv",
            ),
            ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
            ("--scenario=wire-single", "--scenario=wire-single"),
        ] {
            assert_eq!(without_folders(word), expected);
        }
    }
}
