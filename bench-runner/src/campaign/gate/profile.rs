//! Where does a load that is slower spend what it did not spend before? Instructions by function, of base and of head, for the
//! requests of that load one after the other.

use super::builds::Programs;
use super::callgrind::{functions, server};
use crate::measure::Lab;
use crate::model::{GateFunction, GateOutcome, GateProfile, GateStage, GateVerdict};
use crate::plan::{Operation, WirePhase};
use crate::scenario::{Exchange, ExchangeOperation};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// Functions that are shown.
const SHOWN: usize = 12;
/// Keys of the store, and requests that are counted.
const KEYS: u32 = 1_000;
const REQUESTS: u32 = 4_000;

/// Where the slower loads of a gate spend more; none where nothing is slower. `notes` gets a sentence for what cannot be counted.
pub(super) fn profiles(
    verdicts: &[GateVerdict],
    phases: &[WirePhase],
    subject: &str,
    labs: [&Lab; 2],
    sides: [&Programs; 2],
    stop: &AtomicBool,
    notes: &mut Vec<String>,
) -> Vec<GateProfile> {
    let slower: BTreeSet<&str> = verdicts
        .iter()
        .filter(|one| one.outcome == GateOutcome::Regression && one.stage != GateStage::Counted)
        .map(|one| one.scenario.as_str())
        .collect();
    let mut exchanges: Vec<Exchange> = Vec::new();
    for phase in phases.iter().filter(|phase| slower.contains(phase.cell.key.as_str())) {
        for exchange in asked(phase) {
            if !exchanges.contains(&exchange) {
                exchanges.push(exchange);
            }
        }
    }
    let mut found = Vec::new();
    for exchange in exchanges {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let label = format!("{} {} B, one after the other", exchange.operation.name(), exchange.value_bytes);
        let [base, head] =
            [0, 1].map(|side| per_request(labs[side], subject, &sides[side].program, &exchange));
        match (base, head) {
            (Ok(base), Ok(head)) => found.push(GateProfile { label, functions: apart(&base, &head) }),
            (Err(error), _) | (_, Err(error)) => {
                notes.push(format!("Where {label} spends more is not known: {error:#}"));
            }
        }
    }
    found
}

/// The requests of a load.
fn asked(phase: &WirePhase) -> Vec<Exchange> {
    let of =
        |operation| Exchange { operation, value_bytes: phase.value_bytes, keys: KEYS, requests: REQUESTS };
    phase
        .mix
        .iter()
        .filter_map(|(operation, _)| match operation {
            Operation::Get => Some(of(ExchangeOperation::Get)),
            Operation::Set => Some(of(ExchangeOperation::Set)),
            _ => None,
        })
        .collect()
}

/// Instructions of each function per request, without those of starting, filling and ending.
fn per_request(
    lab: &Lab,
    subject: &str,
    program: &std::path::Path,
    exchange: &Exchange,
) -> anyhow::Result<BTreeMap<String, f64>> {
    let all = functions(&server(lab, subject, program, exchange, exchange.requests)?);
    let around = functions(&server(lab, subject, program, exchange, 0)?);
    let own = |name: &str, count: u64| {
        let around = around.get(name).copied().unwrap_or(0);
        count.saturating_sub(around) as f64 / f64::from(exchange.requests)
    };
    Ok(all.into_iter().map(|(name, count)| (name.clone(), own(&name, count))).collect())
}

/// The functions that take more under head, the most first.
fn apart(base: &BTreeMap<String, f64>, head: &BTreeMap<String, f64>) -> Vec<GateFunction> {
    let names: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    let of = |side: &BTreeMap<String, f64>, name: &String| side.get(name).copied().unwrap_or(0.0);
    let mut all: Vec<GateFunction> = names
        .into_iter()
        .map(|name| GateFunction { name: name.clone(), base: of(base, name), head: of(head, name) })
        // Less than an instruction a request is none.
        .filter(|one| (one.head - one.base).abs() >= 1.0)
        .collect();
    all.sort_by(|one, other| (other.head - other.base).total_cmp(&(one.head - one.base)));
    all.truncate(SHOWN);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_more_stands_first_and_what_stays_is_left_out() {
        let of = |all: &[(&str, f64)]| -> BTreeMap<String, f64> {
            all.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let base = of(&[("same", 100.0), ("less", 50.0), ("more", 10.0), ("much", 1.0)]);
        let head = of(&[("same", 100.4), ("less", 20.0), ("more", 30.0), ("much", 500.0), ("new", 9.0)]);
        let names: Vec<String> = apart(&base, &head).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["much", "more", "new", "less"]);
        let many: BTreeMap<String, f64> = (0..50).map(|place| (format!("f{place}"), 10.0)).collect();
        assert_eq!(apart(&BTreeMap::new(), &many).len(), SHOWN);
    }
}
