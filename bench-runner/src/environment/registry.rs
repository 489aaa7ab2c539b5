//! Is this machine one that is named? `results/machines.toml`, read strictly.

use crate::model::Machine;
use crate::scenario::strict::{self, StrictError};
use serde::{Deserialize, Serialize};

/// The machines that have a name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    /// In the order of the file.
    #[serde(default)]
    pub machine: Vec<Known>,
}

/// A machine with a name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Names its folder in `results/`.
    pub id: String,
    /// For people.
    pub title: String,
    /// `stored`: the same kind is at hand again; `hosted`: whatever a hosted service gives.
    pub class: Class,
    /// What it is, and what it is not.
    pub description: String,
    /// `bench-runner machines` prints the one of the machine it runs on.
    pub fingerprints: Vec<String>,
}

/// Whether the same machine can be had again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The same kind is at hand again.
    Stored,
    /// Whatever a hosted service gives.
    Hosted,
}

impl Class {
    /// The spelling in files and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Hosted => "hosted",
        }
    }
}

impl Registry {
    /// Reads the text of `machines.toml`; `file` is named in errors.
    ///
    /// # Errors
    /// When it is not TOML or has an unknown key.
    pub fn parse(file: &str, text: &str) -> Result<Self, StrictError> {
        strict::parse(file, text)
    }

    /// The entry of a machine.
    #[must_use]
    pub fn find(&self, machine: &Machine) -> Option<&Known> {
        self.machine.iter().find(|known| known.fingerprints.contains(&machine.fingerprint))
    }

    /// The key under which this machine's results stand, and the machine with its title and class.
    /// A machine that is not listed is `unknown-<fingerprint>`, never one that resembles it.
    #[must_use]
    pub fn identify(&self, machine: Machine) -> (String, Machine) {
        match self.find(&machine) {
            Some(known) => (
                known.id.clone(),
                Machine { title: known.title.clone(), class: known.class.name().to_owned(), ..machine },
            ),
            None => (
                format!("unknown-{}", machine.fingerprint),
                Machine { title: String::new(), class: "unknown".to_owned(), ..machine },
            ),
        }
    }
}
