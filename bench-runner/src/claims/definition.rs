//! What may stand in `results/claims.toml`? The text shape, and its checks.

use super::components::COMPONENTS;
use crate::model::{Axes, Comparison, Mode, Placement, metric};
use crate::scenario::strict::{self, StrictError};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use thiserror::Error;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    claim: Vec<Definition>,
}

/// A claim as it is written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Lower-case words joined by `-`; names the claim on its page.
    pub key: String,
    /// What is claimed, one plain sentence.
    pub statement: String,
    /// Scenario whose record decides; `components`: criterion's estimates do.
    pub scenario: String,
    /// Metric of the figure, or of its numerator.
    pub metric: String,
    /// In a mix: the operation the metric is of.
    pub operation: Option<String>,
    /// CPUs of target and generator, on both sides; without, whichever they share.
    pub placement: Option<Placement>,
    /// Axes that both sides have, each a value or a list of which any will do.
    #[serde(default)]
    pub at: Map<String, Value>,
    /// Axes that neither side has: cells that have one take no part.
    #[serde(default)]
    pub without: Vec<String>,
    /// Cells above the line.
    pub numerator: Side,
    /// Cells below it; without, the figure itself is bounded.
    pub denominator: Option<Side>,
    /// Taken from the figure, round by round: the bound is then on a difference.
    pub minus: Option<Minus>,
    /// Another line and bound: a cell that misses the first may meet this one.
    pub or: Option<Or>,
    /// The worst trial must meet the bound, not the median.
    #[serde(default)]
    pub every_trial: bool,
    /// `<=` or `>=`.
    pub comparison: Comparison,
    /// The bound.
    pub bound: f64,
    /// Files in which it is said, from the root of the repository.
    pub said_in: Vec<String>,
    /// First version whose runs are judged by it.
    pub since: String,
    /// The command whose run decides it.
    pub measure: String,
    /// Shown beside the figures where it fails: where the time goes, and what is to be done next.
    pub remark: Option<String>,
}

/// What is taken from a figure: another one, or another ratio.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minus {
    /// Cells above the line.
    pub numerator: Side,
    /// Cells below it; without, the figure itself is taken.
    pub denominator: Option<Side>,
}

/// What a cell may meet in place of the bound.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Or {
    /// Cells below the line.
    pub denominator: Side,
    /// The bound.
    pub bound: f64,
}

/// The cells of one side.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Key of a target; empty where `better_of` names several.
    #[serde(default)]
    pub target: String,
    /// Keys of targets, of which the one counts whose median is better at that point.
    #[serde(default)]
    pub better_of: Vec<String>,
    /// Where it ran.
    #[serde(default = "native")]
    pub mode: Mode,
    /// The side's metric, where not the claim's.
    pub metric: Option<String>,
    /// Axes that this side alone has at these values.
    #[serde(default)]
    pub axes: Map<String, Value>,
}

impl Side {
    /// The targets it names.
    pub(super) fn targets(&self) -> &[String] {
        if self.better_of.is_empty() { std::slice::from_ref(&self.target) } else { &self.better_of }
    }

    /// Its targets in words.
    pub(super) fn told(&self) -> String {
        match self.better_of.split_last() {
            None => self.target.clone(),
            Some((last, others)) => format!("the better of {} and {last}", others.join(", ")),
        }
    }
}

impl Definition {
    /// Every side, the numerator first.
    pub(super) fn sides(&self) -> impl Iterator<Item = &Side> {
        let minus = self.minus.iter().flat_map(|it| std::iter::once(&it.numerator).chain(&it.denominator));
        std::iter::once(&self.numerator).chain(&self.denominator).chain(minus)
    }

    /// The same claim by its other line and bound.
    pub(super) fn otherwise(&self) -> Option<Self> {
        let Or { denominator, bound } = self.or.clone()?;
        Some(Self { denominator: Some(denominator), bound, or: None, ..self.clone() })
    }
}

fn native() -> Mode {
    Mode::Native
}

/// Why a file is not a list of claims.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClaimError {
    /// TOML or the types refuse it.
    #[error(transparent)]
    Text(#[from] StrictError),
    /// It can be read, but makes no sense.
    #[error("{file}: {faults}")]
    Senseless {
        /// The file.
        file: String,
        /// Every fault, joined by semicolons.
        faults: String,
    },
}

/// Reads and checks a list of claims. `scenarios` and `targets` are the known keys; where a list is empty
/// nothing is known, and its names are not checked.
///
/// # Errors
/// When the text is no list of claims, or a claim makes no sense; names every fault with the nearest known word.
pub fn parse(
    file: &str,
    text: &str,
    scenarios: &[&str],
    targets: &[&str],
) -> Result<Vec<Definition>, ClaimError> {
    let claims = strict::parse::<File>(file, text)?.claim;
    let mut faults = Vec::new();
    let mut keys = HashSet::new();
    for claim in &claims {
        let mut wrong = faults_of(claim, scenarios, targets);
        if !keys.insert(&claim.key) {
            wrong.push("another claim has this key".to_owned());
        }
        faults.extend(wrong.into_iter().map(|fault| format!("claim `{}`: {fault}", claim.key)));
    }
    if faults.is_empty() {
        Ok(claims)
    } else {
        Err(ClaimError::Senseless { file: file.to_owned(), faults: faults.join("; ") })
    }
}

fn faults_of(claim: &Definition, scenarios: &[&str], targets: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if claim.key.is_empty() || !claim.key.chars().all(plain) {
        faults.push("a key is lower-case letters, digits and '-'".to_owned());
    }
    if claim.statement.trim().is_empty() || claim.statement.contains('\n') {
        faults.push("`statement` is one line".to_owned());
    }
    let of_components = claim.scenario == COMPONENTS;
    // No allocation at all can be claimed, no time at all cannot.
    let may_be_nought = claim.minus.is_some()
        || (of_components && claim.bound == 0.0 && claim.metric.starts_with("allocations"));
    if !claim.bound.is_finite() || (claim.bound <= 0.0 && !may_be_nought) {
        faults.push(format!("`bound` is {}, and must be a number above zero", claim.bound));
    }
    if claim.minus.is_some() && claim.or.is_some() {
        faults.push("`minus` and `or` do not go together".to_owned());
    }
    if let Some(minus) = &claim.minus
        && minus.denominator.is_some() != claim.denominator.is_some()
    {
        faults.push("`minus` takes a ratio from a ratio, or a figure from a figure".to_owned());
    }
    if let Some(or) = &claim.or
        && (!or.bound.is_finite() || or.bound <= 0.0)
    {
        faults.push("`or` is another denominator with a bound above zero".to_owned());
    }
    if claim.said_in.is_empty() {
        faults.push("`said_in` names no file: a claim is made somewhere".to_owned());
    }
    let numbers = claim.since.split('.').filter(|part| part.parse::<u32>().is_ok()).count();
    if numbers != 3 {
        faults.push(format!("`since` is '{}', not a version such as 0.2.0", claim.since));
    }
    if of_components {
        faults.extend(super::components::faults(claim));
        return faults;
    }
    known(&mut faults, "scenario", &claim.scenario, scenarios);
    for side in sides(claim) {
        if side.better_of.is_empty() == side.target.is_empty() || side.better_of.len() == 1 {
            faults.push("a side has either a `target` or a `better_of` with two and more".to_owned());
            continue;
        }
        side.targets().iter().for_each(|key| known(&mut faults, "target", key, targets));
    }
    if !claim.numerator.better_of.is_empty() {
        faults.push("`better_of` stands below a line: what is claimed is claimed of one target".to_owned());
    }
    let metrics = metric_names();
    let named = sides(claim).filter_map(|side| side.metric.as_ref());
    for name in std::iter::once(&claim.metric).chain(named) {
        known(&mut faults, "metric", name, &metrics);
    }
    for axes in std::iter::once(&claim.at).chain(sides(claim).map(|side| &side.axes)) {
        faults.extend(faults_of_axes(axes));
    }
    for name in &claim.without {
        faults.extend(fault_of_axis(name, &Value::Null).filter(|fault| fault.starts_with("unknown axis")));
        if claim.at.contains_key(name) || sides(claim).any(|side| side.axes.contains_key(name)) {
            faults.push(format!("`without` names `{name}`, which a side is to have"));
        }
    }
    if let Some(denominator) = &claim.denominator
        && denominator == &claim.numerator
    {
        faults.push("numerator and denominator are the same cells and the same metric".to_owned());
    }
    faults
}

fn sides(claim: &Definition) -> impl Iterator<Item = &Side> {
    claim.sides().chain(claim.or.as_ref().map(|or| &or.denominator))
}

fn metric_names() -> Vec<&'static str> {
    metric::METRICS.iter().map(|one| one.name).chain([super::rounds::GENERATOR_CPU]).collect()
}

fn known(faults: &mut Vec<String>, what: &str, name: &str, names: &[&str]) {
    if !names.is_empty() && !names.contains(&name) {
        faults.push(format!("unknown {what} `{name}`; {}", strict::advice(name, names)));
    }
}

/// Axes are checked by the type that cells have, so that a misspelt one, or a text where a number stands in
/// the cells, cannot pass as "matches nothing".
fn faults_of_axes(axes: &Map<String, Value>) -> Vec<String> {
    let values = axes.iter().flat_map(|(name, value)| match value {
        Value::Array(any) if any.is_empty() => vec![(name, value)],
        Value::Array(any) => any.iter().map(|one| (name, one)).collect(),
        one => vec![(name, one)],
    });
    values.filter_map(|(name, value)| fault_of_axis(name, value)).collect()
}

fn fault_of_axis(name: &str, value: &Value) -> Option<String> {
    let mut whole = Map::new();
    whole.insert("operation".to_owned(), Value::from("set"));
    whole.insert(name.to_owned(), value.clone());
    let message = serde_json::from_value::<Axes>(Value::Object(whole)).err()?.to_string();
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match words.split_first() {
        Some((found, known)) if message.starts_with("unknown field") => {
            Some(format!("unknown axis `{found}`; {}", strict::advice(found, known)))
        }
        _ => Some(format!("axis `{name}`: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM: &str = r#"
[[claim]]
key = "cpu-at-depth-16"
statement = "A pipelined SET costs at most half of Redis's CPU time."
scenario = "wire-pipeline"
metric = "server_cpu_ns_per_op"
at = { operation = "set", pipeline = 16 }
numerator = { target = "plumbkv" }
denominator = { target = "redis-server" }
comparison = "<="
bound = 0.5
said_in = ["README.md"]
since = "0.2.0"
measure = "bench-runner run --profile full --scenario wire-pipeline"
"#;

    fn read(text: &str) -> Result<Vec<Definition>, String> {
        parse("claims.toml", text, &["wire-pipeline", "wire-single"], &["plumbkv", "redis-server"])
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_claim_is_read_with_its_defaults() {
        let claims = read(CLAIM).unwrap();
        assert_eq!(claims.len(), 1);
        assert_eq!((claims[0].numerator.mode, claims[0].comparison), (Mode::Native, Comparison::AtMost));
        assert_eq!(claims[0].at["pipeline"], 16);
    }

    #[test]
    fn an_absolute_bound_may_have_a_ratio_in_its_place() {
        let text = CLAIM.replace(
            "denominator = { target = \"redis-server\" }",
            "or = { denominator = { target = \"redis-server\" }, bound = 2.0 }",
        );
        let claim = read(&text).unwrap().remove(0);
        assert_eq!((claim.denominator.is_none(), claim.bound), (true, 0.5));
        let other = claim.otherwise().unwrap();
        assert_eq!((other.denominator.unwrap().target.as_str(), other.bound), ("redis-server", 2.0));
    }

    #[test]
    fn what_makes_no_sense_is_told_with_what_was_meant() {
        for (from, to, told) in [
            ("metric = \"server_cpu", "metric = \"sever_cpu", "did you mean `server_cpu_ns_per_op`?"),
            ("\"wire-pipeline\"\nmetric", "\"wire-pipelin\"\nmetric", "did you mean `wire-pipeline`?"),
            ("target = \"redis-server\"", "target = \"redis\"", "did you mean `redis-server`?"),
            ("pipeline = 16", "pipelines = 16", "unknown axis `pipelines`; did you mean `pipeline`?"),
            ("pipeline = 16", "pipeline = \"16\"", "axis `pipeline`: invalid type: string \"16\""),
            ("pipeline = 16", "pipeline = [1, \"16\"]", "axis `pipeline`: invalid type: string \"16\""),
            ("pipeline = 16", "pipeline = []", "axis `pipeline`: invalid type: sequence"),
            ("bound = 0.5", "bound = 0.5\nwithout = [\"distributon\"]", "did you mean `distribution`?"),
            ("bound = 0.5", "bound = 0.5\nwithout = [\"pipeline\"]", "which a side is to have"),
            ("bound = 0.5", "bound = 0.0", "must be a number above zero"),
            ("bound = 0.5", "bond = 0.5", "unknown key `bond`; did you mean `bound`?"),
            ("comparison = \"<=\"", "comparison = \"<\"", "unknown word `<`"),
            ("since = \"0.2.0\"", "since = \"soon\"", "not a version such as 0.2.0"),
            ("said_in = [\"README.md\"]", "said_in = []", "a claim is made somewhere"),
            ("key = \"cpu-at-depth-16\"", "key = \"<img>\"", "lower-case letters"),
            ("{ target = \"redis-server\" }", "{ target = \"plumbkv\" }", "the same cells"),
            ("{ target = \"redis-server\" }", "{ better_of = [\"plumbkv\"] }", "two and more"),
            (
                "{ target = \"redis-server\" }",
                "{ better_of = [\"plumbkv\", \"radis\"] }",
                "unknown target `radis`",
            ),
            (
                "{ target = \"plumbkv\" }",
                "{ better_of = [\"plumbkv\", \"redis-server\"] }",
                "claimed of one target",
            ),
            (
                "bound = 0.5",
                "bound = 0.5\nminus = { numerator = { target = \"plumbkv\" } }",
                "a ratio from a ratio",
            ),
            (
                "bound = 0.5",
                "bound = 0.5\nor = { denominator = { target = \"plumbkv\", axes = { pipelin = 1 } }, bound = 0.9 }",
                "unknown axis `pipelin`",
            ),
        ] {
            assert!(CLAIM.contains(from), "{from}");
            let error = read(&CLAIM.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(told) && error.lines().count() == 1, "{to}: {error}");
        }
        let twice = read(&format!("{CLAIM}{CLAIM}")).unwrap_err();
        assert!(twice.contains("another claim has this key"), "{twice}");
    }
}
