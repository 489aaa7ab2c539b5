//! `results/blessings.json`: which losses were accepted, and how another is added.

use super::{canonical, replace_file};
use crate::model::{
    BLESSINGS_SCHEMA, BLESSINGS_SCHEMA_VERSION, Blessing, Blessings, Gate, GateClass, GateOutcome, Tool,
};
use jiff::civil::Date;
use jiff::{Span, ToSpan as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Length of a reason at most, characters.
pub const REASON_MAX: usize = 500;
/// Days that a blessing holds at most.
pub const DAYS_MAX: u16 = 366;

/// Why nothing was blessed.
#[derive(Debug, Error)]
pub enum BlessError {
    /// There is no reason.
    #[error("a blessing needs a reason: what is gained for the loss")]
    NoReason,
    /// The reason is no text for a page.
    #[error("a reason is one line of at most {REASON_MAX} characters")]
    Reason,
    /// It would hold for ever, or not at all.
    #[error("a blessing holds from 1 to {DAYS_MAX} days")]
    Days,
    /// There is no loss.
    #[error("there is nothing to bless: the gate says {0}, and no series of it got worse beyond doubt")]
    NoLoss(&'static str),
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file holds something else.
    #[error("{path} is no list of blessings that this bench-runner knows: {why}")]
    Shape {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file cannot be put in its place.
    #[error("{0:#}")]
    Write(anyhow::Error),
    /// The file would have no JSON form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// A blessing to be: its reason, where it was asked for, and how long it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What is gained.
    pub reason: String,
    /// Number of the pull request.
    pub pull: Option<u32>,
    /// The day on which it is given.
    pub today: Date,
    /// How long it holds.
    pub days: u16,
}

/// Where blessings stand below a folder of results.
#[must_use]
pub fn file(results: &Path) -> PathBuf {
    results.join("blessings.json")
}

/// All blessings below a folder of results; none where there is no file.
///
/// # Errors
/// The file cannot be read, or is none of this kind.
pub fn load(results: &Path) -> Result<Vec<Blessing>, BlessError> {
    let path = file(results);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(BlessError::File { path, source }),
    };
    let shape = |why: String| BlessError::Shape { path: path.clone(), why };
    let found: Blessings = serde_json::from_slice(&text).map_err(|error| shape(error.to_string()))?;
    if found.schema != BLESSINGS_SCHEMA || found.schema_version != BLESSINGS_SCHEMA_VERSION {
        return Err(shape(format!("it is {} of version {}", found.schema, found.schema_version)));
    }
    Ok(found.blessings)
}

/// Writes down every loss of a gate. Returns those that are new; the same loss of the same commit is blessed once.
///
/// # Errors
/// There is no reason or no loss, or the file cannot be read or written.
pub fn bless(results: &Path, gate: &Gate, wanted: &Wanted) -> Result<Vec<Blessing>, BlessError> {
    let lost = losses(gate, wanted)?;
    let mut all = load(results)?;
    let is_known = |one: &Blessing| {
        all.iter().any(|known| {
            (&known.scenario, &known.metric, &known.commit) == (&one.scenario, &one.metric, &one.commit)
        })
    };
    let new: Vec<Blessing> = lost.into_iter().filter(|one| !is_known(one)).collect();
    if new.is_empty() {
        return Ok(new);
    }
    all.extend(new.iter().cloned());
    all.sort_by(|one, other| one.blessed_on.cmp(&other.blessed_on));
    let record = Blessings {
        schema: BLESSINGS_SCHEMA.to_owned(),
        schema_version: BLESSINGS_SCHEMA_VERSION,
        tool: Tool::this(),
        blessings: all,
    };
    let path = file(results);
    let told = |source| BlessError::File { path: path.clone(), source };
    std::fs::create_dir_all(results).map_err(told)?;
    replace_file(&path, canonical::to_text(&record)?.as_bytes()).map_err(BlessError::Write)?;
    Ok(new)
}

fn losses(gate: &Gate, wanted: &Wanted) -> Result<Vec<Blessing>, BlessError> {
    let reason = wanted.reason.trim();
    if reason.is_empty() {
        return Err(BlessError::NoReason);
    }
    if reason.chars().count() > REASON_MAX || reason.chars().any(char::is_control) {
        return Err(BlessError::Reason);
    }
    let span: Span = i64::from(wanted.days).days();
    let expires = wanted.today.checked_add(span).ok().filter(|_| (1..=DAYS_MAX).contains(&wanted.days));
    let expires = expires.ok_or(BlessError::Days)?;
    let lost: Vec<Blessing> = gate
        .verdicts
        .iter()
        .filter(|one| one.outcome == GateOutcome::Regression && one.class != GateClass::Advisory)
        .filter_map(|one| {
            Some(Blessing {
                scenario: one.scenario.clone(),
                label: one.label.clone(),
                metric: one.metric.clone(),
                ratio: one.ratio?,
                gate: gate.id.clone(),
                machine_key: gate.machine_key.clone(),
                commit: gate.head.commit.clone(),
                pull: wanted.pull,
                reason: reason.to_owned(),
                blessed_on: wanted.today.to_string(),
                expires_on: expires.to_string(),
            })
        })
        .collect();
    if lost.is_empty() { Err(BlessError::NoLoss(gate.outcome.words())) } else { Ok(lost) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::gate::testing;
    use jiff::civil::date;

    fn wanted(reason: &str) -> Wanted {
        Wanted { reason: reason.to_owned(), pull: Some(7), today: date(2026, 11, 30), days: 90 }
    }

    #[test]
    fn a_loss_is_written_down_once_with_its_reason_and_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let gate = testing::gate();
        let new = bless(folder.path(), &gate, &wanted("  durable by default  ")).unwrap();
        assert_eq!(new.len(), 1, "what only advises, or got better, is no loss: {new:?}");
        assert_eq!(new[0].reason, "durable by default");
        assert_eq!((new[0].blessed_on.as_str(), new[0].expires_on.as_str()), ("2026-11-30", "2027-02-28"));
        assert!(bless(folder.path(), &gate, &wanted("again")).unwrap().is_empty());
        assert_eq!(load(folder.path()).unwrap(), new);
    }

    #[test]
    fn it_holds_until_the_day_of_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let one = bless(folder.path(), &testing::gate(), &wanted("worth it")).unwrap().remove(0);
        for (day, holds) in
            [("2026-11-29", false), ("2026-11-30", true), ("2027-02-27", true), ("2027-02-28", false)]
        {
            assert_eq!(one.holds_on(day), holds, "{day}");
        }
    }

    #[test]
    fn without_a_reason_an_end_or_a_loss_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let gate = testing::gate();
        let refused =
            |gate: &Gate, wanted: &Wanted| bless(folder.path(), gate, wanted).unwrap_err().to_string();
        assert!(refused(&gate, &wanted(" ")).contains("needs a reason"));
        assert!(refused(&gate, &wanted("two\nlines")).contains("one line"));
        assert!(refused(&gate, &wanted(&"x".repeat(501))).contains("500"));
        for days in [0, DAYS_MAX + 1] {
            assert!(refused(&gate, &Wanted { days, ..wanted("worth it") }).contains("366"));
        }
        let mut pass = gate;
        pass.verdicts.retain(|one| one.outcome == GateOutcome::Pass);
        assert!(refused(&pass, &wanted("worth it")).contains("nothing to bless"));
        assert!(!file(folder.path()).exists());
        std::fs::write(file(folder.path()), "{}").unwrap();
        assert!(load(folder.path()).unwrap_err().to_string().contains("no list of blessings"));
    }
}
