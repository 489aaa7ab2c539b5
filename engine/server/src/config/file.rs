//! What does the TOML file say? Its keys are the names of the settings, and its values become the texts that flags would have.

use std::path::Path;

use super::{ConfigError, Origin, SETTINGS, Setting};

/// The settings a TOML file gives, each as its values in text.
pub(super) fn read(path: &Path) -> Result<Vec<(&'static str, Vec<String>)>, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    })?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| ConfigError::Malformed {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count()),
        reason: error.message().replace('\n', ", "),
    })?;
    let mut found = Vec::new();
    for (key, value) in &table {
        let setting = SETTINGS.iter().find(|setting| setting.name == key).ok_or_else(|| {
            ConfigError::UnknownKey { path: path.to_owned(), key: key.clone(), nearest: nearest(key) }
        })?;
        let values = match value {
            toml::Value::Array(items) if setting.repeatable => items.iter().map(scalar).collect(),
            single => scalar(single).map(|text| vec![text]),
        };
        let origin = Origin::File(path.to_owned(), setting.name);
        let values = values
            .ok_or_else(|| ConfigError::Setting { origin, reason: format!("expected {}", setting.value) })?;
        found.push((setting.name, values));
    }
    Ok(found)
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(on) => Some(if *on { "yes" } else { "no" }.to_owned()),
        _ => None,
    }
}

fn nearest(key: &str) -> &'static str {
    let distance = |setting: &&Setting| strsim::damerau_levenshtein(setting.name, key);
    SETTINGS.iter().min_by_key(distance).map_or("listen", |setting| setting.name)
}
