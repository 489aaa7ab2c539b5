//! `bench-runner env`: what of this machine would stand in a record made now?

use super::stdout::put;
use super::{EXIT_FINE, Format, Global};
use crate::campaign::catalogue;
use crate::environment::{Reader, advice, source, system};
use crate::output::document;
use crate::output::table;
use crate::target::{choose_cpus, cpus_usable};
use serde_json::{Value, json};

/// Print the machine, environment and source as they would be recorded now
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(_args: Args, global: &Global) -> anyhow::Result<u8> {
    let reader = Reader::machine();
    let (key, machine) = catalogue::this_machine(&global.root)?;
    let mut environment = system(&reader);
    if let Some((server, generator)) = choose_cpus() {
        environment.server_cpus = server.to_string();
        environment.generator_cpus = generator.to_string();
    }
    let remarks = advice(&environment, cpus_usable());
    let all = json!({
        "machine_key": key, "machine": machine, "environment": environment, "source": source(&global.root),
    });
    if global.format == Format::Json {
        put(&format!("{:#}\n", document("env", all)))?;
        return Ok(EXIT_FINE);
    }
    let mut rows = Vec::new();
    flatten("", &all, &mut rows);
    let head = ["what", "value"];
    match global.format {
        Format::Markdown => put(&format!("{}\n", table::markdown(&head, &[], &rows)))?,
        _ => put(&format!("{}\n", table::human(&head, &[], &rows)))?,
    }
    for remark in remarks {
        eprintln!("note: {remark}");
    }
    Ok(EXIT_FINE)
}

fn flatten(prefix: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, rows);
            }
        }
        Value::Array(items) => {
            for item in items {
                flatten(prefix, item, rows);
            }
        }
        Value::String(text) => rows.push(vec![prefix.to_owned(), text.clone()]),
        other => rows.push(vec![prefix.to_owned(), other.to_string()]),
    }
}
