//! Flags that several sub-commands share: the selected part of the catalogue, and the programs to run.

use super::Global;
use crate::campaign::begin::{Selection, Tools, target_triple};
use crate::model::{Mode, Profile};
use crate::scenario::Group;
use anyhow::{Context as _, bail};
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

/// How long and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProfileFlag {
    /// 1 trial of 0.1 s: checks that everything runs; never published
    Smoke,
    /// 3 trials of 1 s: ranges, no intervals
    Quick,
    /// 9 trials of 1 s for cells that decide a claim, 3 or 5 for others: what a release publishes
    Release,
    /// 9 trials of 3 s: medians with exact intervals; takes hours
    Full,
}

/// Where a target runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum ModeFlag {
    /// A process
    Native,
    /// A process with the limits of the containers
    NativeLimited,
    /// A container on the host network
    ContainerHost,
    /// A container with a published port
    ContainerPublished,
    /// As container_published, with a seccomp profile that forbids io_uring
    ContainerNoIoUring,
    /// A server that is already running
    External,
}

/// A part of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum GroupFlag {
    /// Load over sockets in the Redis protocol
    Wire,
    /// Memory caps, memory per key, expiry
    Memory,
    /// Containers, start-up, switches of one binary
    Deploy,
    /// Load over HTTP
    Http,
    /// The durable store, and embedded engines beside it
    Durable,
}

impl GroupFlag {
    pub(super) fn group(self) -> Group {
        match self {
            Self::Wire => Group::Wire,
            Self::Memory => Group::Memory,
            Self::Deploy => Group::Deploy,
            Self::Http => Group::Http,
            Self::Durable => Group::Durable,
        }
    }
}

/// Which part of the catalogue.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SelectionArgs {
    /// Number and duration of trials
    #[arg(long, value_enum, default_value_t = ProfileFlag::Quick)]
    pub(super) profile: ProfileFlag,
    /// Only this scenario; may be repeated
    #[arg(long = "scenario", value_name = "KEY")]
    pub(super) scenarios: Vec<String>,
    /// Only the scenarios of this group; may be repeated
    #[arg(long = "group", value_name = "GROUP", value_enum)]
    pub(super) groups: Vec<GroupFlag>,
    /// Only this target; may be repeated. With run, the URL of one running server instead:
    /// redis://[user:password@]host:port[/database], rediss://…, unix:///path, host:port, memcached://host:port, or http(s)://host:port/path,
    /// of which only that page is requested
    #[arg(long = "target", value_name = "KEY|URL")]
    pub(super) targets: Vec<String>,
    /// Only this mode; may be repeated
    #[arg(long = "mode", value_enum)]
    pub(super) modes: Vec<ModeFlag>,
    /// Seed for the order of steps and all key sequences [default: random; recorded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..1 << 53))]
    pub(super) seed: Option<u64>,
    /// Fail if the plan takes longer than this: 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
}

impl SelectionArgs {
    pub(super) fn selection(&self) -> Selection {
        Selection {
            profile: match self.profile {
                ProfileFlag::Smoke => Profile::Smoke,
                ProfileFlag::Quick => Profile::Quick,
                ProfileFlag::Release => Profile::Release,
                ProfileFlag::Full => Profile::Full,
            },
            scenarios: self.scenarios.clone(),
            groups: self.groups.iter().map(|group| group.group()).collect(),
            targets: self.targets.clone(),
            modes: self
                .modes
                .iter()
                .map(|mode| match mode {
                    ModeFlag::Native => Mode::Native,
                    ModeFlag::ContainerHost => Mode::ContainerHost,
                    ModeFlag::ContainerPublished => Mode::ContainerPublished,
                    ModeFlag::ContainerNoIoUring => Mode::ContainerNoIoUring,
                    ModeFlag::NativeLimited => Mode::NativeLimited,
                    ModeFlag::External => Mode::External,
                })
                .collect(),
        }
    }

    /// Refuses a plan over the budget.
    pub(super) fn check_budget(&self, seconds: f64) -> anyhow::Result<()> {
        match self.budget {
            Some(budget) if seconds > budget.as_secs_f64() => bail!(
                "the plan takes about {}, longer than the budget of {}: choose a shorter --profile, or select \
                 scenarios with --scenario or --group",
                crate::output::progress::words(Duration::from_secs_f64(seconds)),
                crate::output::progress::words(budget)
            ),
            _ => Ok(()),
        }
    }
}

/// Where the programs are.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ToolArgs {
    /// Program of a target: --bin redis-server=/opt/redis/redis-server; may be repeated
    #[arg(long = "bin", value_name = "KEY=PATH", value_parser = key_and_path)]
    pub(super) bins: Vec<(String, PathBuf)>,
    /// The server under test [default: <root>/target/<triple>/release/plumbkv]
    #[arg(long, value_name = "PATH")]
    pub(super) server_binary: Option<PathBuf>,
    /// Skip container cells; they are recorded as skipped
    #[arg(long)]
    pub(super) no_container: bool,
}

impl ToolArgs {
    pub(super) fn tools(&self, global: &Global) -> Tools {
        let standard = || global.root.join(format!("target/{}/release/plumbkv", target_triple()));
        // Absolute, because a resumed run may be started from another folder.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Tools {
            server_binary: absolute(self.server_binary.clone().unwrap_or_else(standard)),
            bins: self.bins.iter().map(|(key, path)| (key.clone(), absolute(path.clone()))).collect(),
            containers: !self.no_container,
            external: None,
        }
    }
}

fn key_and_path(text: &str) -> anyhow::Result<(String, PathBuf)> {
    let (key, path) =
        text.split_once('=').context("expected KEY=PATH, for example redis-server=/opt/redis-server")?;
    if key.is_empty() || path.is_empty() {
        bail!("expected KEY=PATH, for example redis-server=/opt/redis-server");
    }
    Ok((key.to_owned(), PathBuf::from(path)))
}

pub(super) fn duration(text: &str) -> anyhow::Result<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match text.get(digits.len()..).unwrap_or_default() {
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        unit => bail!("unknown unit '{unit}': expected s, m or h, as in 90s, 10m or 2h"),
    };
    let number: f64 = digits.parse().context("expected a number and a unit, as in 90s, 10m or 2h")?;
    Duration::try_from_secs_f64(number * seconds)
        .context("expected a positive duration, as in 90s, 10m or 2h")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_programs_are_read_as_people_write_them() {
        assert_eq!(duration("90s").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("1.5m").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("2h").unwrap(), Duration::from_secs(7200));
        assert!(duration("2d").unwrap_err().to_string().contains("unknown unit 'd'"));
        assert!(duration("-1s").is_err());
        assert!(duration("").is_err());
        assert_eq!(key_and_path("a=b=c").unwrap(), ("a".to_owned(), PathBuf::from("b=c")));
        assert!(key_and_path("redis").is_err() && key_and_path("=x").is_err());
    }
}
