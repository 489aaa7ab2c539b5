//! The catalogue of scenarios for readers in other languages: keys, titles and groups, of which records of earlier
//! versions know nothing.

use crate::scenario::{GROUPS, Scenario};
use serde_json::{Value, json};

/// The groups and the scenarios, in the order of pages and lists.
#[must_use]
pub(super) fn catalogue(scenarios: &[Scenario]) -> Value {
    let groups: Vec<Value> =
        GROUPS.iter().map(|group| json!({"key": group.name(), "title": group.title()})).collect();
    let scenarios: Vec<Value> = scenarios
        .iter()
        .map(|one| {
            let definition = one.definition();
            json!({
                "key": definition.key,
                "title": definition.title,
                "group": definition.group.name(),
                "kind": definition.kind.name(),
                "stresses": definition.stresses,
                "by_name": definition.by_name,
            })
        })
        .collect();
    json!({"groups": groups, "scenarios": scenarios})
}
