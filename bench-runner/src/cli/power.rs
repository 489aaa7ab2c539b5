//! `bench-runner power`: how often does the gate's rule find a change, and how often does it cry wolf?

use super::stdout::put;
use super::{EXIT_FINE, EXIT_USAGE, Format, Global};
use crate::gate::{Case, Noise, Power, Rules, simulate};
use crate::output::{document, table};
use serde_json::json;

/// Simulate the error rates of the gate's rule
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bench-runner power                              the whole table, a few minutes\n  \
    bench-runner power --block-sd 3 --scenarios 6   one noise level, six scenarios\n\n\
    One of the scenarios is made slower by each effect. The code that judges pull requests is given blocks drawn from a \
    normal distribution. The same seed gives the same table."
)]
pub(super) struct Args {
    /// Standard deviations of the log ratio of a block, percent
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2,3,5,8")]
    block_sd: Vec<f64>,
    /// How much worse the changed scenario is, percent
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0,3,5,8,10")]
    effect: Vec<f64>,
    /// Scenarios in the gate
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "6,40")]
    scenarios: Vec<usize>,
    /// Gates simulated for each
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    gates: u32,
    /// Seed of the blocks
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let out_of_range = |list: &[f64]| list.iter().any(|percent| !(0.0..=100.0).contains(percent));
    if out_of_range(&args.block_sd) || out_of_range(&args.effect) {
        eprintln!("bench-runner: --block-sd and --effect are percentages from 0 to 100");
        return Ok(EXIT_USAGE);
    }
    if args.gates == 0 || args.scenarios.iter().any(|count| !(1..=1_000).contains(count)) {
        eprintln!("bench-runner: --gates is at least 1, --scenarios from 1 to 1000");
        return Ok(EXIT_USAGE);
    }
    let rules = Rules::default();
    let mut found = Vec::new();
    let all = args.scenarios.len() * args.block_sd.len() * args.effect.len();
    for scenarios in &args.scenarios {
        for block_sd in &args.block_sd {
            for effect in &args.effect {
                if !global.quiet {
                    eprintln!(
                        "{}/{all}: {scenarios} scenarios, blocks ±{block_sd} %, {effect} % slower",
                        found.len() + 1
                    );
                }
                let case =
                    Case { block_sd: block_sd / 100.0, effect: 1.0 + effect / 100.0, scenarios: *scenarios };
                found.push((case, simulate(&case, args.gates, &rules, args.seed)));
            }
        }
    }
    put(&match global.format {
        Format::Json => as_json(&found, args.seed)?,
        Format::Human => as_table(&found, &args.effect, &rules, table::human),
        Format::Markdown => as_table(&found, &args.effect, &rules, table::markdown),
    })?;
    Ok(EXIT_FINE)
}

fn as_json(found: &[(Case, Power)], seed: u64) -> anyhow::Result<String> {
    let rows: Vec<_> = found
        .iter()
        .map(|(case, power)| {
            json!({
                "block_sd": case.block_sd, "effect": case.effect, "scenarios": case.scenarios, "gates": power.gates,
                "caught": power.caught, "false_red": power.false_red, "inconclusive": power.inconclusive,
            })
        })
        .collect();
    Ok(format!("{:#}\n", document("power", json!({"seed": seed, "cases": rows}))))
}

type Drawn = fn(&[&str], &[usize], &[Vec<String>]) -> String;

/// A row per noise and number of scenarios, a column per effect.
fn as_table(found: &[(Case, Power)], effects: &[f64], rules: &Rules, drawn: Drawn) -> String {
    let share = |count: u32, gates: u32| format!("{:.1} %", f64::from(count) * 100.0 / f64::from(gates));
    let mut head =
        vec!["scenarios".to_owned(), "block sd".to_owned(), "class".to_owned(), "finds".to_owned()];
    head.extend(effects.iter().map(|effect| match effect {
        0.0 => "false red".to_owned(),
        effect => format!("+{effect} %"),
    }));
    let rows: Vec<Vec<String>> = found
        .chunks(effects.len().max(1))
        .filter_map(|row| {
            let (case, _) = row.first()?;
            let noise = Noise::new(case.block_sd, 1);
            let least = noise
                .detectable(rules)
                .map_or("–".to_owned(), |ratio| format!("{:.1} %", (ratio - 1.0) * 100.0));
            let mut cells = vec![
                case.scenarios.to_string(),
                format!("{} %", case.block_sd * 100.0),
                noise.class(rules).name().to_owned(),
                least,
            ];
            cells.extend(row.iter().map(|(case, power)| {
                share(if case.effect > 1.0 { power.caught } else { power.false_red }, power.gates)
            }));
            Some(cells)
        })
        .collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let right: Vec<usize> = (0..head.len()).filter(|column| *column != 2).collect();
    format!("{}\n", drawn(&head, &right, &rows))
}
