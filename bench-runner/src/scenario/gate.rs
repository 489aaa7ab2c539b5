//! What may stand in a gate's file? How a server is built from a commit, how it is started, and the loads that guard it.

use super::check::{Scenario, ScenarioError};
use super::definition::{Definition, Kind, TargetUse};
use super::load::Load;
use super::strict;
use crate::model::Mode;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Key of the scenario that the loads of a gate make up.
pub const GATE: &str = "gate";

/// A gate's file, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct GateDefinition {
    /// Key of the target that is guarded.
    pub subject: String,
    /// How a program comes about from a commit; none where programs are given.
    pub build: Option<BuildRecipe>,
    /// How long a trial is.
    pub trial: TrialRule,
    /// `[target.KEY]` as in `targets.toml`, where the file brings its own: TOML text.
    pub targets: Option<String>,
    /// The loads: each cell is judged by itself.
    pub scenario: Scenario,
}

/// How a program comes about from a commit. `{triple}` is that of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildRecipe {
    /// Program and arguments, run in the root of the commit's checkout.
    pub command: Vec<String>,
    /// The program that comes of it, below the checkout.
    pub binary: String,
    /// Environment variables of the build.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// How other layouts of the same code are made.
    #[serde(default)]
    pub layouts: Layouts,
    /// How a build comes about that can be slowed, for calibrations.
    pub calibration: Option<CalibrationBuild>,
    /// What makes symbols of the same code have other names, and functions another order: a calibration compares such builds.
    #[serde(skip)]
    pub salt: String,
    /// Comment lines that are put in front of every Rust file: a calibration compares such builds as well.
    #[serde(skip)]
    pub comments: usize,
}

/// A build that can be slowed by a known share.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationBuild {
    /// Further arguments of the command.
    pub arguments: Vec<String>,
    /// The environment variable that slows its server: `spin:PERCENT`, `sleep:PERCENT`, `tail:PERCENT`, or empty for
    /// not at all.
    pub variable: String,
}

/// How other layouts of the same code are made: the place of functions moves figures by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layouts {
    /// There is only the one that the build makes.
    #[default]
    One,
    /// The build is cargo's: what the linker is given is kept, and each block links it again with its sections in another
    /// order.
    Cargo,
}

/// How long the turns of a block are.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialRule {
    /// Not counted, once before the turns of a load, s.
    pub warmup_s: f64,
    /// Each turn lasts at least this long, s …
    pub seconds: f64,
    /// … and at least this many operations.
    pub min_operations: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    subject: String,
    build: Option<BuildRecipe>,
    trial: TrialRule,
    target: Option<BTreeMap<String, toml::Table>>,
    load: Vec<Load>,
}

impl GateDefinition {
    /// Reads and checks a gate's file; `file` is only named in errors.
    ///
    /// # Errors
    /// When the text is no such file, or does not make sense.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let parsed: File = strict::parse(file, text)?;
        let senseless =
            |fault: &str| ScenarioError::Senseless { file: file.to_owned(), faults: fault.to_owned() };
        let trial = parsed.trial;
        if !(0.0..=60.0).contains(&trial.warmup_s) || !(0.05..=60.0).contains(&trial.seconds) {
            return Err(senseless("trial.warmup_s is from 0 to 60 and trial.seconds from 0.05 to 60"));
        }
        if parsed.build.as_ref().is_some_and(|build| build.command.is_empty() || build.binary.is_empty()) {
            return Err(senseless("build needs a command, and the binary that comes of it"));
        }
        let targets = match parsed.target {
            None => None,
            Some(table) => {
                let all = BTreeMap::from([("target", table)]);
                Some(toml::to_string(&all).map_err(|error| senseless(&error.to_string()))?)
            }
        };
        let definition = Definition {
            key: GATE.to_owned(),
            title: "What a change is judged by".to_owned(),
            kind: Kind::Wire,
            revision: 1,
            by_name: false,
            since: None,
            group: super::Group::Wire,
            place: 0,
            stresses: "what a pull request may not make slower".to_owned(),
            analysis: "Base and head under the same loads, in turns.".to_owned(),
            validity: "Every reply is checked while it is timed.".to_owned(),
            not_measured: "Anything that no load of the gate's file does.".to_owned(),
            trials: None,
            targets: vec![TargetUse {
                key: parsed.subject.clone(),
                modes: vec![Mode::Native],
                profiles: None,
            }],
            load: parsed.load,
            cap: Vec::new(),
            start: Vec::new(),
            embedded: Vec::new(),
            per_key: Vec::new(),
            expiry: Vec::new(),
            tail: Vec::new(),
        };
        let scenario = Scenario::checked(file, definition)?;
        Ok(Self { subject: parsed.subject, build: parsed.build, trial, targets, scenario })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        subject = "own"
        [build]
        command = ["make", "server"]
        binary = "server"
        [trial]
        warmup_s = 0.1
        seconds = 0.4
        min_operations = 1000
        [target.own]
        title = "own {version}"
        [[load]]
        operation = "get"
        value_bytes = [64]
        clients = [50]
        keys = 1000
    "#;

    #[test]
    fn a_file_says_how_to_build_how_to_start_and_what_to_measure() {
        let gate = GateDefinition::parse("bench-gate.toml", TEXT).unwrap();
        assert_eq!(gate.subject, "own");
        assert_eq!(gate.build.unwrap().layouts, Layouts::One);
        assert!(gate.targets.unwrap().contains("[target.own]"));
        assert_eq!(gate.scenario.definition().load.len(), 1);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let error = |from: &str, to: &str| {
            GateDefinition::parse("bench-gate.toml", &TEXT.replace(from, to)).unwrap_err().to_string()
        };
        assert!(error("seconds = 0.4", "seconds = 0.04").contains("0.05"));
        assert!(error("\"make\", \"server\"", "").contains("command"));
        assert!(error("clients = [50]", "client = [50]").contains("did you mean `clients`"));
        assert!(error("clients = [50]", "clients = [0]").contains("load 1"));
    }
}
