//! Which targets are there, and what does `targets.toml` say of each?
//!
//! The file is read strictly: a key that is not known is an error that names the nearest known one, since a
//! misspelled setting that is silently ignored is a comparison of two things that were never meant.

use super::Definition;
use super::external::{self, External};
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
            bail!("unknown target '{key}' in targets.toml; {}", strict::advice(key, &self.keys()));
        }
        self.overrides.insert(key.to_owned(), path);
        Ok(())
    }

    /// Gives a target's process further environment variables.
    pub fn add_environment(&mut self, key: &str, variables: &[(String, String)]) {
        if let Some(target) = self.targets.iter_mut().find(|target| target.key == key) {
            target.environment.extend(variables.iter().cloned());
        }
    }

    /// The targets that are already running, with the address that the catalogue gives each, or all with
    /// `url`. `tls_roots` are the certificates that are believed instead of the system's.
    ///
    /// # Errors
    /// An address cannot be read, or its host is not known.
    pub fn reach(
        &mut self,
        url: Option<&str>,
        tls_roots: Option<&Path>,
        prefix: &str,
        keys_max: u64,
    ) -> anyhow::Result<Vec<External>> {
        let mut reached = Vec::new();
        for target in &mut self.targets {
            let Some(address) = target.address.as_deref() else { continue };
            let parsed = external::parse(url.unwrap_or(address)).map_err(anyhow::Error::msg)?;
            let parsed = parsed.believing(tls_roots.map(Path::to_owned));
            let found = External { keys_max, ..parsed.under(prefix) };
            reached.push(found.clone());
            target.external = Some(found);
        }
        Ok(reached)
    }

    /// Whether a target is an HTTP server that is already running, at `url` or, without one, at its own address.
    #[must_use]
    pub fn is_page(&self, key: &str, url: Option<&str>) -> bool {
        let own = self.get(key).and_then(|target| target.address.as_deref());
        own.is_some_and(|own| external::is_http(url.unwrap_or(own)))
    }

    /// The file named by [`Catalogue::override_bin`], if one was.
    #[must_use]
    pub fn overridden(&self, key: &str) -> Option<&Path> {
        self.overrides.get(key).map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Mode, Role};
    use crate::target::Fill;

    fn committed() -> Catalogue {
        Catalogue::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/targets.toml")).unwrap()
    }

    fn at(cap_bytes: Option<u64>) -> Fill {
        Fill { host: "127.0.0.1".to_owned(), port: 7, cap_bytes, ..Fill::default() }
    }

    fn error_of(text: &str) -> String {
        format!("{:#}", Catalogue::parse("targets.toml", text).unwrap_err())
    }

    #[test]
    fn the_committed_catalogue_is_valid_and_begins_with_the_subject() {
        let catalogue = committed();
        let keys = catalogue.keys();
        assert_eq!(keys[0], "plumbkv");
        let place = |key: &str| keys.iter().position(|one| *one == key);
        assert!(place("redis-server") < place("null"), "{keys:?}");
        for rival in
            ["valkey", "kevy", "memcached", "postgresql", "nginx", "dragonfly", "mongodb", "elasticsearch"]
        {
            let definition = catalogue.get(rival).unwrap();
            assert_eq!(definition.supports(Mode::Native), definition.image.is_none(), "{rival}");
        }
        assert!(
            catalogue.targets().iter().all(|one| one.role != Role::Rival || one.title.contains("{version}"))
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
        assert!(error_of(text).contains("unknown placeholder at '{prot}'"));
        assert!(Catalogue::parse("t", &text.replace("{prot}", "{port}")).is_ok());
    }

    #[test]
    fn cap_arguments_come_only_with_a_cap() {
        let catalogue = committed();
        let redis = catalogue.get("redis-server").unwrap();
        assert!(!redis.arguments(&at(None), &[]).contains(&"--maxmemory".to_owned()));
        let capped = redis.arguments(&at(Some(2_097_152)), &[]);
        assert!(capped.windows(2).any(|pair| pair == ["--maxmemory", "2097152"]), "{capped:?}");
        let ours = catalogue.get("plumbkv").unwrap().arguments(&at(None), &[]);
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
        assert_eq!(definition.arguments(&at(None), &variant.args), ["7", "--threads", "2"]);
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
