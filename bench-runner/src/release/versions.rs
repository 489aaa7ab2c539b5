//! `results/versions.toml`: the groups that a patch version measures at the profile `release`.

use crate::scenario::strict::{self, StrictError};
use crate::scenario::{GROUPS, Group};
use serde::Deserialize;

/// What each version owes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    #[serde(default)]
    version: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// `0.5.1`.
    id: String,
    /// Groups whose code changed since the version before, or whose evidence is missing.
    release: Vec<Group>,
    /// Why these; for people.
    #[serde(rename = "reason")]
    _reason: String,
}

impl Versions {
    /// The groups that `version` measures at the profile `release`: those that the file names, else all of
    /// a minor version and none of a patch version.
    #[must_use]
    pub fn release_groups(&self, version: &str) -> Vec<Group> {
        match self.version.iter().find(|entry| entry.id == version) {
            Some(entry) if !is_minor(version) => entry.release.clone(),
            _ if is_minor(version) => GROUPS.to_vec(),
            _ => Vec::new(),
        }
    }
}

/// `0.6.0` and `0.6.0-rc.1` are, `0.6.1` is not.
fn is_minor(version: &str) -> bool {
    let numbers = version.split_once('-').map_or(version, |(numbers, _)| numbers);
    numbers.rsplit('.').next() == Some("0")
}

/// Reads the text of `versions.toml`; `file` is named in errors.
///
/// # Errors
/// When it is not TOML, has an unknown key or an unknown group.
pub fn parse(file: &str, text: &str) -> Result<Versions, StrictError> {
    strict::parse(file, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_version_owes_every_group_and_a_patch_version_those_that_are_named() {
        let text = "[[version]]\nid = \"0.5.1\"\nrelease = [\"wire\", \"memory\"]\nreason = \"R\"\n\
                    [[version]]\nid = \"0.6.0\"\nrelease = []\nreason = \"R\"\n";
        let versions = parse("versions.toml", text).unwrap();
        assert_eq!(versions.release_groups("0.5.1"), [Group::Wire, Group::Memory]);
        assert_eq!(versions.release_groups("0.5.2"), []);
        assert_eq!(versions.release_groups("0.6.0"), GROUPS, "no entry makes a minor version owe less");
        assert_eq!(versions.release_groups("1.0.0-rc.1"), GROUPS);
    }

    #[test]
    fn an_unknown_group_is_refused_with_the_nearest_known_one() {
        let text = "[[version]]\nid = \"0.5.1\"\nrelease = [\"wires\"]\nreason = \"R\"\n";
        let error = parse("versions.toml", text).unwrap_err().to_string();
        assert!(error.contains("wires") && error.contains("wire"), "{error}");
    }
}
