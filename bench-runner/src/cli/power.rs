//! `bench-runner power`: how often does the gate's rule find a change, and how often does it cry wolf?

use super::stdout::put;
use super::{EXIT_FINE, EXIT_USAGE, Format, Global};
use crate::gate::{Case, Power, Rules, Shape, simulate};
use crate::model::GATE_RULE;
use crate::output::{document, table};
use serde_json::json;
use std::thread;

/// Simulate the error rates of the gate's rule
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bench-runner power                                   the whole table, a few minutes\n  \
    bench-runner power --block-sd 3 --effect 0,5 --mood 0   one noise level, two effects\n\n\
    One series of a gate is made slower by each effect. The code that judges pull requests is given blocks of which a part \
    comes from new layouts of the two programs, a part from the machine's mood, which all series share, and the rest from a \
    normal distribution, from one with heavy tails, or from bursts. The same seed gives the same table."
)]
pub(super) struct Args {
    /// Standard deviations of the log ratio of a block, percent
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,4.5")]
    block_sd: Vec<f64>,
    /// Of them, what new layouts of a program do to it, percent
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,1,2,3")]
    layout_sd: Vec<f64>,
    /// Correlation of the machine's mood from one trial to the next
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,0.5,0.8")]
    mood: Vec<f64>,
    /// How much worse the changed series is, percent
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,3,5,10")]
    effect: Vec<f64>,
    /// Series in the gate
    #[arg(long, value_name = "N", default_value_t = 12)]
    series: usize,
    /// Gates simulated for each
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    gates: u32,
    /// Seed of the blocks
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let is_out = |list: &[f64], most: f64| list.iter().any(|one| !(0.0..=most).contains(one));
    if [&args.block_sd, &args.layout_sd, &args.effect].into_iter().any(|list| is_out(list, 100.0)) {
        eprintln!("bench-runner: --block-sd, --layout-sd and --effect are percentages from 0 to 100");
        return Ok(EXIT_USAGE);
    }
    if is_out(&args.mood, 0.99) || args.gates == 0 || !(1..=1_000).contains(&args.series) {
        eprintln!("bench-runner: --mood is from 0 to 0.99, --gates at least 1, --series from 1 to 1000");
        return Ok(EXIT_USAGE);
    }
    let cases = cases(&args);
    let found = simulated(&cases, &args, global.quiet);
    put(&match global.format {
        Format::Json => as_json(&found, args.seed)?,
        Format::Human => as_table(&found, &args.effect, table::human),
        Format::Markdown => as_table(&found, &args.effect, table::markdown),
    })?;
    Ok(EXIT_FINE)
}

/// What is simulated; the effects of one row follow each other.
fn cases(args: &Args) -> Vec<Case> {
    let mut all = Vec::new();
    for block_sd in &args.block_sd {
        // What new layouts do to both sides is a part of what a block scatters, and no more than all of it.
        for layout_sd in args.layout_sd.iter().filter(|one| *one * 2.0_f64.sqrt() <= *block_sd) {
            for mood in &args.mood {
                for shape in Shape::ALL {
                    all.extend(args.effect.iter().map(|effect| Case {
                        block_sd: block_sd / 100.0,
                        layout_sd: layout_sd / 100.0,
                        mood: *mood,
                        shape,
                        effect: 1.0 + effect / 100.0,
                        series: args.series,
                    }));
                }
            }
        }
    }
    all
}

/// Each case has a seed of its own, so the number of threads changes nothing.
fn simulated(cases: &[Case], args: &Args, is_quiet: bool) -> Vec<(Case, Power)> {
    let rules = Rules::default();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut found = Vec::new();
    for some in cases.chunks(threads) {
        if !is_quiet {
            eprintln!("{} of {} cases", found.len(), cases.len());
        }
        let powers: Vec<Option<Power>> = thread::scope(|scope| {
            let each = some.iter().enumerate().map(|(place, case)| {
                let seed = args.seed.wrapping_add((found.len() + place) as u64);
                scope.spawn(move || simulate(case, args.gates, &rules, seed))
            });
            let all: Vec<_> = each.collect();
            all.into_iter().map(|one| one.join().ok()).collect()
        });
        found.extend(some.iter().zip(powers).filter_map(|(case, power)| Some((*case, power?))));
    }
    found
}

fn as_json(found: &[(Case, Power)], seed: u64) -> anyhow::Result<String> {
    let rows: Vec<_> = found
        .iter()
        .map(|(case, power)| {
            json!({
                "block_sd": case.block_sd, "layout_sd": case.layout_sd, "mood": case.mood, "shape": case.shape.name(),
                "effect": case.effect, "series": case.series, "gates": power.gates, "caught": power.caught,
                "false_red": power.false_red, "inconclusive": power.inconclusive,
                "blocks": power.blocks as f64 / f64::from(power.gates),
            })
        })
        .collect();
    Ok(format!("{:#}\n", document("power", json!({"rule": GATE_RULE, "seed": seed, "cases": rows}))))
}

/// A row per noise, a column per effect.
fn as_table(found: &[(Case, Power)], effects: &[f64], drawn: table::Drawn) -> String {
    let share = |count: u32, gates: u32| format!("{:.1} %", f64::from(count) * 100.0 / f64::from(gates));
    let mut head: Vec<String> = ["block sd", "layout sd", "mood", "shape"].map(str::to_owned).to_vec();
    head.extend(effects.iter().map(|effect| match effect {
        0.0 => "false red".to_owned(),
        effect => format!("+{effect} %"),
    }));
    head.push("blocks".to_owned());
    let rows: Vec<Vec<String>> = found
        .chunks(effects.len().max(1))
        .filter_map(|row| {
            let (case, first) = row.first()?;
            let mut cells = vec![
                format!("{} %", figure(case.block_sd * 100.0)),
                format!("{} %", figure(case.layout_sd * 100.0)),
                figure(case.mood),
                case.shape.name().to_owned(),
            ];
            cells.extend(row.iter().map(|(case, power)| {
                share(if case.effect > 1.0 { power.caught } else { power.false_red }, power.gates)
            }));
            cells.push(format!("{:.0}", first.blocks as f64 / f64::from(first.gates)));
            Some(cells)
        })
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let right: Vec<usize> = (0..head.len()).filter(|column| *column != 3).collect();
    format!("{}\n", drawn(&head, &right, &rows))
}

/// Without the digits that a division by a hundred leaves behind.
fn figure(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}
