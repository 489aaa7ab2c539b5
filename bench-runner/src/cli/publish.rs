//! `bench-runner publish`: a local run becomes a run of a version, to be committed.

use super::{EXIT_FINE, Format, Global, stdout};
use crate::campaign::catalogue::machines;
use crate::environment::{Registry, engine_tree};
use crate::export::{
    COMMITTED_LIMIT_BYTES, Found, find_run, listed_runs, parts, read_indexed_run, write_run,
};
use crate::model::{Cell, DISTURBED_CORES, Mode, Profile, Run, RunState, Status};
use crate::output::document;
use anyhow::{bail, ensure};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Publish a local run under a version
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bench-runner publish latest --version 0.1.0\n\n\
    Copies the run to results/<version>/<machine>/<run>/ with the version rewritten, and adds it to results/index.json. \
    Published runs are never changed. A run over 5 MiB, compressed, is published in parts; nothing of it is left out. A run whose engine sources differ \
    from those of the version's other runs is refused.")]
pub(super) struct Args {
    /// Id of a local run, a prefix of one, or 'latest'
    run: String,
    /// The version it was measured for
    #[arg(long = "version", value_name = "VERSION")]
    version: String,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    ensure!(
        is_version(&args.version),
        "invalid version '{}': expected major.minor.patch, for example 0.1.0",
        args.version
    );
    let found = find_run(&results, &args.run, Some("local"))?;
    admit(&found, &args.version)?;
    known_machine(&found.run, &machines(&global.root)?)?;
    same_engine(&found.run, &results, &args.version, &global.root)?;
    let Found { mut run, mut scenarios, .. } = found;
    args.version.clone_into(&mut run.version);
    "release".clone_into(&mut run.purpose);
    for record in &mut scenarios {
        args.version.clone_into(&mut record.version);
    }
    let mut folders = Vec::new();
    for (run, scenarios) in parts(COMMITTED_LIMIT_BYTES, &run, &scenarios)? {
        folders.push(write_run(&results, run, scenarios)?);
    }
    stdout::put(&match global.format {
        Format::Json => format!("{}\n", document("publish", json!({ "folders": folders }))),
        _ => folders.iter().map(|folder| format!("{}\n", folder.display())).collect(),
    })?;
    Ok(EXIT_FINE)
}

/// What may be published: a whole run with figures, of the version it says.
fn admit(found: &Found, version: &str) -> anyhow::Result<()> {
    let run = &found.run;
    ensure!(run.profile != Profile::Smoke, "run {} is a smoke run, which cannot be published", run.id);
    ensure!(
        run.state == RunState::Complete,
        "run {} was interrupted: continue it with 'bench-runner run --resume'",
        run.id
    );
    ensure!(!found.scenarios.is_empty(), "run {} holds no scenario", run.id);
    ensure!(
        !run.source.dirty,
        "run {} was measured with uncommitted changes on top of {}: commit them, and measure again",
        run.id,
        run.source.commit
    );
    if let Some(said) = disturbed(found.scenarios.iter().flat_map(|record| &record.cells)) {
        bail!("run {}: {said}: end what else runs, and measure again", run.id);
    }
    if let Some(said) = untold(found.scenarios.iter().flat_map(|record| &record.cells)) {
        bail!("run {}: {said}", run.id);
    }
    ensure!(
        run.source.version == version,
        "run {} measured version {}, not {version}; publish it as --version {}",
        run.id,
        run.source.version,
        run.source.version
    );
    Ok(())
}

/// What is wrong with cells that were measured beside something else, in one sentence; none where none was.
pub(super) fn disturbed<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<String> {
    let (mut all, mut count, mut worst) = (0_usize, 0_usize, ("", 0.0));
    for cell in cells {
        all += 1;
        let Some(cores) = cell.disturbed_cores() else { continue };
        count += 1;
        if cores > worst.1 {
            worst = (cell.key.as_str(), cores);
        }
    }
    let (key, cores) = worst;
    (count > 0).then(|| {
        format!(
            "{count} of {all} cells were measured while others used more than {DISTURBED_CORES} CPUs in most of their \
             trials (the worst, {key}: {cores:.2})"
        )
    })
}

/// Cells of a running server of which it is not known what others used meanwhile, in one sentence; none where there is none.
fn untold<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<String> {
    let is_untold = |cell: &&Cell| {
        cell.mode == Mode::External
            && cell.status == Status::Ok
            && cell.trials.iter().all(|trial| trial.others_cores().is_none())
    };
    let untold: Vec<&Cell> = cells.filter(is_untold).collect();
    let first = untold.first()?;
    Some(format!(
        "of {} cells of a running server (the first, {}) it is not known whether others used the machine meanwhile, because \
         the server's process was not found: run the server as a process of this machine and this user, or let the runner \
         start it (--bin), and measure again",
        untold.len(),
        first.key
    ))
}

/// All runs of a version measure the same engine: git's hash of `engine/` has to agree.
fn same_engine(run: &Run, results: &Path, version: &str, root: &Path) -> anyhow::Result<()> {
    let tree = |run: &Run| run.source.engine_tree.clone().or_else(|| engine_tree(root, &run.source.commit));
    let own = tree(run);
    for listed in listed_runs(results)?.into_iter().filter(|one| one.version == version) {
        let (other, _) = read_indexed_run(&listed.base, &listed.run)?;
        ensure!(
            own == tree(&other),
            "run {} measured engine sources {}, and run {} of version {version} measured {}: one version is one \
             engine; raise the version, or measure the other runs again",
            run.id,
            own.as_deref().unwrap_or("that git does not know"),
            other.id,
            tree(&other).as_deref().unwrap_or("sources that git does not know")
        );
    }
    Ok(())
}

/// A name stands for the machines that `machines.toml` lists under it, and for no other.
fn known_machine(run: &Run, registry: &Registry) -> anyhow::Result<()> {
    let fingerprint = &run.machine.fingerprint;
    match registry.machine.iter().find(|known| known.id == run.machine_key) {
        Some(known) => ensure!(
            known.fingerprints.contains(fingerprint),
            "run {} stands under machine {}, whose fingerprints in results/machines.toml do not hold {fingerprint}: \
             another machine is never published under that name",
            run.id,
            known.id
        ),
        None => ensure!(
            run.machine_key == format!("unknown-{fingerprint}"),
            "run {} stands under machine {}, which results/machines.toml does not name; add it there with fingerprint \
             {fingerprint}",
            run.id,
            run.machine_key
        ),
    }
    Ok(())
}

fn is_version(text: &str) -> bool {
    let (numbers, pre) = text.split_once('-').unwrap_or((text, "x"));
    let parts: Vec<&str> = numbers.split('.').collect();
    let number =
        |part: &&str| !part.is_empty() && part.len() < 10 && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3
        && parts.iter().all(number)
        && !pre.is_empty()
        && pre.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::testing;

    fn found() -> Found {
        let (run, scenarios) = testing::run();
        Found { folder: PathBuf::new(), run, scenarios }
    }

    #[test]
    fn versions_are_semantic() {
        for good in ["0.1.0", "10.20.30", "1.0.0-rc.1"] {
            assert!(is_version(good), "{good}");
        }
        for bad in ["local", "0.1", "0.1.0.0", "v0.1.0", "0.1.0-", "0..0", "0.1.0/..", ""] {
            assert!(!is_version(bad), "{bad}");
        }
    }

    #[test]
    fn a_machine_is_published_under_its_own_name_only() {
        let registry = |fingerprint: &str| {
            let text = format!(
                "[[machine]]\nid = \"fixture-machine\"\ntitle = \"T\"\nclass = \"stored\"\ndescription = \"D\"\n\
                 fingerprints = [\"{fingerprint}\"]\n"
            );
            Registry::parse("machines.toml", &text).unwrap()
        };
        let mut run = found().run;
        let own = run.machine.fingerprint.clone();
        known_machine(&run, &registry(&own)).unwrap();
        let said = known_machine(&run, &registry("000000000000")).unwrap_err().to_string();
        assert!(said.contains("never published under that name") && said.contains(&own), "{said}");
        run.machine_key = "elsewhere".into();
        let said = known_machine(&run, &registry(&own)).unwrap_err().to_string();
        assert!(said.contains("does not name"), "{said}");
        // A machine without a name is recorded as what it is.
        run.machine_key = format!("unknown-{own}");
        known_machine(&run, &registry("000000000000")).unwrap();
    }

    #[test]
    fn what_is_no_whole_run_of_the_version_is_refused() {
        admit(&found(), "0.0.1").unwrap();
        let refused = |change: fn(&mut Found), expected: &str| {
            let mut one = found();
            change(&mut one);
            let error = admit(&one, "0.0.1").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        refused(|one| one.run.profile = Profile::Smoke, "cannot be published");
        refused(|one| one.run.state = RunState::Interrupted, "--resume");
        refused(|one| one.scenarios.clear(), "no scenario");
        refused(|one| one.run.source.dirty = true, "uncommitted changes");
        refused(|one| one.run.source.version = "0.2.0".into(), "measured version 0.2.0, not 0.0.1");
        let busy = |one: &mut Found| {
            for trial in one.scenarios[0].cells.iter_mut().flat_map(|cell| &mut cell.trials) {
                if let Some(os) = &mut trial.os {
                    os.foreign_cpu_cores = 1.8;
                }
            }
        };
        refused(busy, "cells were measured while others used more than 0.25 CPUs");
        let untold = |one: &mut Found| {
            for cell in &mut one.scenarios[0].cells {
                cell.mode = Mode::External;
                cell.trials.iter_mut().for_each(|trial| trial.os = None);
            }
        };
        refused(untold, "it is not known whether others used the machine meanwhile");
    }
}
