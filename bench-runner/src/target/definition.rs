//! What may `targets.toml` say of one target, and how do its arguments come about?

use super::external::{self, External};
use crate::model::{Mode, Role};
use crate::plan::Pace;
use crate::scenario::strict;
use anyhow::bail;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One target as `targets.toml` defines it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Its name in the catalogue.
    #[serde(skip)]
    pub key: String,
    /// For people; `{version}` and `{allocator}` are filled in by the probe.
    pub title: String,
    /// What it is to us.
    pub role: Role,
    /// `socket` or `in_process`.
    pub transport: String,
    /// `volatile` or `durable`.
    pub durability: String,
    /// What it speaks.
    #[serde(default)]
    pub protocol: Protocol,
    /// A path, a name on `PATH`, `{server_binary}`, `{runner_binary}`, or `{drivers_dir}/NAME`: the folder of the
    /// runner itself, where `make drivers` puts them. Empty for a target that is an image alone.
    #[serde(default)]
    pub binary: String,
    /// Where else its program may lie, the first that is there: below the root unless absolute; one folder of
    /// the path may be `*`, and the last in order is then taken.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// An image that must be on this machine already: nothing is pulled. Such a target runs in containers only.
    pub image: Option<String>,
    /// A server that is already running: `redis://host:port` or `http://host:port/path`. It is neither started nor ended.
    pub address: Option<String>,
    /// The server behind `address`, once it has been read.
    #[serde(skip)]
    pub external: Option<External>,
    /// The port it listens on inside its image.
    #[serde(default = "redis_port")]
    pub image_port: u16,
    /// The user it runs as where the runner is root and the target refuses to be.
    pub user: Option<String>,
    /// Files that are written into `{work_dir}` before each start, from a template below the root in which the
    /// same placeholders stand as in `args`.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Programs that are run to their end before each start, outside the time that counts.
    #[serde(default)]
    pub before: Vec<Vec<String>>,
    /// What else is laid out before each start.
    pub prepare: Option<Prepare>,
    /// What to do where it is not found.
    #[serde(default)]
    pub missing: String,
    /// A driver program that is its client, where it speaks a protocol of its own; named as `binary` is.
    pub client: Option<String>,
    /// Of an embedded engine: how fast it is and what it takes on the disk, roughly, for estimates of a plan.
    #[serde(default)]
    pub pace: Pace,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Further arguments where a memory cap is given.
    #[serde(default)]
    pub cap_args: Vec<String>,
    /// `{memory_limit}` where the step gives no cap, bytes.
    pub default_memory_limit: Option<u64>,
    /// Whether it answers `INFO` with Redis's field names.
    #[serde(default)]
    pub info: bool,
    /// How to ask its version; a server behind an address is asked by `INFO`.
    #[serde(default)]
    pub version: VersionProbe,
    /// How to ask its allocator; likewise.
    #[serde(default)]
    pub allocator: AllocatorProbe,
    /// Present where it can run from our image.
    pub container: Option<ContainerDefinition>,
    /// Environment variables of its process or container, natively and in a container alike.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Settings that differ from its defaults.
    #[serde(default)]
    pub settings: Vec<SettingDefinition>,
    /// Switches, each a way to start it that differs in one thing: `allocator=mimalloc`.
    #[serde(default)]
    pub variants: BTreeMap<String, Variant>,
}

/// One switch: what is added to a start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Further arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Further environment variables.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What the switch is for.
    pub reason: String,
}

/// What a target speaks, and so how it is asked whether it is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// The Redis protocol; ready when `PING` is answered.
    #[default]
    Resp,
    /// Memcached's text protocol; ready when `version` is answered.
    Memcached,
    /// HTTP/1.1; ready when a GET is answered.
    Http,
    /// PostgreSQL's own; ready when a connection is let in.
    Postgres,
    /// Anything else; ready when a connection is accepted. No load of ours speaks it.
    Other,
}

/// What is laid out before each start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepare {
    /// `{documents}`: a folder with one file per key, named as the key, whose content is the key's value.
    Documents,
}

/// The version is the word after `after` in what the program prints when given `args`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionProbe {
    /// Arguments that make it print its version.
    pub args: Vec<String>,
    /// The text right before the version.
    pub after: String,
}

/// Exactly one of its fields is given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllocatorProbe {
    /// The word after this text in the version's output.
    pub after: Option<String>,
    /// A field of `INFO` of the running target.
    pub info: Option<String>,
    /// Said here, where the program cannot be asked.
    pub text: Option<String>,
}

/// What the container modes need beyond the native ones.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerDefinition {
    /// Environment variable that carries the password behind a published port.
    pub password_env: String,
}

/// A setting that differs from the target's default.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingDefinition {
    /// As the target spells it.
    pub key: String,
    /// The value given.
    pub value: String,
    /// Why.
    pub reason: String,
    /// Where it applies; everywhere if absent.
    pub only: Option<SettingScope>,
}

/// Where a setting applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingScope {
    /// In steps that give a memory cap.
    Cap,
    /// In containers behind a published port.
    ContainerPublished,
}

impl Definition {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let allocator = &self.allocator;
        let ways = [&allocator.after, &allocator.info, &allocator.text];
        if self.address.is_none() && ways.iter().filter(|way| way.is_some()).count() != 1 {
            bail!("allocator needs exactly one of: after, info, text");
        }
        if allocator.info.is_some() && !self.info {
            bail!("allocator asks INFO, but info is not true");
        }
        if !["socket", "in_process"].contains(&self.transport.as_str()) {
            bail!("transport is '{}', not socket or in_process", self.transport);
        }
        if !["volatile", "durable"].contains(&self.durability.as_str()) {
            bail!("durability is '{}', not volatile or durable", self.durability);
        }
        if self.info && self.protocol != Protocol::Resp {
            bail!("info is true, but only a target that speaks RESP answers INFO");
        }
        let ways = [!self.binary.is_empty(), self.image.is_some(), self.address.is_some()];
        if ways.into_iter().filter(|way| *way).count() != 1 {
            bail!("it needs exactly one of: binary, image, address");
        }
        if let Some(address) = &self.address {
            external::parse(address).map_err(anyhow::Error::msg)?;
        }
        if self.image.is_some() && self.container.is_some() {
            bail!("container is for targets that run from our image; this one has an image of its own");
        }
        let needs_limit = self.args.iter().any(|arg| arg.contains("{memory_limit"));
        if needs_limit && self.default_memory_limit.is_none() {
            bail!("args use a memory limit, so default_memory_limit is needed for steps that give no cap");
        }
        for (key, variant) in &self.variants {
            if !key.contains('=') {
                bail!("variant '{key}' needs a name of the form switch=value");
            }
            if variant.args.is_empty() && variant.environment.is_empty() {
                bail!("variant '{key}' changes nothing: it needs args or environment");
            }
        }
        let variant_args = self.variants.values().flat_map(|variant| &variant.args);
        let before = self.before.iter().flatten();
        for arg in self.args.iter().chain(&self.cap_args).chain(variant_args).chain(before) {
            if let Some(unknown) = Fill::default().text(arg).find('{') {
                let rest = Fill::default().text(arg);
                bail!(
                    "unknown placeholder at '{}' in '{arg}'; known: {}",
                    &rest[unknown..],
                    PLACEHOLDERS.join(" ")
                );
            }
        }
        for program in &self.before {
            if program.is_empty() {
                bail!("before holds an empty command");
            }
        }
        Ok(())
    }

    /// The arguments of one start; `extra` are those of a variant.
    #[must_use]
    pub fn arguments(&self, fill: &Fill, extra: &[String]) -> Vec<String> {
        let capped = if fill.cap_bytes.is_some() { self.cap_args.as_slice() } else { &[] };
        let fill = Fill { cap_bytes: fill.cap_bytes.or(self.default_memory_limit), ..fill.clone() };
        self.args.iter().chain(capped).chain(extra).map(|arg| fill.text(arg)).collect()
    }

    /// A switch by its key.
    ///
    /// # Errors
    /// It has no such switch; names the nearest.
    pub fn variant(&self, key: &str) -> Result<&Variant, String> {
        self.variants.get(key).ok_or_else(|| {
            let known: Vec<&str> = self.variants.keys().map(String::as_str).collect();
            format!("{} has no variant `{key}`; {}", self.key, strict::advice(key, &known))
        })
    }

    /// Whether it is an engine inside a driver program, without a socket.
    #[must_use]
    pub fn is_in_process(&self) -> bool {
        self.transport == "in_process"
    }

    /// Whether its load is brought by a driver program: it is one, or a server with a protocol of its own.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        self.is_in_process() || self.client.is_some()
    }

    /// Whether it can run in this mode at all.
    #[must_use]
    pub fn supports(&self, mode: Mode) -> bool {
        match mode {
            Mode::Native | Mode::NativeLimited => !self.binary.is_empty(),
            Mode::ContainerHost | Mode::ContainerPublished | Mode::ContainerNoIoUring => {
                self.container.is_some() || self.image.is_some()
            }
            Mode::External => self.address.is_some(),
        }
    }

    /// Whether a start of it needs a folder of its own.
    #[must_use]
    pub(crate) fn needs_folder(&self) -> bool {
        let named =
            |text: &String| ["{work_dir}", "{data_dir}", "{documents}"].iter().any(|it| text.contains(it));
        self.prepare.is_some() || !self.files.is_empty() || self.args.iter().any(named)
    }
}

const PLACEHOLDERS: [&str; 8] = [
    "{host}",
    "{port}",
    "{memory_limit}",
    "{memory_limit_mib}",
    "{work_dir}",
    "{data_dir}",
    "{documents}",
    "{bin_dir}",
];

/// What stands for the placeholders of one start.
#[derive(Debug, Clone, Default)]
pub struct Fill {
    /// `{host}`: the address it listens on.
    pub host: String,
    /// `{port}`.
    pub port: u16,
    /// `{memory_limit}`, bytes, and `{memory_limit_mib}`, the same in MiB.
    pub cap_bytes: Option<u64>,
    /// `{work_dir}`: the folder of this start; `{data_dir}` and `{documents}` lie in it.
    pub work_dir: PathBuf,
    /// `{bin_dir}`: the folder its program lies in, links followed.
    pub bin_dir: PathBuf,
}

impl Fill {
    /// A text with its placeholders filled in.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let limit = self.cap_bytes.unwrap_or(0);
        let values = [
            self.host.clone(),
            self.port.to_string(),
            limit.to_string(),
            limit.div_ceil(1 << 20).to_string(),
            self.work_dir.display().to_string(),
            self.data_dir().display().to_string(),
            self.documents().display().to_string(),
            self.bin_dir.display().to_string(),
        ];
        PLACEHOLDERS
            .iter()
            .zip(values)
            .fold(text.to_owned(), |text, (name, value)| text.replace(name, &value))
    }

    /// `{data_dir}`.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.work_dir.join("data")
    }

    /// `{documents}`.
    #[must_use]
    pub fn documents(&self) -> PathBuf {
        self.work_dir.join("documents")
    }
}

fn redis_port() -> u16 {
    6379
}
