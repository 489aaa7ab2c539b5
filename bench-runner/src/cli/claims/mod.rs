//! `bench-runner claims`: whether the claims of speed and size hold, by the stored runs.

mod shown;
mod stored;

use self::shown::shown;
use self::stored::{judge, named, published};
use super::{EXIT_FINE, EXIT_REGRESSION, Format, Global, stdout};
use crate::campaign::catalogue;
use crate::claims::{self, Definition};
use crate::export::canonical;
use crate::model::{CLAIMS_SCHEMA, ClaimVerdict, Claims, SCHEMA_VERSION, Tool};
use anyhow::Context as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Judge every claim of results/claims.toml from the stored runs
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bench-runner claims                from the newest published version of each machine\n  \
    bench-runner claims --run latest   from one run, which may be local\n  \
    bench-runner claims --check        exit code 2 if a claim fails\n  \
    bench-runner claims --write        update results/claims.json, which the site reads\n\n\
    A claim holds if the median meets its bound and the far end of the interval of the median misses it by at most 3 % \
    (CPU time per operation) or 5 % (throughput, latency). Fewer than six trials give no verdict."
)]
pub(super) struct Args {
    /// Judge from this run only: an id, a prefix of one, or 'latest'
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Exit with 2 if a claim fails
    #[arg(long)]
    check: bool,
    /// Write <results>/claims.json
    #[arg(long, conflicts_with = "run")]
    write: bool,
    /// Folder of the records [default: <root>/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// The claims [default: <results>/claims.toml]
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let results = args.results.unwrap_or_else(|| global.root.join("results"));
    let file = args.claims.unwrap_or_else(|| results.join("claims.toml"));
    let definitions = read_definitions(&global.root, &file)?;
    let runs = match &args.run {
        Some(wanted) => named(&results, wanted)?,
        None => published(&results)?,
    };
    let record = Claims {
        schema: CLAIMS_SCHEMA.to_owned(),
        schema_version: SCHEMA_VERSION,
        tool: Tool::this(),
        claims: definitions.iter().map(|definition| judge(definition, &runs)).collect(),
    };
    if args.write {
        write(&results.join("claims.json"), &canonical::to_text(&record)?)?;
    }
    stdout::put(&match global.format {
        Format::Json => canonical::to_text(&record)?,
        format => shown(&record.claims, format),
    })?;
    let fails = record.claims.iter().any(|claim| claim.verdict == ClaimVerdict::Fails);
    Ok(if args.check && fails { EXIT_REGRESSION } else { EXIT_FINE })
}

fn read_definitions(root: &Path, file: &Path) -> anyhow::Result<Vec<Definition>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("reading the claims of {}; --claims names another file", file.display()))?;
    // Outside a checkout there is no catalogue: names are then not checked.
    let (mut scenarios, mut targets) = (Vec::new(), Vec::new());
    if root.join(catalogue::SCENARIOS).is_dir() {
        let known = catalogue::scenarios(root)?;
        targets.extend(catalogue::targets(root, &known)?.keys().iter().map(|key| (*key).to_owned()));
        scenarios.extend(known.iter().map(|scenario| scenario.key().to_owned()));
    }
    let scenarios: Vec<&str> = scenarios.iter().map(String::as_str).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    Ok(claims::parse(&file.display().to_string(), &text, &scenarios, &targets)?)
}

/// Whole or not at all.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let put = || -> anyhow::Result<()> {
        let mut beside = tempfile::NamedTempFile::new_in(folder)?;
        beside.write_all(text.as_bytes())?;
        beside.as_file().sync_all()?;
        // A temporary file is its owner's alone; a committed one is everybody's to read.
        std::fs::set_permissions(beside.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        beside.persist(path)?;
        Ok(())
    };
    put().with_context(|| format!("writing {}", path.display()))
}
