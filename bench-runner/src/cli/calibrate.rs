//! `bench-runner calibrate`: how often does the gate err on this machine?

use super::gate::{Told, read_definition};
use super::selection::duration;
use super::stdout::put;
use super::{EXIT_FINE, Format, Global};
use crate::campaign::gate::calibrate::{Calibrating, add_identical, calibrate};
use crate::export::gate_artifact::read_gate;
use crate::model::{Calibration, InjectedAs};
use crate::output::table;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Measure the false positive and detection rates of the gate on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner calibrate                     for an hour; the next call continues
  bench-runner calibrate --slice 10m --gates 8
  bench-runner calibrate --add target/bench-gate/gate.json

Four gates in seven compare builds of the same code that differ in the names of their symbols or in comments, and in their \
layout; the others slow it by 3, 5 or 10 %, as CPU work or as sleep, or delay 1 % of the replies by 5 ms. Noise is \
measured first, apart from the gates. Finished gates are stored in results/calibration/<machine>.json at once, and the counts are \
printed after each. Gates that were not measured, or whose budget ended first, are counted apart. A calibration of another rule, \
gate's file, runner or machine is renamed, and a new one begins; another budget is refused.")]
pub(super) struct Args {
    /// The commit to compare with itself
    #[arg(long, value_name = "REF", default_value = "HEAD")]
    commit: String,
    /// What to measure [default: as for gate]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Start no gate that would probably end after this time, but for the first
    #[arg(long, value_name = "TIME", default_value = "60m", value_parser = duration)]
    slice: Duration,
    /// Start no gate once this many are stored
    #[arg(long, value_name = "N")]
    gates: Option<usize>,
    /// Budget of each gate
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = duration)]
    budget: Duration,
    /// Measure nothing; count gates of the same program on both sides (gate --measure-identical) among those of no change
    #[arg(long, value_name = "GATE.JSON", num_args = 1..)]
    add: Vec<PathBuf>,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let (definition, gate_sha256) = read_definition(args.config.as_deref(), global)?;
    let results = args.results.clone().unwrap_or_else(|| global.root.join("results"));
    if !args.add.is_empty() {
        let gates = args.add.iter().map(|path| read_gate(path, None)).collect::<Result<Vec<_>, _>>()?;
        let (calibration, path, new) = add_identical(&results, &gate_sha256, &gates)?;
        if !global.quiet {
            eprintln!("{new} of {} gates were new", gates.len());
        }
        return print(&calibration, &path, global);
    }
    let stop = super::raised_by_signals()?;
    let asked = Calibrating {
        root: global.root.clone(),
        results,
        definition,
        gate_sha256,
        commit: args.commit,
        slice: args.slice,
        gates: args.gates.unwrap_or(usize::MAX),
        budget: args.budget,
        command: super::run::command_line(),
    };
    let (calibration, path) = calibrate(&asked, &stop, &mut Told { quiet: global.quiet })?;
    print(&calibration, &path, global)
}

fn print(calibration: &Calibration, path: &Path, global: &Global) -> anyhow::Result<u8> {
    put(&match global.format {
        Format::Json => format!("{:#}\n", serde_json::to_value(calibration)?),
        Format::Human => format!("{}\ncalibration  {}\n", shown(calibration, table::human), path.display()),
        Format::Markdown => shown(calibration, table::markdown),
    })?;
    Ok(EXIT_FINE)
}

fn shown(calibration: &Calibration, drawn: table::Drawn) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let rates: Vec<Vec<String>> = calibration
        .rates
        .iter()
        .map(|rate| {
            vec![
                match rate.injected_as {
                    None => "nothing".to_owned(),
                    Some(InjectedAs::Spin) => format!("+{} % as work", rate.injected_percent),
                    Some(InjectedAs::Sleep) => format!("+{} % as sleep", rate.injected_percent),
                    Some(InjectedAs::Tail) => format!("{} % of replies 5 ms later", rate.injected_percent),
                },
                rate.gates.to_string(),
                rate.regression.to_string(),
                rate.undecided.to_string(),
                rate.unfinished.to_string(),
                format!("{} to {}", percent(rate.rate_low), percent(rate.rate_high)),
            ]
        })
        .collect();
    let noise: Vec<Vec<String>> = calibration
        .noise
        .iter()
        .map(|one| {
            vec![
                one.label.clone(),
                one.metric.clone(),
                percent(one.block_sd),
                one.detectable.map_or("none".to_owned(), |ratio| percent(ratio - 1.0)),
                one.class.name().to_owned(),
            ]
        })
        .collect();
    format!(
        "{}\n\n{}\n",
        drawn(&["scenario", "metric", "block sd", "finds", "class"], &[2, 3], &noise),
        drawn(
            &["injected", "gates", "said regression", "undecided", "unfinished", "95 % interval"],
            &[1, 2, 3, 4, 5],
            &rates
        )
    )
}
