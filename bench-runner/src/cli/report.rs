//! `bench-runner report`: a stored run as a table, printed or spliced into a document.

use super::{EXIT_FINE, Format, Global, stdout};
use crate::export::{Found, find_run};
use crate::output::summary::{self, Part};
use anyhow::{Context as _, bail, ensure};
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- results:begin -->";
const END: &str = "<!-- results:end -->";

/// Print a stored run as a table, or splice it into a document
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bench-runner report\n  bench-runner report latest --scenario wire-single\n  \
    bench-runner --format json report latest\n  \
    bench-runner report latest --html report.html\n  bench-runner report --version 0.1.0 --into FIGURES.md\n\n\
    --into replaces the text between the lines <!-- results:begin --> and <!-- results:end --> of a document."
)]
pub(super) struct Args {
    /// Id of a run, a prefix of one, or 'latest'
    #[arg(default_value = "latest")]
    run: String,
    /// Only runs of this version ('local' for unpublished ones)
    #[arg(long = "version", value_name = "VERSION")]
    version: Option<String>,
    /// Replace the text between the markers of this Markdown document
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Write a self-contained HTML file, without scripts, fonts or network access
    #[arg(long, value_name = "FILE", conflicts_with = "into")]
    html: Option<PathBuf>,
    /// One or two points per scenario (the default with --into)
    #[arg(long, conflicts_with = "all")]
    headline: bool,
    /// Every cell (the default without --into)
    #[arg(long)]
    all: bool,
    /// Only these scenarios
    #[arg(long = "scenario", value_name = "KEY", num_args = 1..)]
    scenarios: Vec<String>,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    let mut found = find_run(&results, &args.run, args.version.as_deref())?;
    choose(&mut found, &args.scenarios)?;
    let part = if args.headline || (args.into.is_some() && !args.all) { Part::Headline } else { Part::Whole };
    let Found { run, scenarios, .. } = &found;
    if let Some(path) = args.into {
        let document =
            std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut table = summary::markdown(run, scenarios, part);
        if run.version != "local" {
            let folder = format!("results/{}/{}/{}", run.version, run.machine_key, run.id);
            table.push_str(&format!("\nEvery cell, trial and histogram: [`{folder}`]({folder}).\n"));
        }
        let spliced = splice(&document, &table).with_context(|| path.display().to_string())?;
        if spliced != document {
            replace(&path, &spliced)?;
        }
        return Ok(EXIT_FINE);
    }
    if let Some(path) = args.html {
        let document = summary::html(run, scenarios, part)?;
        std::fs::write(&path, document).with_context(|| format!("writing {}", path.display()))?;
        if !global.quiet {
            eprintln!("wrote {}", path.display());
        }
        return Ok(EXIT_FINE);
    }
    stdout::put(&match global.format {
        Format::Human => summary::human(run, scenarios, part),
        Format::Markdown => summary::markdown(run, scenarios, part),
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&summary::json(run, scenarios, part))?),
    })?;
    Ok(EXIT_FINE)
}

fn choose(found: &mut Found, wanted: &[String]) -> anyhow::Result<()> {
    for key in wanted {
        let known: Vec<&str> = found.scenarios.iter().map(|one| one.scenario.key.as_str()).collect();
        ensure!(
            known.contains(&key.as_str()),
            "run {} has no scenario '{key}'; it has {}",
            found.run.id,
            known.join(", ")
        );
    }
    found.scenarios.retain(|one| wanted.is_empty() || wanted.contains(&one.scenario.key));
    Ok(())
}

/// The document with what stands between the markers replaced.
fn splice(document: &str, table: &str) -> anyhow::Result<String> {
    for marker in [BEGIN, END] {
        ensure!(document.matches(marker).count() == 1, "needs the line {marker} exactly once");
    }
    let Some((before, rest)) = document.split_once(BEGIN) else { bail!("needs the line {BEGIN}") };
    let Some((_, after)) = rest.split_once(END) else { bail!("{END} stands before {BEGIN}") };
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", table.trim_end()))
}

/// Whole or not at all, with the permissions the document had.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> anyhow::Result<()> {
        let beside = tempfile::NamedTempFile::new_in(folder)?;
        std::fs::write(beside.path(), text)?;
        std::fs::set_permissions(beside.path(), std::fs::metadata(path)?.permissions())?;
        beside.as_file().sync_all()?;
        beside.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_markers_is_replaced() {
        let document = format!("# A\n\n{BEGIN}\nold\n{END}\n\nafter\n");
        let spliced = splice(&document, "| new |\n").unwrap();
        assert_eq!(spliced, format!("# A\n\n{BEGIN}\n| new |\n{END}\n\nafter\n"));
        assert_eq!(splice(&spliced, "| new |\n").unwrap(), spliced, "twice is once");
    }

    #[test]
    fn a_document_without_markers_in_order_is_left_alone() {
        for document in
            [String::new(), BEGIN.to_owned(), format!("{END}{BEGIN}"), format!("{BEGIN}{END}{BEGIN}")]
        {
            assert!(splice(&document, "x").is_err(), "{document}");
        }
    }
}
