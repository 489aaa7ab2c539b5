//! Does a definition make sense? Turns the text shape into a [`Scenario`], or says every fault at once.

use super::Rules;
use super::check_embedded::embedded;
use super::check_section::{Faults, cap, expiry, load, per_key, per_profile, tail};
use super::definition::{Definition, Kind};
use super::strict::{self, StrictError};
use super::words::Seek;
use crate::model::{Mode, Profile, version_key};
use std::collections::HashSet;
use thiserror::Error;

/// A definition that holds together.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    definition: Definition,
}

impl Scenario {
    /// Reads and checks one file; `file` is its name, of which the key must be the stem.
    ///
    /// # Errors
    /// When the text is not a scenario, or does not make sense.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let definition: Definition = strict::parse(file, text)?;
        let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".toml");
        if definition.key != stem {
            let fault = format!("key `{}` is not the file's name: call it `{stem}`", definition.key);
            return Err(ScenarioError::Senseless { file: file.to_owned(), faults: fault });
        }
        Self::checked(file, definition)
    }

    /// Checks what was read from `file`, which is only named in errors.
    ///
    /// # Errors
    /// When it does not make sense.
    pub(super) fn checked(file: &str, definition: Definition) -> Result<Self, ScenarioError> {
        let faults = faults(&definition);
        if faults.is_empty() {
            Ok(Self { definition })
        } else {
            Err(ScenarioError::Senseless { file: file.to_owned(), faults: faults.join("; ") })
        }
    }

    /// The definition it was checked from.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Its key: `wire-single`.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.definition.key
    }

    /// Whether `version` had it: one that is older owes none of its cells.
    #[must_use]
    pub fn is_in(&self, version: &str) -> bool {
        let since = self.definition.since.as_deref();
        since.is_none_or(|since| version_key(since) <= version_key(version))
    }

    /// The rules of `profile`, with this scenario's own number of trials where it has one.
    #[must_use]
    pub fn rules(&self, profile: Profile) -> Rules {
        let rules = Rules::of(profile);
        let trials = self.definition.trials.map_or(rules.trials, |own| own.of(profile));
        Rules { trials, ..rules }
    }

    /// Who takes part in which mode under `profile`, in the order written.
    #[must_use]
    pub fn uses(&self, profile: Profile) -> Vec<(&str, Mode)> {
        let takes_part =
            |profiles: &Option<Vec<Profile>>| profiles.as_deref().is_none_or(|list| list.contains(&profile));
        self.definition
            .targets
            .iter()
            .filter(|each| takes_part(&each.profiles))
            .flat_map(|each| each.modes.iter().map(|mode| (each.key.as_str(), *mode)))
            .collect()
    }
}

/// Why a file is not a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScenarioError {
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
    /// It names a target that `targets.toml` does not know.
    #[error("{file}: unknown target `{found}`; {advice}")]
    UnknownTarget {
        /// The file.
        file: String,
        /// The name.
        found: String,
        /// The nearest known one.
        advice: String,
    },
}

/// Checks that every target a scenario names is known.
///
/// # Errors
/// Names the first that is not, and the nearest that is.
pub fn known_targets(scenario: &Scenario, known: &[&str]) -> Result<(), ScenarioError> {
    let definition = scenario.definition();
    let unknown = definition.targets.iter().map(|each| &each.key).find(|key| !known.contains(&key.as_str()));
    match unknown {
        None => Ok(()),
        Some(key) => Err(ScenarioError::UnknownTarget {
            file: format!("{}.toml", scenario.key()),
            found: key.clone(),
            advice: strict::advice(key, known),
        }),
    }
}

fn faults(definition: &Definition) -> Vec<String> {
    let mut faults = Faults(Vec::new());
    let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    faults.unless(!definition.key.is_empty() && definition.key.chars().all(kebab), || {
        format!("key `{}` may hold only a-z, 0-9 and -", definition.key)
    });
    faults.unless(definition.revision > 0, || "revision starts at 1".to_owned());
    if let Some(since) = &definition.since {
        let numbers = since.split('.').filter(|part| part.parse::<u32>().is_ok()).count();
        faults.unless(numbers == 3, || format!("since is '{since}', not a version such as 0.2.0"));
    }
    for (name, text) in [
        ("title", &definition.title),
        ("stresses", &definition.stresses),
        ("analysis", &definition.analysis),
        ("validity", &definition.validity),
        ("not_measured", &definition.not_measured),
    ] {
        faults.unless(!text.trim().is_empty(), || format!("`{name}` is empty: say it in a sentence"));
    }
    targets(&mut faults, definition);
    sections(&mut faults, definition);
    for (index, each) in definition.load.iter().enumerate() {
        faults.within(format!("load {}", index + 1), |faults| load(faults, each));
    }
    for (index, each) in definition.cap.iter().enumerate() {
        faults.within(format!("cap {}", index + 1), |faults| cap(faults, each));
    }
    for (index, start) in definition.start.iter().enumerate() {
        faults.within(format!("start {}", index + 1), |faults| {
            per_profile(faults, "starts", &start.starts, 1, 1_000);
        });
    }
    for (index, each) in definition.embedded.iter().enumerate() {
        faults.within(format!("embedded {}", index + 1), |faults| embedded(faults, each));
    }
    for (index, each) in definition.per_key.iter().enumerate() {
        faults.within(format!("per_key {}", index + 1), |faults| per_key(faults, each));
    }
    for (index, each) in definition.expiry.iter().enumerate() {
        faults.within(format!("expiry {}", index + 1), |faults| expiry(faults, each));
    }
    for (index, each) in definition.tail.iter().enumerate() {
        faults.within(format!("tail {}", index + 1), |faults| tail(faults, each));
    }
    if let Some(trials) = &definition.trials {
        per_profile(&mut faults, "trials", trials, 1, 100);
    }
    peaks(&mut faults, definition);
    faults.0
}

fn targets(faults: &mut Faults, definition: &Definition) {
    faults.unless(!definition.targets.is_empty(), || "no [[targets]]: nobody takes part".to_owned());
    for profile in super::PROFILES {
        let mut seen = HashSet::new();
        for each in &definition.targets {
            faults.unless(!each.modes.is_empty(), || format!("target `{}` has no modes", each.key));
            if each.profiles.as_deref().is_some_and(|list| !list.contains(&profile)) {
                continue;
            }
            for mode in &each.modes {
                faults.unless(seen.insert((&each.key, *mode)), || {
                    format!("target `{}` stands twice in one mode under one profile", each.key)
                });
            }
        }
    }
    let known: Vec<&str> = definition.targets.iter().map(|each| each.key.as_str()).collect();
    let narrowed = definition.load.iter().map(super::Load::only);
    let narrowed = narrowed.chain(definition.cap.iter().map(super::Cap::only));
    let narrowed = narrowed.chain(definition.start.iter().map(super::Start::only));
    let narrowed = narrowed.chain(definition.per_key.iter().map(super::PerKey::only));
    let narrowed = narrowed.chain(definition.embedded.iter().map(super::Embedded::only));
    let narrowed = narrowed.chain(definition.expiry.iter().map(super::Expiry::only));
    let narrowed = narrowed.chain(definition.tail.iter().map(super::Tail::only));
    for key in narrowed.filter_map(|only| only.targets).flatten() {
        faults.unless(known.contains(&key.as_str()), || {
            format!("`targets` names `{key}`, which takes no part; {}", strict::advice(key, &known))
        });
    }
}

fn sections(faults: &mut Faults, definition: &Definition) {
    let counts = [
        (Kind::Wire, "load", definition.load.len()),
        (Kind::MemoryCap, "cap", definition.cap.len()),
        (Kind::Startup, "start", definition.start.len()),
        (Kind::Embedded, "embedded", definition.embedded.len()),
        (Kind::MemoryPerKey, "per_key", definition.per_key.len()),
        (Kind::Expiry, "expiry", definition.expiry.len()),
        (Kind::Tail, "tail", definition.tail.len()),
    ];
    for (kind, section, count) in counts {
        let name = definition.kind.name();
        if kind == definition.kind {
            faults.unless(count > 0, || format!("kind `{name}` needs at least one [[{section}]]"));
        } else if (definition.kind, kind) != (Kind::Wire, Kind::Embedded) {
            // The same question may be put to servers and, in tables of their own, to embedded engines.
            faults.unless(count == 0, || format!("kind `{name}` takes no [[{section}]]"));
        }
    }
}

/// What is given in percent of the peak, or looked for from it, comes after it.
fn peaks(faults: &mut Faults, definition: &Definition) {
    let mut peak = false;
    for (index, load) in definition.load.iter().enumerate() {
        let needs = !load.rate_percent.is_empty() || load.seek == Some(Seek::Knee);
        faults.unless(peak || !needs, || {
            format!(
                "load {}: put a [[load]] with seek = \"peak\" before it: its rates start from that",
                index + 1
            )
        });
        peak |= load.seek == Some(Seek::Peak);
        let closed = |other: &super::Load| {
            other.arrival.is_none()
                && other.seek.is_none()
                && other.client_program.is_none()
                && other.operation == load.operation
                && load.clients.iter().all(|clients| other.clients.contains(clients))
                && load.value_bytes.iter().all(|bytes| other.value_bytes.contains(bytes))
        };
        faults.unless(load.rate_percent_of_slowest.is_empty() || definition.load.iter().any(closed), || {
            format!(
                "load {}: rate_percent_of_slowest needs a closed loop of the same operation, clients and value_bytes",
                index + 1
            )
        });
    }
}
