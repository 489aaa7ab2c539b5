//! Which targets are there, and what does `targets.toml` say of each?
//!
//! The file is read strictly: a key that is not known is an error that names the nearest known one, since a
//! misspelled setting that is silently ignored is a comparison of two things that were never meant.

use crate::model::{Mode, Role};
use crate::scenario::strict;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// All targets of `targets.toml`, in its order.
#[derive(Debug, Clone)]
pub struct Catalogue {
    targets: Vec<Definition>,
    overrides: BTreeMap<String, PathBuf>,
}

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
    /// A path, a name on `PATH`, `{server_binary}`, `{runner_binary}`, or `{drivers_dir}/NAME`: the folder of the
    /// runner itself, where `make drivers` puts them.
    pub binary: String,
    /// What to do where it is not found.
    #[serde(default)]
    pub missing: String,
    /// A driver program that is its client, where it speaks a protocol of its own; named as `binary` is.
    pub client: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Further arguments where a memory cap is given.
    #[serde(default)]
    pub cap_args: Vec<String>,
    /// `{memory_limit}` where the step gives no cap, bytes.
    pub default_memory_limit: Option<u64>,
    /// Whether it answers `INFO` with Redis's field names.
    #[serde(default)]
    pub info: bool,
    /// How to ask its version.
    pub version: VersionProbe,
    /// How to ask its allocator.
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

/// The version is the word after `after` in what the program prints when given `args`.
#[derive(Debug, Clone, Deserialize)]
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    target: BTreeMap<String, Definition>,
}

impl Catalogue {
    /// Reads and checks a catalogue.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or holds an unknown key, an unknown word or an empty field; the
    /// message names the file and the key.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the target catalogue {}", path.display()))?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Checks a catalogue's text; `file` is only named in errors.
    ///
    /// # Errors
    /// As [`Catalogue::load`].
    pub fn parse(file: &str, text: &str) -> anyhow::Result<Self> {
        let File { target } = strict::parse(file, text)?;
        let mut targets = Vec::new();
        for (key, mut definition) in target {
            definition.check().with_context(|| format!("{file}: target.{key}"))?;
            definition.key = key;
            targets.push(definition);
        }
        // A TOML table does not keep its order; subject, rivals, ceiling is the order of every table we print.
        targets.sort_by_key(|target| (target.role as u8, target.key.clone()));
        Ok(Self { targets, overrides: BTreeMap::new() })
    }

    /// The keys of all targets: the subject first, then the rivals, then the ceiling.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        self.targets.iter().map(|target| target.key.as_str()).collect()
    }

    /// All definitions, in the order of [`Catalogue::keys`].
    #[must_use]
    pub fn targets(&self) -> &[Definition] {
        &self.targets
    }

    /// One target.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Definition> {
        self.targets.iter().find(|target| target.key == key)
    }

    /// Takes another file for a target's program: `--bin redis-server=/opt/redis/bin/redis-server`.
    ///
    /// # Errors
    /// No such target; the message names the nearest one.
    pub fn override_bin(&mut self, key: &str, path: PathBuf) -> anyhow::Result<()> {
        if self.get(key).is_none() {
            bail!("no target `{key}` in targets.toml; {}", strict::advice(key, &self.keys()));
        }
        self.overrides.insert(key.to_owned(), path);
        Ok(())
    }

    /// The file named by [`Catalogue::override_bin`], if one was.
    #[must_use]
    pub fn overridden(&self, key: &str) -> Option<&Path> {
        self.overrides.get(key).map(PathBuf::as_path)
    }
}

impl Definition {
    fn check(&self) -> anyhow::Result<()> {
        let allocator = &self.allocator;
        let ways = [&allocator.after, &allocator.info, &allocator.text];
        if ways.iter().filter(|way| way.is_some()).count() != 1 {
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
        let needs_limit = self.args.iter().any(|arg| arg.contains("{memory_limit}"));
        if needs_limit && self.default_memory_limit.is_none() {
            bail!("args use {{memory_limit}}, so default_memory_limit is needed for steps that give no cap");
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
        for arg in self.args.iter().chain(&self.cap_args).chain(variant_args) {
            let rest = fill(arg, "", 0, Some(0));
            if rest.contains('{') {
                bail!("unknown placeholder in '{arg}'; known: {{host}} {{port}} {{memory_limit}}");
            }
        }
        Ok(())
    }

    /// The arguments of one start; `extra` are those of a variant.
    #[must_use]
    pub fn arguments(&self, host: &str, port: u16, cap_bytes: Option<u64>, extra: &[String]) -> Vec<String> {
        let limit = cap_bytes.or(self.default_memory_limit);
        let capped = if cap_bytes.is_some() { self.cap_args.as_slice() } else { &[] };
        self.args.iter().chain(capped).chain(extra).map(|arg| fill(arg, host, port, limit)).collect()
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

    /// Whether it can run in this mode at all.
    #[must_use]
    pub fn supports(&self, mode: Mode) -> bool {
        match mode {
            Mode::Native | Mode::NativeLimited => true,
            Mode::ContainerHost | Mode::ContainerPublished | Mode::ContainerNoIoUring => {
                self.container.is_some()
            }
            Mode::External => false,
        }
    }
}

fn fill(arg: &str, host: &str, port: u16, limit: Option<u64>) -> String {
    let text = arg.replace("{host}", host).replace("{port}", &port.to_string());
    match limit {
        Some(bytes) => text.replace("{memory_limit}", &bytes.to_string()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed() -> Catalogue {
        Catalogue::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/targets.toml")).unwrap()
    }

    fn error_of(text: &str) -> String {
        format!("{:#}", Catalogue::parse("targets.toml", text).unwrap_err())
    }

    #[test]
    fn the_committed_catalogue_is_valid_and_begins_with_the_subject() {
        let catalogue = committed();
        assert_eq!(
            catalogue.keys(),
            ["plumbkv", "fjall", "redb", "redis-server", "sqlite", "null", "floor-io-uring"]
        );
    }

    #[test]
    fn an_unknown_key_names_the_nearest_known_one() {
        let text =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/targets.toml"))
                .unwrap();
        let message = error_of(&text.replacen("durability =", "durabilty =", 1));
        assert!(message.contains("unknown key `durabilty`"), "{message}");
        assert!(message.contains("did you mean `durability`"), "{message}");
    }

    #[test]
    fn an_unknown_placeholder_is_refused() {
        let text = r#"
            [target.x]
            title = "x"
            role = "rival"
            transport = "socket"
            durability = "volatile"
            binary = "x"
            args = ["{prot}"]
            version = { args = [], after = "" }
            allocator = { text = "x" }
        "#;
        assert!(error_of(text).contains("unknown placeholder in '{prot}'"));
        assert!(Catalogue::parse("t", &text.replace("{prot}", "{port}")).is_ok());
    }

    #[test]
    fn cap_arguments_come_only_with_a_cap() {
        let catalogue = committed();
        let redis = catalogue.get("redis-server").unwrap();
        assert!(!redis.arguments("127.0.0.1", 7, None, &[]).contains(&"--maxmemory".to_owned()));
        let capped = redis.arguments("127.0.0.1", 7, Some(2_097_152), &[]);
        assert!(capped.windows(2).any(|pair| pair == ["--maxmemory", "2097152"]), "{capped:?}");
        let ours = catalogue.get("plumbkv").unwrap().arguments("127.0.0.1", 7, None, &[]);
        assert!(ours.contains(&"127.0.0.1:7".to_owned()) && ours.contains(&"1073741824".to_owned()));
    }

    #[test]
    fn a_variant_adds_to_a_start_and_an_unknown_one_names_the_nearest() {
        let text = r#"
            [target.x]
            title = "x"
            role = "rival"
            transport = "socket"
            durability = "volatile"
            binary = "x"
            args = ["{port}"]
            version = { args = [], after = "" }
            allocator = { text = "x" }
            [target.x.variants."threads=2"]
            args = ["--threads", "2"]
            environment = { MODE = "two" }
            reason = "two threads"
        "#;
        let catalogue = Catalogue::parse("t", text).unwrap();
        let definition = catalogue.get("x").unwrap();
        let variant = definition.variant("threads=2").unwrap();
        assert_eq!(definition.arguments("h", 7, None, &variant.args), ["7", "--threads", "2"]);
        assert_eq!(variant.environment["MODE"], "two");
        assert!(definition.variant("thread=2").unwrap_err().contains("did you mean `threads=2`"));
        assert!(error_of(&text.replace("threads=2", "threads")).contains("switch=value"));
    }

    #[test]
    fn another_binary_needs_a_known_target() {
        let message = committed().override_bin("redis-sever", "x".into()).unwrap_err().to_string();
        assert!(message.contains("did you mean `redis-server`"), "{message}");
    }
}
