//! `bench-runner machines`: which machines have a name, and is this one of them?

use super::stdout::put;
use super::{EXIT_FINE, Format, Global};
use crate::campaign::catalogue;
use crate::environment::{Reader, hypervisor_vendor, machine};
use crate::output::table;
use serde_json::json;

/// Show the machines whose results are kept, and which one this is
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A machine that is not listed is recorded as unknown-<fingerprint>. To name it, add its \
    fingerprint to results/machines.toml."
)]
pub(super) struct Args {}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(_args: Args, global: &Global) -> anyhow::Result<u8> {
    let registry = catalogue::machines(&global.root)?;
    let (key, here) = registry.identify(machine(&Reader::machine(), hypervisor_vendor()));
    if global.format == Format::Json {
        let all = json!({"here": {"key": key, "machine": here}, "machines": registry.machine});
        put(&format!("{all:#}\n"))?;
        return Ok(EXIT_FINE);
    }
    let rows: Vec<Vec<String>> = registry
        .machine
        .iter()
        .map(|known| {
            let here = if known.id == key { "this one" } else { "" };
            vec![known.id.clone(), known.title.clone(), known.class.name().to_owned(), here.to_owned()]
        })
        .collect();
    let head = ["id", "title", "class", ""];
    match global.format {
        Format::Markdown => put(&format!("{}\n", table::markdown(&head, &[], &rows)))?,
        _ => put(&format!("{}\n", table::human(&head, &[], &rows)))?,
    }
    put(&format!(
        "\nThis machine: {key}\n  fingerprint     {}\n  processor       {}\n  cores, threads  {}, {}\n  \
         memory          {} GiB\n  virtualisation  {}\n",
        here.fingerprint, here.cpu_model, here.cores, here.threads, here.memory_gib, here.virtualisation
    ))?;
    Ok(EXIT_FINE)
}
