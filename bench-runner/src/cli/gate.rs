//! `bench-runner gate`: base against head, and one of five words for the change.

use super::selection::duration;
use super::stdout::put;
use super::{EXIT_FINE, EXIT_INCONCLUSIVE, EXIT_REGRESSION, EXIT_USAGE, Format, Global};
use crate::campaign::catalogue;
use crate::campaign::gate::{Options, Watch, calibrate, run};
use crate::export::canonical;
use crate::model::{Calibration, GateOutcome};
use crate::output::gate as output;
use crate::scenario::{CountedDefinition, GateDefinition};
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compare base and head on this machine, and judge the change
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner gate --base main --head HEAD
  bench-runner gate --base ./server-old --head ./server-new   two built programs
  bench-runner gate --base main --head HEAD --budget 5m --out gate-result
  bench-runner gate --base v1 --head v2 --config bench-gate.toml --root ../my-server

Blocks of base and head are measured until each series has evidence for a change, or for none above 5 %. Where cargo links \
both programs again for each block (layouts = \"cargo\"), a gate of a change that changes nothing is red once in a hundred times at \
most. bench-runner/docs/statistics.md has the rule.

Exit codes: 0 pass or improvement; 1 a build or a file failed; 2 regression; 3 inconclusive or not measured, for example \
because a server does not start; 64 usage error.")]
pub(super) struct Args {
    /// The baseline: a commit, a branch or a program
    #[arg(long, value_name = "REF|FILE")]
    base: String,
    /// The change: a commit, a branch or a program
    #[arg(long, value_name = "REF|FILE")]
    head: String,
    /// What to measure and how to build a commit [default: <root>/bench-runner/gate.toml or <root>/bench-gate.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to count with callgrind [default: <root>/bench-runner/counted.toml or <root>/bench-counted.toml, if present]
    #[arg(long, value_name = "FILE")]
    counted: Option<PathBuf>,
    /// Only this scenario of the file; may be repeated
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<String>,
    /// Time that measuring may take, from when both programs are built: 90s, 20m
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = duration)]
    budget: Duration,
    /// Seed of order, keys and intervals; drawn when absent, and recorded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 53))]
    seed: Option<u64>,
    /// Write gate.json, junit.xml and comment.md here
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure even where base and head are the same bytes, each in layouts of its own; `calibrate --add` counts such gates
    #[arg(long)]
    measure_identical: bool,
    /// An environment variable of head's servers alone
    #[arg(long = "head-env", value_name = "NAME=VALUE", value_parser = variable, hide = true)]
    head_environment: Vec<(String, String)>,
    /// The same of base's
    #[arg(long = "base-env", value_name = "NAME=VALUE", value_parser = variable, hide = true)]
    base_environment: Vec<(String, String)>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let (definition, gate_sha256) = read_definition(args.config.as_deref(), global)?;
    if args.budget < Duration::from_secs(10) {
        eprintln!("bench-runner: a budget below 10s has no room for a single comparison");
        return Ok(EXIT_USAGE);
    }
    let stop = super::raised_by_signals()?;
    let calibration = calibration_of(global, &catalogue::this_machine(&global.root)?.0, &gate_sha256)?;
    let options = Options {
        root: global.root.clone(),
        definition,
        counted: read_counted(args.counted.as_deref(), global)?,
        base: args.base,
        head: args.head,
        head_build: None,
        only: args.only,
        head_environment: args.head_environment,
        base_environment: args.base_environment,
        budget: args.budget,
        seed: args.seed,
        measure_identical: args.measure_identical,
        keep_builds: false,
        command: super::run::command_line(),
    };
    let gate = run(&options, &stop, &mut Told { quiet: global.quiet })?;
    let quote = calibration.as_ref().and_then(output::quote);
    if let Some(folder) = &args.out {
        write(folder, &gate, quote.as_deref())
            .with_context(|| format!("writing into {}", folder.display()))?;
    }
    put(&match global.format {
        Format::Human => output::human(&gate),
        Format::Markdown => output::markdown(&gate, quote.as_deref()),
        Format::Json => output::json(&gate)?,
    })?;
    Ok(match gate.outcome {
        GateOutcome::Pass | GateOutcome::Improvement => EXIT_FINE,
        GateOutcome::Regression => EXIT_REGRESSION,
        GateOutcome::Inconclusive | GateOutcome::NotMeasured => EXIT_INCONCLUSIVE,
    })
}

fn write(folder: &Path, gate: &crate::model::Gate, quote: Option<&str>) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("gate.json"), output::json(gate)?)?;
    std::fs::write(folder.join("junit.xml"), output::junit(gate))?;
    std::fs::write(folder.join("comment.md"), output::markdown(gate, quote))?;
    Ok(())
}

/// The gate's file, checked, and its SHA-256.
pub(super) fn read_definition(
    config: Option<&Path>,
    global: &Global,
) -> anyhow::Result<(GateDefinition, String)> {
    let file = config.map_or_else(|| standard(&global.root), Path::to_path_buf);
    let text = std::fs::read_to_string(&file).with_context(|| {
        format!(
            "cannot read {}: what is to be measured stands there; docs/guarding.md has an example",
            file.display()
        )
    })?;
    let definition = GateDefinition::parse(&file.display().to_string(), &text)?;
    Ok((definition, canonical::sha256_hex(text.as_bytes())))
}

/// What is counted; nothing where no file says so.
pub(super) fn read_counted(
    chosen: Option<&Path>,
    global: &Global,
) -> anyhow::Result<Option<CountedDefinition>> {
    let file = match chosen {
        Some(file) => file.to_path_buf(),
        None => {
            let standard =
                ["bench-runner/counted.toml", "bench-counted.toml"].map(|name| global.root.join(name));
            match standard.into_iter().find(|file| file.is_file()) {
                Some(file) => file,
                None => return Ok(None),
            }
        }
    };
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Some(CountedDefinition::parse(&file.display().to_string(), &text)?))
}

/// What is known of the gate on a machine, for this gate's file.
pub(super) fn calibration_of(
    global: &Global,
    machine_key: &str,
    gate_sha256: &str,
) -> anyhow::Result<Option<Calibration>> {
    calibrate::stored(&global.root.join("results"), machine_key, gate_sha256)
}

fn standard(root: &Path) -> PathBuf {
    let ours = root.join("bench-runner/gate.toml");
    if ours.is_file() { ours } else { root.join("bench-gate.toml") }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Progress on stderr: a line per block, so that a log shows how far it came.
pub(super) struct Told {
    pub(super) quiet: bool,
}

impl Watch for Told {
    fn say(&mut self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    fn block(&mut self, number: usize, open: usize, of: usize) {
        if !self.quiet {
            eprintln!("block {number}: {open} of {of} series undecided");
        }
    }
}
