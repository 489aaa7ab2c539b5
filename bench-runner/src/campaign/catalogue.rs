//! Which scenarios, targets and named machines are there? Reads the files below the root of the checkout.

use crate::environment::Registry;
use crate::scenario::{Scenario, known_targets};
use crate::target::Catalogue;
use anyhow::Context;
use std::path::Path;

/// Folder of the scenario files, below the root.
pub const SCENARIOS: &str = "bench-runner/scenarios";
/// The targets' file, in that folder.
const TARGETS: &str = "targets.toml";

/// Reads and checks every scenario; in catalogue order.
///
/// # Errors
/// When a file cannot be read or does not hold together; names the file.
pub fn scenarios(root: &Path) -> anyhow::Result<Vec<Scenario>> {
    let folder = root.join(SCENARIOS);
    let entries = std::fs::read_dir(&folder).with_context(|| {
        format!("no scenarios in {}: run inside the checkout, or name it with --root DIR", folder.display())
    })?;
    let mut files: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".toml") && name != TARGETS)
        .collect();
    files.sort();
    let mut scenarios = Vec::with_capacity(files.len());
    for file in files {
        let text = std::fs::read_to_string(folder.join(&file))
            .with_context(|| format!("cannot read {}", folder.join(&file).display()))?;
        scenarios.push(Scenario::parse(&format!("{SCENARIOS}/{file}"), &text)?);
    }
    scenarios.sort_by_key(|scenario| (scenario.definition().place, scenario.key().to_owned()));
    Ok(scenarios)
}

/// Reads the targets, and checks that every target that a scenario names is one of them.
///
/// # Errors
/// When the file cannot be read or a scenario names an unknown target.
pub fn targets(root: &Path, scenarios: &[Scenario]) -> anyhow::Result<Catalogue> {
    let catalogue = Catalogue::load(&root.join(SCENARIOS).join(TARGETS))?;
    for scenario in scenarios {
        known_targets(scenario, &catalogue.keys())?;
    }
    Ok(catalogue)
}

/// Reads `results/machines.toml`; without the file no machine has a name.
///
/// # Errors
/// When the file is there but cannot be read.
pub fn machines(root: &Path) -> anyhow::Result<Registry> {
    let path = root.join("results/machines.toml");
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Registry::parse("results/machines.toml", &text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Registry::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
