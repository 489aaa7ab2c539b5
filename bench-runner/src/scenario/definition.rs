//! What may stand in a scenario file? The text shape, exactly as TOML gives it, before any check.

use super::cap::Cap;
use super::embedded::Embedded;
use super::keys::{Expiry, PerKey, Tail};
use super::load::Load;
use crate::model::{Mode, Profile};
use serde::{Deserialize, Serialize};

/// A scenario file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Name of the file without `.toml`, of its pages and of its record: `wire-single`.
    pub key: String,
    /// Title for people.
    pub title: String,
    /// Which of the sections below it has.
    pub kind: Kind,
    /// Raised whenever the definition changes in meaning: starts a new series.
    pub revision: u32,
    /// Place in the catalogue, in lists and on pages.
    pub place: u32,
    /// Part of the product that it measures.
    #[serde(default)]
    pub group: Group,
    /// It is measured only where it is asked for by name.
    #[serde(default)]
    pub by_name: bool,
    /// First version that has it: earlier ones do not owe its cells. Absent: all have.
    pub since: Option<String>,
    /// One line: what it stresses. Shown by `bench-runner list`.
    pub stresses: String,
    /// Where this load occurs in life and what it stresses.
    pub analysis: String,
    /// What makes a cell valid.
    pub validity: String,
    /// What the figures do not say.
    pub not_measured: String,
    /// Trials of each cell, instead of the profile's: where one trial is long.
    pub trials: Option<PerProfile<u32>>,
    /// Who takes part, and where.
    pub targets: Vec<TargetUse>,
    /// Kind `wire`: the loads.
    #[serde(default)]
    pub load: Vec<Load>,
    /// Kind `memory_cap`: what is written against which cap.
    #[serde(default)]
    pub cap: Vec<Cap>,
    /// Kind `startup`: how many starts.
    #[serde(default)]
    pub start: Vec<Start>,
    /// Kind `embedded`, and besides loads kind `wire`: work of a driver program.
    #[serde(default)]
    pub embedded: Vec<Embedded>,
    /// Kind `memory_per_key`: how many keys.
    #[serde(default)]
    pub per_key: Vec<PerKey>,
    /// Kind `expiry`: what runs out.
    #[serde(default)]
    pub expiry: Vec<Expiry>,
    /// Kind `tail`: what goes on beside requests at a given rate.
    #[serde(default)]
    pub tail: Vec<Tail>,
}

/// Which of the runner's ways of measuring a scenario takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Load over sockets, closed or open loop.
    Wire,
    /// A store filled past its cap.
    MemoryCap,
    /// Time to the first right answer.
    Startup,
    /// Engines linked into a driver program.
    Embedded,
    /// What a key costs, at many of them.
    MemoryPerKey,
    /// Keys that run out under load.
    Expiry,
    /// Requests at a given rate while a store grows, while keys run out, and while it is emptied.
    Tail,
}

impl Kind {
    /// As it is spelled in files and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::MemoryCap => "memory_cap",
            Self::Startup => "startup",
            Self::Embedded => "embedded",
            Self::MemoryPerKey => "memory_per_key",
            Self::Expiry => "expiry",
            Self::Tail => "tail",
        }
    }
}

/// The part of the product that a scenario measures. What a release has to measure again is said by group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Load over sockets in the Redis protocol.
    #[default]
    Wire,
    /// Memory caps, memory per key, expiry.
    Memory,
    /// Containers, start-up, switches of one binary.
    Deploy,
    /// Load over HTTP.
    Http,
    /// The durable store, and embedded engines beside it.
    Durable,
}

/// Every group, in the order of pages and lists.
pub const GROUPS: [Group; 5] = [Group::Wire, Group::Memory, Group::Deploy, Group::Http, Group::Durable];

impl Group {
    /// As it is spelled in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Memory => "memory",
            Self::Deploy => "deploy",
            Self::Http => "http",
            Self::Durable => "durable",
        }
    }

    /// What it holds, for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Wire => "Server: requests over the wire",
            Self::Memory => "Server: memory and eviction",
            Self::Deploy => "Server: containers and start-up",
            Self::Http => "HTTP",
            Self::Durable => "Durable store",
        }
    }
}

/// A target and the modes it is measured in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetUse {
    /// Key in `targets.toml`.
    pub key: String,
    /// Where it runs.
    pub modes: Vec<Mode>,
    /// Only in these profiles; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Vec<Profile>>,
}

/// To whom a section applies; absent: to all.
#[derive(Debug, Clone, Copy)]
pub struct Only<'a> {
    /// Only in these profiles.
    pub profiles: Option<&'a [Profile]>,
    /// Only for these targets.
    pub targets: Option<&'a [String]>,
    /// Only in these modes.
    pub modes: Option<&'a [Mode]>,
}

impl Only<'_> {
    /// Whether the section applies to one target in one mode under one profile.
    #[must_use]
    pub fn admits(&self, profile: Profile, target: &str, mode: Mode) -> bool {
        self.profiles.is_none_or(|list| list.contains(&profile))
            && self.targets.is_none_or(|list| list.iter().any(|key| key == target))
            && self.modes.is_none_or(|list| list.contains(&mode))
    }
}

macro_rules! has_only {
    ($($section:ty),*) => {$(
        impl $section {
            /// To whom it applies.
            #[must_use]
            pub fn only(&self) -> Only<'_> {
                Only {
                    profiles: self.profiles.as_deref(),
                    targets: self.targets.as_deref(),
                    modes: self.modes.as_deref(),
                }
            }
        }
    )*};
}
has_only!(Load, Cap, Start, PerKey, Expiry, Tail, Embedded);

/// Starts of a process: one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Starts in a trial.
    pub starts: PerProfile<u32>,
    /// Only in these profiles; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiles: Option<Vec<Profile>>,
    /// Only for these targets; absent: for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Only in these modes; absent: in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<Vec<Mode>>,
}

/// A value that follows the profile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct PerProfile<T> {
    /// In `smoke`.
    pub smoke: T,
    /// In `quick`.
    pub quick: T,
    /// In `release`; absent: as in `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<T>,
    /// In `full`.
    pub full: T,
}

impl<T: Copy> PerProfile<T> {
    /// The value for one profile.
    #[must_use]
    pub fn of(&self, profile: Profile) -> T {
        match profile {
            Profile::Smoke => self.smoke,
            Profile::Quick => self.quick,
            Profile::Release => self.release.unwrap_or(self.full),
            Profile::Full => self.full,
        }
    }
}
