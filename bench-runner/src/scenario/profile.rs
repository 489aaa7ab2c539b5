//! Profiles: how long and how often each cell is measured.
//!
//! One table for all scenarios, so that a figure of one is never shorter than its neighbour's by accident.

use crate::model::Profile;
use serde::Serialize;

/// The rules of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rules {
    /// Trials per cell: fresh processes each.
    pub trials: u32,
    /// A wire cell runs at least this long …
    pub min_seconds: f64,
    /// … and at least this many operations.
    pub min_operations: u64,
    /// Not counted, before, seconds.
    pub warmup_s: f64,
    /// Given up after, seconds.
    pub timeout_s: f64,
    /// Foreign CPU (cores) above which a step is measured once more; none in `smoke`.
    pub foreign_cpu_cores_max: Option<f64>,
}

impl Rules {
    /// The rules of `profile`.
    #[must_use]
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::Smoke => Self {
                trials: 1,
                min_seconds: 0.1,
                min_operations: 50,
                warmup_s: 0.02,
                timeout_s: 20.0,
                foreign_cpu_cores_max: None,
            },
            Profile::Quick => Self {
                trials: 3,
                min_seconds: 1.0,
                min_operations: 1_000,
                warmup_s: 0.08,
                timeout_s: 30.0,
                foreign_cpu_cores_max: Some(0.15),
            },
            Profile::Release => Self {
                trials: 5,
                min_seconds: 1.0,
                min_operations: 5_000,
                warmup_s: 0.2,
                timeout_s: 180.0,
                foreign_cpu_cores_max: Some(0.15),
            },
            Profile::Full => Self {
                trials: 9,
                min_seconds: 3.0,
                min_operations: 10_000,
                warmup_s: 0.5,
                // A million requests over one slow container connection at a time must still fit.
                timeout_s: 180.0,
                foreign_cpu_cores_max: Some(0.15),
            },
        }
    }
}

/// Every profile, shortest first.
pub const PROFILES: [Profile; 4] = [Profile::Smoke, Profile::Quick, Profile::Release, Profile::Full];

/// The spelling of a profile on the command line and in records.
#[must_use]
pub fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Smoke => "smoke",
        Profile::Quick => "quick",
        Profile::Release => "release",
        Profile::Full => "full",
    }
}
