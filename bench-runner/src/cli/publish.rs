//! `bench-runner publish`: a local run becomes a run of a version, to be committed.

use super::{EXIT_FINE, Format, Global, stdout};
use crate::export::{COMMITTED_LIMIT_BYTES, Found, find_run, shrink_to, write_run};
use crate::model::{Profile, RunState};
use anyhow::ensure;
use serde_json::json;
use std::path::PathBuf;

/// Publish a local run under a version
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bench-runner publish latest --version 0.1.0\n\n\
    Copies the run to results/<version>/<machine>/<run>/ with the version rewritten, and enters it in results/index.json. \
    What is published already is never changed.")]
pub(super) struct Args {
    /// Id of a local run, the beginning of one, or 'latest'
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
    ensure!(is_version(&args.version), "'{}' is no version: major.minor.patch, as in 0.1.0", args.version);
    let found = find_run(&results, &args.run, Some("local"))?;
    admit(&found, &args.version)?;
    let Found { mut run, mut scenarios, .. } = found;
    args.version.clone_into(&mut run.version);
    "release".clone_into(&mut run.purpose);
    for record in &mut scenarios {
        args.version.clone_into(&mut record.version);
    }
    shrink_to(COMMITTED_LIMIT_BYTES, &mut run, &mut scenarios)?;
    let folder = write_run(&results, run, scenarios)?;
    stdout::put(&match global.format {
        Format::Json => format!("{}\n", json!({ "folder": folder })),
        _ => format!("{}\n", folder.display()),
    })?;
    Ok(EXIT_FINE)
}

/// What may be published: a whole run with figures, of the version it says.
fn admit(found: &Found, version: &str) -> anyhow::Result<()> {
    let run = &found.run;
    ensure!(
        run.profile != Profile::Smoke,
        "run {} is a smoke run: its figures mean nothing, and it is never published",
        run.id
    );
    ensure!(
        run.state == RunState::Complete,
        "run {} was interrupted: 'bench-runner run --resume' goes on with it",
        run.id
    );
    ensure!(!found.scenarios.is_empty(), "run {} holds no scenario", run.id);
    ensure!(
        run.source.version == version,
        "run {} measured version {}, not {version}; publish it as --version {}",
        run.id,
        run.source.version,
        run.source.version
    );
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
    fn what_is_no_whole_run_of_the_version_is_refused() {
        admit(&found(), "0.0.1").unwrap();
        let refused = |change: fn(&mut Found), expected: &str| {
            let mut one = found();
            change(&mut one);
            let error = admit(&one, "0.0.1").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        refused(|one| one.run.profile = Profile::Smoke, "never published");
        refused(|one| one.run.state = RunState::Interrupted, "--resume");
        refused(|one| one.scenarios.clear(), "no scenario");
        refused(|one| one.run.source.version = "0.2.0".into(), "measured version 0.2.0, not 0.0.1");
    }
}
