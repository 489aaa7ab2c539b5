//! What people see: progress on stderr, tables and documents on stdout.

pub mod escape;
pub mod gate;
pub mod progress;
pub mod spark;
pub mod summary;
pub mod table;

use serde_json::{Map, Value};

/// Shape of the JSON documents of commands; counted up when a field goes or changes its meaning. A new one is no change.
pub const DOCUMENT_VERSION: u32 = 1;

/// What a command prints with `--format json`: the value with `schema`, `plumbkv.<name>`, and `schema_version` in front.
#[must_use]
pub fn document(name: &str, value: Value) -> Value {
    let mut all = Map::new();
    all.insert("schema".to_owned(), format!("plumbkv.{name}").into());
    all.insert("schema_version".to_owned(), DOCUMENT_VERSION.into());
    match value {
        Value::Object(fields) => all.extend(fields),
        other => _ = all.insert("value".to_owned(), other),
    }
    Value::Object(all)
}
