//! Does a definition make sense? Turns the text shape into a [`Scenario`], or says every fault at once.

use super::definition::{Definition, Kind, Load, LoadOperation, PerProfile};
use super::embedded::{Embedded, EmbeddedOperation};
use super::strict::{self, StrictError};
use crate::model::{Mode, Profile};
use std::collections::HashSet;
use std::fmt::Display;
use thiserror::Error;

/// Connections a cell may have: client and server each live under a hard limit of 20,000 open files here.
const CLIENTS_MAX: u32 = 10_000;
/// Requests in flight per connection a cell may have.
const PIPELINE_MAX: u32 = 1_024;
/// Largest value a load writes, bytes.
const VALUE_MAX: u32 = 64 << 20;
/// Most records of an embedded engine: a driver keeps none of them, its disk does.
const RECORDS_MAX: u64 = 1_000_000_000;
/// Threads of a driver.
const THREADS_MAX: u32 = 1_000;
/// Largest key space: keys carry twelve digits.
const KEYS_MAX: u64 = 999_999_999_999;

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
        let faults = faults(file, &definition);
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

fn faults(file: &str, definition: &Definition) -> Vec<String> {
    let mut faults = Faults(Vec::new());
    let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".toml");
    faults.unless(definition.key == stem, || {
        format!("key `{}` is not the file's name: call it `{stem}`", definition.key)
    });
    let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    faults.unless(!definition.key.is_empty() && definition.key.chars().all(kebab), || {
        format!("key `{}` may hold only a-z, 0-9 and -", definition.key)
    });
    faults.unless(definition.revision > 0, || "revision starts at 1".to_owned());
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
    for (index, load) in definition.load.iter().enumerate() {
        faults.within(format!("load {}", index + 1), |faults| check_load(faults, load));
    }
    for (index, cap) in definition.cap.iter().enumerate() {
        faults.within(format!("cap {}", index + 1), |faults| check_cap(faults, cap));
    }
    for (index, start) in definition.start.iter().enumerate() {
        faults.within(format!("start {}", index + 1), |faults| {
            per_profile(faults, "starts", &start.starts, 1, 1_000);
        });
    }
    for (index, embedded) in definition.embedded.iter().enumerate() {
        faults.within(format!("embedded {}", index + 1), |faults| check_embedded(faults, embedded));
    }
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
    let narrowed = definition.load.iter().map(Load::only);
    let narrowed = narrowed.chain(definition.cap.iter().map(super::definition::Cap::only));
    let narrowed = narrowed.chain(definition.start.iter().map(super::definition::Start::only));
    let narrowed = narrowed.chain(definition.embedded.iter().map(Embedded::only));
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

fn check_load(faults: &mut Faults, load: &Load) {
    list(faults, "value_bytes", &load.value_bytes, 1, VALUE_MAX);
    list(faults, "clients", &load.clients, 1, CLIENTS_MAX);
    list(faults, "pipeline", &load.pipeline, 1, PIPELINE_MAX);
    faults.unless((1..=KEYS_MAX).contains(&load.keys), || format!("keys must be 1 to {KEYS_MAX}"));
    faults.unless(!load.placement.is_empty(), || "placement is empty".to_owned());
    if load.operation == LoadOperation::Mixed {
        list(faults, "set_percent", &load.set_percent, 1, 99);
    } else {
        faults
            .unless(load.set_percent.is_empty(), || "set_percent belongs to operation \"mixed\"".to_owned());
    }
    if !load.requests.is_empty() {
        list(faults, "requests", &load.requests, 1, 1_000_000_000);
    }
}

fn check_cap(faults: &mut Faults, cap: &super::definition::Cap) {
    faults.unless(cap.written().is_some(), || {
        "exactly one of `fill`, `overwrite`, `ttl_churn` says what is written".to_owned()
    });
    faults.unless(cap.cap_bytes >= 1 << 20, || "cap_bytes must be at least 1 MiB (1048576)".to_owned());
    if let Some(fill) = &cap.fill {
        faults.unless((1..=KEYS_MAX).contains(&fill.keys), || "fill.keys must be at least 1".to_owned());
        between(faults, "fill.value_bytes", fill.value_bytes, 1, VALUE_MAX);
        faults.unless(u64::from(fill.oversize_bytes) > cap.cap_bytes, || {
            "fill.oversize_bytes must be more than cap_bytes: it is the value that cannot fit".to_owned()
        });
    }
    if let Some(overwrite) = &cap.overwrite {
        between(faults, "overwrite.clients", overwrite.clients, 1, CLIENTS_MAX);
        let [smallest, largest] = overwrite.value_bytes;
        faults.unless(smallest >= 1 && smallest < largest && largest <= VALUE_MAX, || {
            "overwrite.value_bytes must rise, from 1 byte on".to_owned()
        });
        faults.unless(overwrite.keys >= 1, || "overwrite.keys must be at least 1".to_owned());
        per_profile(faults, "overwrite.seconds", &overwrite.seconds, 0.05, 600.0);
    }
    if let Some(churn) = &cap.ttl_churn {
        between(faults, "ttl_churn.clients", churn.clients, 1, CLIENTS_MAX);
        between(faults, "ttl_churn.value_bytes", churn.value_bytes, 1, VALUE_MAX);
        faults.unless(churn.keys >= 1, || "ttl_churn.keys must be at least 1".to_owned());
        faults.unless(churn.ttl_ms >= 1, || "ttl_churn.ttl_ms must be at least 1".to_owned());
        per_profile(faults, "ttl_churn.seconds", &churn.seconds, 0.05, 600.0);
    }
}

fn check_embedded(faults: &mut Faults, embedded: &Embedded) {
    per_profile(faults, "records", &embedded.records, 1, RECORDS_MAX);
    list(faults, "value_bytes", &embedded.value_bytes, 1, VALUE_MAX);
    list(faults, "clients", &embedded.clients, 1, THREADS_MAX);
    between(faults, "batch", embedded.batch, 1, 100_000);
    let optional = |faults: &mut Faults, name: &str, given: usize, wanted: bool| {
        let operation = embedded.operation.name();
        match (given > 0, wanted) {
            (false, true) => faults.0.push(format!("operation \"{operation}\" needs {name}")),
            (true, false) => faults.0.push(format!("operation \"{operation}\" takes no {name}")),
            _ => {}
        }
    };
    let operation = embedded.operation;
    optional(faults, "order", embedded.order.len(), operation.has_order());
    optional(faults, "distribution", embedded.distribution.len(), operation.has_distribution());
    let mixed = operation == EmbeddedOperation::Mixed;
    optional(faults, "set_percent", embedded.set_percent.len(), mixed);
    if mixed && !embedded.set_percent.is_empty() {
        list(faults, "set_percent", &embedded.set_percent, 1, 99);
    }
    let scan = operation == EmbeddedOperation::Scan;
    optional(faults, "scan_records", embedded.scan_records.len(), scan);
    if !embedded.cache_bytes.is_empty() {
        list(faults, "cache_bytes", &embedded.cache_bytes, 0, 1 << 40);
    }
    let several = embedded.clients.iter().any(|clients| *clients > 1);
    faults.unless(!several || operation.reads_only(), || {
        "clients above 1 belong to operation \"read_random\" or \"get\"".to_owned()
    });
}

/// Faults found so far.
struct Faults(Vec<String>);

impl Faults {
    fn unless(&mut self, fine: bool, fault: impl FnOnce() -> String) {
        if !fine {
            let fault = fault();
            // The same fault of one target under three profiles is told once.
            if !self.0.contains(&fault) {
                self.0.push(fault);
            }
        }
    }

    fn within(&mut self, place: impl Display, check: impl FnOnce(&mut Self)) {
        let mut inner = Self(Vec::new());
        check(&mut inner);
        self.0.extend(inner.0.into_iter().map(|fault| format!("{place}: {fault}")));
    }
}

fn between<T: PartialOrd + Display>(faults: &mut Faults, name: &str, value: T, low: T, high: T) {
    faults.unless(value >= low && value <= high, || format!("{name} must be {low} to {high}, not {value}"));
}

fn per_profile<T: PartialOrd + Display + Copy>(
    faults: &mut Faults,
    name: &str,
    value: &PerProfile<T>,
    low: T,
    high: T,
) {
    for profile in super::PROFILES {
        between(faults, &format!("{name}.{}", super::profile_name(profile)), value.of(profile), low, high);
    }
}

/// An axis: at least one value, each in bounds, none twice (twice would be one cell measured double).
fn list<T: PartialOrd + Display + Copy>(faults: &mut Faults, name: &str, values: &[T], low: T, high: T) {
    faults.unless(!values.is_empty(), || format!("{name} is empty"));
    for (index, value) in values.iter().enumerate() {
        between(faults, name, *value, low, high);
        faults.unless(!values.iter().take(index).any(|other| other == value), || {
            format!("{name} holds {value} twice")
        });
    }
}
