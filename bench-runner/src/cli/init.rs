//! `bench-runner init`: a start for a project that is not ours.

use super::stdout::put;
use super::{EXIT_FINE, Format, Global};
use crate::campaign::catalogue::STARTER;
use crate::output::document;
use anyhow::{Context as _, bail};
use serde_json::json;
use std::path::PathBuf;

/// Write commented scenarios to start measuring your own server
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner init bench     write bench/README.md and bench/scenarios/
  cd bench
  bench-runner run --target redis://127.0.0.1:6379    or http://127.0.0.1:8080/path
  bench-runner report latest

Existing files are not overwritten.")]
pub(super) struct Args {
    /// The folder; created if it does not exist
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let taken: Vec<String> = STARTER
        .iter()
        .map(|(file, _)| args.dir.join(file))
        .filter(|path| path.exists())
        .map(|path| path.display().to_string())
        .collect();
    if !taken.is_empty() {
        bail!("{} already exists, and nothing was written: choose another folder", taken.join(", "));
    }
    for (file, text) in STARTER {
        let path = args.dir.join(file);
        let folder = path.parent().unwrap_or(&args.dir);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        if global.format != Format::Json {
            put(&format!("wrote {}\n", path.display()))?;
        }
    }
    if global.format == Format::Json {
        let written: Vec<PathBuf> = STARTER.iter().map(|(file, _)| args.dir.join(file)).collect();
        put(&format!("{:#}\n", document("init", json!({ "written": written }))))?;
        return Ok(EXIT_FINE);
    }
    let enter =
        if args.dir.as_os_str() == "." { String::new() } else { format!("  cd {}\n", args.dir.display()) };
    put(&format!(
        "\nNext, with a Redis-protocol server running (or an HTTP server: http://127.0.0.1:8080/path):\n{enter}\
         \x20 bench-runner run --target redis://127.0.0.1:6379 --dry-run   how long it will take\n\
         \x20 bench-runner run --target redis://127.0.0.1:6379             measure; a few minutes\n\
         \x20 bench-runner report latest                                   the last run again\n\
         \nThe runner writes only keys of its own under a random prefix, and deletes them. A database that holds \
         keys is measured only with --allow-non-empty. Of an HTTP server it reads that one page, by GET.\n"
    ))?;
    Ok(EXIT_FINE)
}
