//! Which scenarios, targets and named machines are there? Reads the files below the root of the checkout.

use crate::environment::{Reader, Registry, hypervisor_vendor, machine};
use crate::model::{Machine, Mode};
use crate::scenario::{Load, Scenario, known_targets};
use crate::target::Catalogue;
use anyhow::Context;
use std::path::{Path, PathBuf};

/// Folder of the scenario files, below the root.
pub const SCENARIOS: &str = "bench-runner/scenarios";
/// The targets' file, in that folder.
const TARGETS: &str = "targets.toml";

/// The same in a project that is not ours, as `bench-runner init` lays it out.
const OWN_SCENARIOS: &str = "scenarios";

/// What `bench-runner init` writes, and what a server is measured by where no scenarios are: name and text.
pub const STARTER: [(&str, &str); 7] = [
    ("README.md", include_str!("../../starter/README.md")),
    ("scenarios/own-single.toml", include_str!("../../starter/own-single.toml")),
    ("scenarios/own-clients.toml", include_str!("../../starter/own-clients.toml")),
    ("scenarios/own-pipeline.toml", include_str!("../../starter/own-pipeline.toml")),
    ("scenarios/own-page.toml", include_str!("../../starter/own-page.toml")),
    ("scenarios/own-page-rate.toml", include_str!("../../starter/own-page-rate.toml")),
    ("scenarios/targets.toml", STARTER_TARGETS),
];

/// Among them, the targets.
const STARTER_TARGETS: &str = include_str!("../../starter/targets.toml");

fn folder(root: &Path) -> PathBuf {
    root.join(folder_name(root))
}

/// The folder of the scenario files, from the root.
fn folder_name(root: &Path) -> &'static str {
    let is_own = !root.join(SCENARIOS).is_dir() && root.join(OWN_SCENARIOS).is_dir();
    if is_own { OWN_SCENARIOS } else { SCENARIOS }
}

/// Whether a scenario is for servers that are already running.
fn is_foreign(scenario: &Scenario) -> bool {
    scenario.definition().targets.iter().any(|each| each.modes.contains(&Mode::External))
}

/// The scenarios for a server that is already running: those below the root that are made for one, else the
/// built-in ones.
///
/// # Errors
/// A file does not hold together; names it.
pub fn foreign(root: &Path) -> anyhow::Result<Vec<Scenario>> {
    if folder(root).is_dir() {
        let own: Vec<Scenario> = scenarios(root)?.into_iter().filter(is_foreign).collect();
        if !own.is_empty() {
            return Ok(own);
        }
    }
    let mut built_in = Vec::new();
    for (file, text) in STARTER.iter().filter(|(file, _)| file.contains("/own-")) {
        built_in.push(Scenario::parse(file, text)?);
    }
    Ok(built_in)
}

/// Without those that read an HTTP page, where the server they are for, at `url` or at the address that `targets` gives
/// it, speaks something else. One that is named in `wanted` is kept: its record says why it has no figures.
#[must_use]
pub fn fitting(
    all: Vec<Scenario>,
    wanted: &[String],
    targets: &Catalogue,
    url: Option<&str>,
) -> Vec<Scenario> {
    let of_pages = |scenario: &Scenario| {
        let loads = &scenario.definition().load;
        !loads.is_empty() && loads.iter().all(Load::is_of_a_page)
    };
    let fits = |scenario: &Scenario| {
        wanted.iter().any(|key| key == scenario.key())
            || !of_pages(scenario)
            || scenario.definition().targets.iter().any(|each| targets.is_page(&each.key, url))
    };
    all.into_iter().filter(fits).collect()
}

/// Reads and checks every scenario; in catalogue order.
///
/// # Errors
/// When a file cannot be read or does not hold together; names the file.
pub fn scenarios(root: &Path) -> anyhow::Result<Vec<Scenario>> {
    let name = folder_name(root);
    let folder = root.join(name);
    let entries = std::fs::read_dir(&folder).with_context(|| {
        format!(
            "no scenarios in {}: run inside the checkout or name it with --root DIR; for a server of your own, \
             `bench-runner init` writes some, and `bench-runner run --target redis://127.0.0.1:6379` or http://127.0.0.1:8080/ needs none",
            folder.display()
        )
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
        scenarios.push(Scenario::parse(&format!("{name}/{file}"), &text)?);
    }
    scenarios.sort_by_key(|scenario| (scenario.definition().place, scenario.key().to_owned()));
    Ok(scenarios)
}

/// Reads the targets, and checks that every target that a scenario names is one of them.
///
/// # Errors
/// When the file cannot be read or a scenario names an unknown target.
pub fn targets(root: &Path, scenarios: &[Scenario]) -> anyhow::Result<Catalogue> {
    let path = folder(root).join(TARGETS);
    let built_in = !scenarios.is_empty()
        && scenarios.iter().all(|scenario| {
            STARTER.iter().any(|(file, _)| file.ends_with(&format!("/{}.toml", scenario.key())))
        });
    let catalogue = match Catalogue::load(&path) {
        Ok(found) if scenarios.iter().all(|one| known_targets(one, &found.keys()).is_ok()) => found,
        // The scenarios that are built in bring their target with them.
        _ if built_in => Catalogue::parse("scenarios/targets.toml", STARTER_TARGETS)?,
        found => found?,
    };
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

/// The machine this runs on, and the name of its results.
///
/// # Errors
/// As [`machines`].
pub fn this_machine(root: &Path) -> anyhow::Result<(String, Machine)> {
    Ok(machines(root)?.identify(machine(&Reader::machine(), hypervisor_vendor())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_can_be_measured_where_no_scenarios_are() {
        let dir = tempfile::tempdir().unwrap();
        assert!(format!("{:#}", scenarios(dir.path()).unwrap_err()).contains("bench-runner init"));
        let built_in = foreign(dir.path()).unwrap();
        let found = targets(dir.path(), &built_in).unwrap();
        assert!(found.get("my-server").unwrap().supports(Mode::External));
        let keys = |wanted: &[String], url| -> Vec<String> {
            let fitting = fitting(built_in.clone(), wanted, &found, url);
            fitting.iter().map(|one| one.key().to_owned()).collect()
        };
        assert_eq!(keys(&[], None), ["own-single", "own-clients", "own-pipeline"]);
        assert_eq!(keys(&[], Some("redis://127.0.0.1")).len(), 3);
        assert_eq!(keys(&["own-page".to_owned()], None)[3], "own-page");
        assert_eq!(keys(&[], Some("http://127.0.0.1"))[3..], ["own-page", "own-page-rate"]);
    }

    #[test]
    fn what_is_laid_out_is_what_is_built_in() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(OWN_SCENARIOS)).unwrap();
        for (file, text) in STARTER {
            std::fs::write(dir.path().join(file), text).unwrap();
        }
        let own = scenarios(dir.path()).unwrap();
        let keys: Vec<&str> = own.iter().map(Scenario::key).collect();
        assert_eq!(keys, ["own-single", "own-clients", "own-pipeline", "own-page", "own-page-rate"]);
        assert!(targets(dir.path(), &own).is_ok());
        // An error names the file by its path here.
        std::fs::write(dir.path().join("scenarios/own-single.toml"), "key = 5").unwrap();
        let told = format!("{:#}", scenarios(dir.path()).unwrap_err());
        assert!(told.contains("scenarios/own-single.toml") && !told.contains(SCENARIOS), "{told}");
    }
}
