//! `bench-runner contracts`: JSON Schema, TypeScript types and the generated reference, written or checked.

use super::reference;
use super::{EXIT_FINE, EXIT_TOOL_ERROR, Format, Global};
use crate::campaign::catalogue;
use crate::export::contracts;
use crate::output::document;
use anyhow::Context as _;

/// Write or check the generated files: JSON Schema, TypeScript types, reference pages
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bench-runner contracts           write the files\n  \
    bench-runner contracts --check   exit code 1 if files are stale")]
pub(super) struct Args {
    /// Write nothing; list stale files and exit with 1
    #[arg(long)]
    check: bool,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    // The types alone, where no scenarios are.
    let scenarios = match global.root.join(catalogue::SCENARIOS).is_dir() {
        true => catalogue::scenarios(&global.root)?,
        false => Vec::new(),
    };
    let mut all = contracts::generate(&scenarios).context("generating the contracts")?;
    all.extend(reference::pages(&scenarios).context("generating the reference")?);
    let stale: Vec<_> =
        all.iter().filter(|one| one.is_stale(&global.root)).map(|one| one.path.clone()).collect();
    if !args.check {
        for contract in all.iter().filter(|one| stale.contains(&one.path)) {
            let path = global.root.join(&contract.path);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
            }
            std::fs::write(&path, &contract.text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    match global.format {
        Format::Json => {
            let names: Vec<_> = stale.iter().map(|path| path.display().to_string()).collect();
            println!(
                "{}",
                document("contracts", serde_json::json!({ "stale": names, "written": !args.check }))
            );
        }
        Format::Human | Format::Markdown if args.check => {
            for path in &stale {
                println!("stale: {} (run 'bench-runner contracts' and commit it)", path.display());
            }
        }
        Format::Human | Format::Markdown => {
            for path in &stale {
                println!("wrote {}", path.display());
            }
            if stale.is_empty() {
                println!("the contracts are up to date");
            }
        }
    }
    Ok(if args.check && !stale.is_empty() { EXIT_TOOL_ERROR } else { EXIT_FINE })
}
