//! Under which system-call filter does a container run, when io_uring is what is to be compared?
//!
//! Runtimes differ: Docker forbids io_uring since version 25, other defaults allow it or do not know it. The two
//! container steps that differ only in io_uring therefore both name a profile: the runtime's own default, once
//! with io_uring allowed and once without. Where that default is not on the disk (Docker keeps it in its
//! program), the step without io_uring gets a profile that allows everything else.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The three system calls of io_uring.
const CALLS: [&str; 3] = ["io_uring_setup", "io_uring_enter", "io_uring_register"];

/// Where Debian, Fedora and their like keep podman's default profile.
const DEFAULT_PROFILE: &str = "/usr/share/containers/seccomp.json";

/// The profile as committed for runtimes whose own is not on the disk.
const DENY_ONLY: &str = include_str!("../../../docker/seccomp-no-io-uring.json");

/// The profile files of one runner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Profiles {
    /// Allows io_uring; none: the runtime's default stays, whatever it says of io_uring.
    pub(crate) with_io_uring: Option<PathBuf>,
    /// Forbids io_uring.
    pub(crate) without_io_uring: Option<PathBuf>,
}

impl Profiles {
    /// Writes the two files into `folder`.
    pub(crate) fn write(folder: &Path, runtime_has_default_on_disk: bool) -> Result<Self, String> {
        let told = |error: &dyn std::fmt::Display| format!("no seccomp profile: {error}");
        let default = if runtime_has_default_on_disk {
            std::fs::read_to_string(DEFAULT_PROFILE).ok().and_then(|text| serde_json::from_str(&text).ok())
        } else {
            None
        };
        let write = |name: &str, profile: &Value| {
            let path = folder.join(name);
            std::fs::write(&path, profile.to_string()).map_err(|error| told(&error))?;
            Ok::<_, String>(path)
        };
        Ok(match default {
            Some(default) => Self {
                with_io_uring: Some(write("seccomp-with-io-uring.json", &allowing(&default))?),
                without_io_uring: Some(write("seccomp-no-io-uring.json", &forbidding(&default))?),
            },
            None => {
                let profile = serde_json::from_str(DENY_ONLY).map_err(|error| told(&error))?;
                Self {
                    with_io_uring: None,
                    without_io_uring: Some(write("seccomp-no-io-uring.json", &profile)?),
                }
            }
        })
    }
}

/// A profile that says nothing of io_uring, so that its default action holds for it.
fn silent(profile: &Value) -> Value {
    let mut profile = profile.clone();
    if let Some(rules) = profile.get_mut("syscalls").and_then(Value::as_array_mut) {
        for rule in rules.iter_mut() {
            if let Some(names) = rule.get_mut("names").and_then(Value::as_array_mut) {
                names.retain(|name| !CALLS.iter().any(|call| name == call));
            }
        }
        rules
            .retain(|rule| rule.get("names").and_then(Value::as_array).is_none_or(|names| !names.is_empty()));
    }
    profile
}

fn with_rule(profile: &Value, rule: Value) -> Value {
    let mut profile = silent(profile);
    match profile.get_mut("syscalls").and_then(Value::as_array_mut) {
        Some(rules) => rules.push(rule),
        None => profile["syscalls"] = json!([rule]),
    }
    profile
}

/// The same profile with io_uring allowed.
fn allowing(profile: &Value) -> Value {
    with_rule(profile, json!({"names": CALLS, "action": "SCMP_ACT_ALLOW"}))
}

/// The same profile with io_uring answered by ENOSYS, as on a kernel that has none.
fn forbidding(profile: &Value) -> Value {
    if profile.get("defaultAction").is_some_and(|action| action == "SCMP_ACT_ERRNO") {
        // A rule of the action that holds anyway is refused by libseccomp.
        return silent(profile);
    }
    with_rule(profile, json!({"names": CALLS, "action": "SCMP_ACT_ERRNO", "errnoRet": 38}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(profile: &Value) -> Vec<&str> {
        let rules = profile["syscalls"].as_array().unwrap();
        rules
            .iter()
            .flat_map(|rule| rule["names"].as_array().unwrap())
            .map(|it| it.as_str().unwrap())
            .collect()
    }

    #[test]
    fn only_io_uring_differs_between_the_two() {
        let default = json!({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
            {"names": ["read", "io_uring_setup"], "action": "SCMP_ACT_ALLOW"},
            {"names": ["io_uring_enter"], "action": "SCMP_ACT_ALLOW"},
        ]});
        assert_eq!(names(&forbidding(&default)), ["read"]);
        let mut with = allowing(&default);
        assert_eq!(names(&with), ["read", CALLS[0], CALLS[1], CALLS[2]]);
        with["syscalls"].as_array_mut().unwrap().pop();
        assert_eq!(with, forbidding(&default));
    }

    #[test]
    fn where_everything_else_is_allowed_the_calls_are_refused_by_name() {
        let profile = forbidding(&json!({"defaultAction": "SCMP_ACT_ALLOW"}));
        assert_eq!(names(&profile), CALLS);
        assert_eq!(profile["syscalls"][0]["errnoRet"], 38);
    }

    #[test]
    fn the_committed_profile_refuses_io_uring_and_nothing_else() {
        let committed: Value = serde_json::from_str(DENY_ONLY).unwrap();
        assert_eq!(committed["defaultAction"], "SCMP_ACT_ALLOW");
        assert_eq!(names(&committed), CALLS);
        assert!(committed["syscalls"][0]["action"] == "SCMP_ACT_ERRNO");
    }

    #[test]
    fn both_files_are_written_and_are_json() {
        let dir = tempfile::tempdir().unwrap();
        let profiles = Profiles::write(dir.path(), false).unwrap();
        assert_eq!(profiles.with_io_uring, None);
        let text = std::fs::read_to_string(profiles.without_io_uring.unwrap()).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok());
    }
}
