//! Where are keys kept? In memory alone, or in a directory: which one, synced when, in how much memory.

use std::path::PathBuf;
use std::time::Duration;

use plumbkv::{Compression, Event, Options, Profile, SyncMode};

use crate::units::parse_bytes;

/// A store in a directory, as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Storage {
    pub(crate) directory: PathBuf,
    pub(crate) sync: SyncMode,
    pub(crate) profile: Profile,
    pub(crate) compression: Compression,
    /// Bytes; `None`: as the profile says.
    pub(crate) budget: Option<u64>,
}

/// The longest interval between two syncs.
const LONGEST_INTERVAL: Duration = Duration::from_secs(3600);

impl Storage {
    /// What its tables and caches may take, in bytes.
    pub(crate) fn memory_budget(&self) -> u64 {
        self.budget.unwrap_or(self.profile.memory_budget())
    }

    /// What the store is opened with.
    pub(crate) fn options(&self) -> Options {
        let options = Options::durable(&self.directory)
            .sync_mode(self.sync)
            .profile(self.profile)
            .compression(self.compression)
            .on_event(log);
        match self.budget {
            Some(bytes) => options.memory_budget(bytes),
            None => options,
        }
    }
}

/// A stall that users of the server notice.
const LONG_STALL: Duration = Duration::from_secs(1);

/// Logs an event of the store. A busy store flushes and merges all the time, so that is for `debug`.
fn log(event: &Event) {
    match event {
        Event::Failed { .. } => tracing::error!("the store: {event}"),
        Event::NoRoom { .. } => tracing::warn!("the store: {event}"),
        Event::StallEnded { duration, .. } if *duration >= LONG_STALL => tracing::warn!("the store: {event}"),
        Event::Resumed | Event::LogRecovered { .. } => tracing::info!("the store: {event}"),
        _ => tracing::debug!("the store: {event}"),
    }
}

/// A path that is one.
pub(crate) fn directory(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("expected the path of a directory".to_owned());
    }
    Ok(PathBuf::from(text))
}

/// `always`, `never`, or an interval.
pub(crate) fn sync_mode(text: &str) -> Result<SyncMode, String> {
    match text {
        "always" => return Ok(SyncMode::Always),
        "never" => return Ok(SyncMode::Never),
        _ => {}
    }
    let interval = duration(text).filter(|interval| !interval.is_zero() && *interval <= LONGEST_INTERVAL);
    interval.map(SyncMode::Interval).ok_or_else(|| {
        "expected always, never or an interval from 1ms to 60m, such as 1s or 200ms".to_owned()
    })
}

/// The name of a mode, as [`sync_mode`] reads it.
pub(crate) fn sync_name(mode: SyncMode) -> String {
    match mode {
        SyncMode::Always => "always".to_owned(),
        SyncMode::Never => "never".to_owned(),
        SyncMode::Interval(interval) if interval.subsec_millis() == 0 => format!("{}s", interval.as_secs()),
        SyncMode::Interval(interval) => format!("{}ms", interval.as_millis()),
    }
}

const PROFILES: [(&str, Profile); 3] =
    [("default", Profile::Default), ("low-memory", Profile::LowMemory), ("throughput", Profile::Throughput)];

/// A profile by its name.
pub(crate) fn profile(text: &str) -> Result<Profile, String> {
    let found = PROFILES.iter().find(|(name, _)| *name == text);
    found.map(|(_, profile)| *profile).ok_or_else(|| "expected default, low-memory or throughput".to_owned())
}

/// The name of a profile.
pub(crate) fn profile_name(profile: Profile) -> &'static str {
    PROFILES.iter().find(|(_, known)| *known == profile).map_or("other", |(name, _)| name)
}

const COMPRESSIONS: [(&str, Compression); 2] = [("lz4", Compression::Lz4), ("none", Compression::None)];

/// A way to make blocks smaller, by its name.
pub(crate) fn compression(text: &str) -> Result<Compression, String> {
    let found = COMPRESSIONS.iter().find(|(name, _)| *name == text).map(|(_, compression)| *compression);
    let names: Vec<&str> = COMPRESSIONS.iter().map(|(name, _)| *name).collect();
    found.ok_or_else(|| format!("expected {}", names.join(" or ")))
}

/// A size that is enough.
pub(crate) fn budget(text: &str) -> Result<u64, String> {
    parse_bytes(text)
        .filter(|bytes| *bytes >= 1 << 20)
        .ok_or_else(|| "expected a size of at least 1 MiB, such as 64mib or 1gb".to_owned())
}

fn duration(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let number: u64 = digits.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_modes_are_read_and_named() {
        let interval = |ms| SyncMode::Interval(Duration::from_millis(ms));
        for (text, mode, name) in [
            ("always", SyncMode::Always, "always"),
            ("never", SyncMode::Never, "never"),
            ("1s", interval(1_000), "1s"),
            ("200ms", interval(200), "200ms"),
            ("1500ms", interval(1_500), "1500ms"),
            ("2m", interval(120_000), "120s"),
        ] {
            assert_eq!(sync_mode(text), Ok(mode));
            assert_eq!(sync_name(mode), name);
        }
        for wrong in ["", "1", "s", "0s", "-1s", "1h", "61m", "sometimes", "1.5s", "99999999999999999999s"] {
            assert!(sync_mode(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn profiles_go_by_their_names() {
        for (name, known) in PROFILES {
            assert_eq!(profile(name), Ok(known));
            assert_eq!(profile_name(known), name);
        }
        assert!(profile("fast").is_err());
    }

    #[test]
    fn compressions_go_by_their_names() {
        for (name, known) in COMPRESSIONS {
            assert_eq!(compression(name), Ok(known));
        }
        assert_eq!(compression("zip"), Err("expected lz4 or none".to_owned()));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(directory("").is_err() && directory("/var/lib/plumbkv").is_ok());
        assert!(budget("1kb").is_err() && budget("lots").is_err());
        assert_eq!(budget("64mib"), Ok(64 << 20));
    }
}
