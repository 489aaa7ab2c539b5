//! Which targets are there, and what stands in the way of measuring them?

use super::begin::Tools;
use super::catalogue;
use crate::model::{Mode, TargetRecord};
use crate::scenario::Scenario;
use crate::target::external::Consent;
use crate::target::{self, Catalogue, Setup};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// The catalogue as chosen, and what is needed to start targets. Holds the temporary folder.
#[derive(Debug)]
pub struct Bench {
    /// Targets.
    pub catalogue: Catalogue,
    /// How they are started.
    pub setup: Setup,
    /// What was found.
    pub records: Vec<TargetRecord>,
    /// Removed when dropped.
    _work: tempfile::TempDir,
}

impl Bench {
    /// Looks for targets and, where asked, for a container runtime.
    ///
    /// # Errors
    /// When the catalogue cannot be read, or a `--bin` names an unknown target.
    pub fn find(root: &Path, scenarios: &[Scenario], tools: &Tools) -> anyhow::Result<Self> {
        let mut catalogue = catalogue::targets(root, scenarios)?;
        for (key, path) in &tools.bins {
            catalogue.override_bin(key, path.clone())?;
        }
        let reached = match &tools.external {
            None => Vec::new(),
            Some(foreign) => foreign.reach(&mut catalogue)?,
        };
        for (external, foreign) in reached.iter().zip(&tools.external) {
            let consent = Consent { remote: foreign.allow_remote, non_empty: foreign.allow_non_empty };
            external.admit(consent, foreign.planned_bytes).map_err(anyhow::Error::msg)?;
        }
        let mut bench = Self::of(root, catalogue, tools.server_binary.clone())?;
        if tools.containers {
            bench.setup.prepare_containers(&format!("localhost/plumbkv:{}", env!("CARGO_PKG_VERSION")));
        }
        if !reached.is_empty() {
            // Where it runs is not ours to choose, so the generator is not pinned away from it.
            bench.setup.cpus = None;
        }
        bench.records = target::probe(&bench.catalogue, &bench.setup);
        Ok(bench)
    }

    /// Of a catalogue as it is, without containers and before any target was looked for.
    ///
    /// # Errors
    /// There is no room for temporary files.
    pub fn of(root: &Path, catalogue: Catalogue, server_binary: PathBuf) -> anyhow::Result<Self> {
        let work =
            tempfile::Builder::new().prefix("bench-runner-").tempdir().context("no temporary folder")?;
        let mut setup = Setup::new(root.to_path_buf(), work.path().to_path_buf(), server_binary);
        setup.runtime = Err(NO_CONTAINER.to_owned());
        setup.image = Err(NO_CONTAINER.to_owned());
        Ok(Self { catalogue, setup, records: Vec::new(), _work: work })
    }

    /// Why a target cannot be measured in a mode here; none where it can.
    #[must_use]
    pub fn obstacle(&self, key: &str, mode: Mode) -> Option<String> {
        let record = self.records.iter().find(|record| record.key == key);
        match record {
            None => return Some(format!("no target '{key}' in targets.toml")),
            Some(record) if !record.available => {
                let reason = record.reason.clone();
                return Some(reason.unwrap_or_else(|| format!("{key} was not found")));
            }
            Some(_) => {}
        }
        if matches!(mode, Mode::Native | Mode::External) {
            return None;
        }
        if mode == Mode::NativeLimited {
            return self.setup.limits.as_ref().err().cloned();
        }
        if self.catalogue.get(key).is_some_and(|definition| !definition.supports(mode)) {
            return Some(format!("{key} has no image here"));
        }
        if self.catalogue.get(key).is_some_and(|definition| definition.image.is_some()) {
            // That it is here, and that containers run, is what made it available.
            return None;
        }
        self.setup.image.as_ref().err().cloned()
    }
}

const NO_CONTAINER: &str = "containers were not looked for: --no-container, or no cell needs one";
