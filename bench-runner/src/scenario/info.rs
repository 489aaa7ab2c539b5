//! What does a run's record say of the scenario it was made from?

use super::{PROFILES, Scenario, profile_name};
use crate::model::{Profile, ScenarioInfo};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The scenario as it stands in a record: its prose, and its sections as they are under `profile`.
///
/// Parameters are hashed in canonical JSON (keys sorted, no spaces), so that a changed definition is seen
/// to be another series; what belongs to other profiles only stays out of the hash.
#[must_use]
pub fn info(scenario: &Scenario, profile: Profile) -> ScenarioInfo {
    let definition = scenario.definition();
    let mut params = Map::new();
    params.insert("profile".to_owned(), Value::from(profile_name(profile)));
    params.insert("rules".to_owned(), json(&scenario.rules(profile)));
    for (name, sections) in [
        ("targets", json(&definition.targets)),
        ("load", json(&definition.load)),
        ("cap", json(&definition.cap)),
        ("start", json(&definition.start)),
        ("embedded", json(&definition.embedded)),
        ("per_key", json(&definition.per_key)),
        ("expiry", json(&definition.expiry)),
        ("tail", json(&definition.tail)),
    ] {
        let Value::Array(sections) = sections else { continue };
        let kept: Vec<Value> = sections.into_iter().filter_map(|section| resolve(section, profile)).collect();
        if !kept.is_empty() {
            params.insert(name.to_owned(), Value::Array(kept));
        }
    }
    let params = canonical(Value::Object(params));
    let digest = Sha256::digest(params.to_string().as_bytes());
    ScenarioInfo {
        key: definition.key.clone(),
        title: definition.title.clone(),
        kind: definition.kind.name().to_owned(),
        revision: definition.revision,
        analysis: paragraphs(&definition.analysis),
        validity: paragraphs(&definition.validity),
        not_measured: paragraphs(&definition.not_measured),
        params,
        params_sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A section as it is under one profile: gone where it is not for that profile, and each value that
/// follows the profile replaced by the one that holds.
fn resolve(section: Value, profile: Profile) -> Option<Value> {
    let Value::Object(mut map) = section else { return Some(section) };
    let name = profile_name(profile);
    if let Some(Value::Array(only)) = map.remove("profiles")
        && !only.iter().any(|each| each == name)
    {
        return None;
    }
    if is_per_profile(&map) {
        let own = map.get(name).or_else(|| map.get(profile_name(Profile::Full)));
        return own.cloned();
    }
    let resolved = map.into_iter().filter_map(|(key, value)| Some((key, resolve(value, profile)?)));
    Some(Value::Object(resolved.collect()))
}

/// Whether the keys are those of a [`super::PerProfile`], which may lack `release`.
fn is_per_profile(map: &Map<String, Value>) -> bool {
    let must = PROFILES.iter().filter(|profile| **profile != Profile::Release);
    map.contains_key(profile_name(Profile::Quick))
        && must.into_iter().all(|profile| map.contains_key(profile_name(*profile)))
}

/// Joins the lines of each paragraph: the file is wrapped for its editor, the page wraps for its reader.
fn paragraphs(text: &str) -> String {
    let joined = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    text.split("\n\n").map(joined).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn canonical(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, canonical(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_json_does_not_depend_on_the_order_of_keys() {
        let one = canonical(json!({"b": [{"y": 1, "x": 2}], "a": null}));
        let other = canonical(json!({"a": null, "b": [{"x": 2, "y": 1}]}));
        assert_eq!(one.to_string(), r#"{"a":null,"b":[{"x":2,"y":1}]}"#);
        assert_eq!(one.to_string(), other.to_string());
    }

    #[test]
    fn a_section_is_resolved_for_its_profile() {
        let section = json!({"starts": {"smoke": 1, "quick": 5, "full": 9}, "profiles": ["quick"]});
        assert_eq!(resolve(section.clone(), Profile::Quick), Some(json!({"starts": 5})));
        assert_eq!(resolve(section, Profile::Full), None);
        let every = json!({"starts": {"smoke": 1, "quick": 5, "full": 9}});
        assert_eq!(resolve(every, Profile::Release), Some(json!({"starts": 9})));
        let own = json!({"starts": {"smoke": 1, "quick": 5, "release": 7, "full": 9}});
        assert_eq!(resolve(own, Profile::Release), Some(json!({"starts": 7})));
    }

    #[test]
    fn wrapped_lines_become_paragraphs() {
        assert_eq!(paragraphs("one\ntwo\n\n\nthree\n"), "one two\n\nthree");
    }
}
