//! What do criterion's estimates say of a claim on parts?
//!
//! A claim of the scenario `components` names parts of ours by their keys (`at = { component = "lsm-memtable/get/4096" }`) and, below the line, the library whose like part
//! must stand beside each of them in the same run. The ends of a ratio's interval are those of the two estimates' intervals put against each other: wider than 95 %,
//! never narrower, for nothing pairs the samples of two benchmarks.

use super::definition::Definition;
use super::judge::{judge, judge_every, slack_percent};
use crate::model::{ClaimVerdict, Component, Evidence, Figure, Run, Spread};
use serde_json::Value;

/// The scenario that such claims name: criterion's estimates are in the run itself, not in a record of a scenario.
pub const COMPONENTS: &str = "components";

const TIME: &str = "ns_per_op";
const ALLOCATIONS: &str = "allocations_per_op";

/// What makes no sense in a claim on parts.
pub(super) fn faults(claim: &Definition) -> Vec<String> {
    let mut faults = Vec::new();
    if ![TIME, ALLOCATIONS].contains(&claim.metric.as_str()) {
        faults.push(format!(
            "`metric` is '{}'; of components there are {TIME} and {ALLOCATIONS}",
            claim.metric
        ));
    }
    let is_text = |value: &Value| value.is_string();
    let is_named = match claim.at.get("component") {
        Some(Value::Array(keys)) => !keys.is_empty() && keys.iter().all(is_text),
        one => one.is_some_and(is_text),
    };
    if !is_named || claim.at.len() > 1 {
        faults.push("`at` has one axis, `component`: the key of a part, or a list of keys".to_owned());
    }
    let sides = [Some(&claim.numerator), claim.denominator.as_ref()];
    if sides
        .iter()
        .flatten()
        .any(|side| !side.axes.is_empty() || side.metric.is_some() || side.target.is_empty())
    {
        faults.push(
            "a side of components has a `target` and nothing else: plumbkv, or a library below the line"
                .to_owned(),
        );
    }
    if claim.minus.is_some()
        || claim.or.is_some()
        || claim.every_trial
        || claim.operation.is_some()
        || claim.placement.is_some()
    {
        faults
            .push("components have no `minus`, `or`, `every_trial`, `operation` and `placement`".to_owned());
    }
    if claim.metric == ALLOCATIONS && claim.denominator.is_some() {
        faults.push("allocations are bounded themselves, not as a ratio".to_owned());
    }
    faults
}

/// One entry for each part that the claim names.
pub(super) fn evidence(definition: &Definition, components: &[Component]) -> Vec<Evidence> {
    let keys = match definition.at.get("component") {
        Some(Value::Array(keys)) => keys.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(key)) => vec![key.as_str()],
        _ => Vec::new(),
    };
    keys.into_iter().map(|key| of_part(definition, components, key)).collect()
}

fn of_part(definition: &Definition, components: &[Component], key: &str) -> Evidence {
    let ours = components.iter().find(|one| one.key == key && one.library.is_none());
    let library = definition.denominator.as_ref().map(|side| side.target.as_str());
    let theirs = library.map(|library| (library, counterpart(components, key, library)));
    let missing = |what: String| (ClaimVerdict::NotMeasured, what, None);
    let (verdict, reason, figure) = match (ours, theirs) {
        (None, _) => missing(format!("the run has no part {key}")),
        (_, Some((library, None))) => missing(format!("the run has no part of {library} beside {key}")),
        (Some(ours), _) if definition.metric == ALLOCATIONS => match ours.allocations_per_op {
            None => missing(format!("the allocations of {key} were not counted")),
            Some(count) => {
                let (verdict, reason) = judge_every(&[count], definition.comparison, definition.bound, true);
                let n = ours.samples.unwrap_or_default();
                (
                    verdict,
                    reason,
                    Some(Figure { median: count, low: count, high: count, spread: Spread::Range, n }),
                )
            }
        },
        (Some(ours), theirs) => {
            let figure = ratio(ours, theirs.and_then(|(_, theirs)| theirs));
            let (verdict, reason) =
                judge(&figure, definition.comparison, definition.bound, slack_percent(&definition.metric));
            (verdict, reason, Some(figure))
        }
    };
    Evidence {
        numerator: key.to_owned(),
        denominator: theirs.and_then(|(_, theirs)| theirs).map(|theirs| theirs.key.clone()),
        label: key.to_owned(),
        verdict,
        reason,
        figure,
    }
}

/// The part of a library that stands beside one of ours; a library is named without its version.
fn counterpart<'a>(components: &'a [Component], key: &str, library: &str) -> Option<&'a Component> {
    let is_of =
        |one: &Component| one.library.as_ref().is_some_and(|name| name.split(' ').next() == Some(library));
    components.iter().find(|one| one.counterpart.as_deref() == Some(key) && is_of(one))
}

fn ratio(ours: &Component, theirs: Option<&Component>) -> Figure {
    let (below, below_low, below_high) =
        theirs.map_or((1.0, 1.0, 1.0), |one| (one.ns_per_op, one.ns_per_op_low, one.ns_per_op_high));
    let samples = |one: &Component| one.samples.unwrap_or_default();
    Figure {
        median: ours.ns_per_op / below,
        low: ours.ns_per_op_low / below_high,
        high: ours.ns_per_op_high / below_low,
        spread: Spread::Interval,
        n: samples(ours).min(theirs.map_or(u32::MAX, samples)),
    }
}

/// Whose parts were judged, with versions.
pub(super) fn targets(definition: &Definition, run: &Run) -> Vec<String> {
    let ours = format!("PlumbKV {}", run.source.version);
    let named = definition.denominator.as_ref().map(|side| side.target.as_str());
    let of = run.components.iter().filter_map(|one| one.library.as_deref());
    let theirs = of.into_iter().find(|library| library.split(' ').next() == named);
    std::iter::once(ours).chain(theirs.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Candidate, evaluate, parse};
    use super::*;
    use crate::export::testing;

    fn part(key: &str, ns: f64, library: Option<(&str, &str)>) -> Component {
        Component {
            key: key.into(),
            group: "skip".into(),
            name: key.trim_start_matches("skip/").into(),
            ns_per_op: ns,
            ns_per_op_low: ns * 0.9,
            ns_per_op_high: ns * 1.1,
            estimate: "slope".into(),
            bytes_per_op: None,
            samples: Some(20),
            allocations_per_op: Some(if library.is_some() { 2.0 } else { 0.0 }),
            library: library.map(|(library, _)| library.into()),
            counterpart: library.map(|(_, key)| key.into()),
        }
    }

    fn verdict(components: &[Component], rest: &str) -> (ClaimVerdict, Vec<Evidence>) {
        let text = format!(
            "[[claim]]\nkey = \"k\"\nstatement = \"S.\"\nscenario = \"components\"\nsaid_in = [\"README.md\"]\n\
             since = \"0.0.1\"\nmeasure = \"make components\"\ncomparison = \"<=\"\nnumerator = {{ target = \"plumbkv\" }}\n{rest}"
        );
        let definition = parse("claims.toml", &text, &["wire-single"], &["plumbkv"]).unwrap().remove(0);
        let (mut run, _) = testing::run();
        run.components = components.to_vec();
        let candidate = Candidate {
            machine_key: "m",
            machine_title: "M",
            runs: Ok(vec![(&run, None, "run.json".to_owned())]),
        };
        let mut claim = evaluate(&definition, &[candidate]);
        (claim.verdict, claim.machines.remove(0).evidence)
    }

    #[test]
    fn parts_are_judged_beside_the_like_part_of_a_library_or_by_themselves() {
        use ClaimVerdict::{Fails, Holds, NotMeasured};
        let parts = [
            part("skip/get/8", 50.0, None),
            part("skip/get-other/8", 100.0, Some(("other 1.2", "skip/get/8"))),
            part("skip/get-third/8", 52.0, Some(("third 3.0", "skip/get/8"))),
        ];
        let of = |rest: &str| {
            let (verdict, mut evidence) = verdict(&parts, rest);
            (verdict, evidence.remove(0))
        };
        let at = "at = { component = \"skip/get/8\" }\n";
        let (found, one) =
            of(&format!("metric = \"ns_per_op\"\nbound = 1.0\ndenominator = {{ target = \"other\" }}\n{at}"));
        let figure = one.figure.unwrap();
        assert_eq!(
            (found, figure.median, figure.n, one.denominator.as_deref()),
            (Holds, 0.5, 20, Some("skip/get-other/8"))
        );
        assert!((figure.low - 45.0 / 110.0).abs() < 1e-9 && (figure.high - 55.0 / 90.0).abs() < 1e-9);
        // The median is better, the far end of the interval is not.
        assert_eq!(
            of(&format!("metric = \"ns_per_op\"\nbound = 1.0\ndenominator = {{ target = \"third\" }}\n{at}"))
                .0,
            Fails
        );
        for (bound, expected) in [(60.0, Holds), (50.0, Fails), (49.0, Fails)] {
            assert_eq!(
                of(&format!("metric = \"ns_per_op\"\nbound = {bound:?}\n{at}")).0,
                expected,
                "{bound}"
            );
        }
        assert_eq!(of(&format!("metric = \"allocations_per_op\"\nbound = 0.0\n{at}")).0, Holds);
        let absent = "at = { component = [\"skip/get/9\"] }\n";
        assert_eq!(of(&format!("metric = \"ns_per_op\"\nbound = 60.0\n{absent}")).0, NotMeasured);
        assert_eq!(
            of(&format!(
                "metric = \"ns_per_op\"\nbound = 1.0\ndenominator = {{ target = \"fourth\" }}\n{at}"
            ))
            .0,
            NotMeasured
        );
    }

    #[test]
    fn an_allocation_breaks_a_bound_of_none() {
        let mut one = part("skip/get/8", 50.0, None);
        one.allocations_per_op = Some(0.01);
        let rest = "metric = \"allocations_per_op\"\nbound = 0.0\nat = { component = \"skip/get/8\" }\n";
        assert_eq!(verdict(&[one], rest).0, ClaimVerdict::Fails);
    }

    #[test]
    fn a_claim_on_parts_that_makes_no_sense_is_told() {
        let read = |rest: &str| {
            let text = format!(
                "[[claim]]\nkey = \"k\"\nstatement = \"S.\"\nscenario = \"components\"\nsaid_in = [\"README.md\"]\nsince = \"0.0.1\"\n\
                 measure = \"make components\"\ncomparison = \"<=\"\nbound = 1.0\nnumerator = {{ target = \"plumbkv\" }}\n{rest}"
            );
            parse("claims.toml", &text, &[], &[]).unwrap_err().to_string()
        };
        assert!(read("metric = \"ns\"\nat = { component = \"a\" }").contains("ns_per_op"));
        assert!(read("metric = \"ns_per_op\"").contains("one axis"));
        assert!(read("metric = \"ns_per_op\"\nat = { component = \"a\", clients = 1 }").contains("one axis"));
        assert!(
            read("metric = \"ns_per_op\"\nat = { component = \"a\" }\nevery_trial = true")
                .contains("every_trial")
        );
        let ratio =
            "metric = \"allocations_per_op\"\nat = { component = \"a\" }\ndenominator = { target = \"x\" }";
        assert!(read(ratio).contains("not as a ratio"));
    }
}
