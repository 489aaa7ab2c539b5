//! How many instructions do base and head take for the same requests, and for the work of a part? Counted by callgrind: the
//! same every time, so that one percent is seen which no clock shows.

use super::builds::{self, Programs};
use super::callgrind::{server, total};
use super::refused::refusing;
use crate::gate::{Counted, counted_verdict, uncounted_verdict};
use crate::measure::Lab;
use crate::model::{GateOutcome, GateVerdict};
use crate::scenario::{Component, CountedDefinition, Exchange};
use crate::target::run_program;
use anyhow::{Context as _, anyhow, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A program of a part under callgrind may take so long.
const COMPONENT_WITHIN: Duration = Duration::from_secs(120);

/// What is counted of which sides.
pub(super) struct Counting<'a> {
    pub(super) root: &'a Path,
    /// Key of the target that is guarded.
    pub(super) subject: &'a str,
    pub(super) counted: &'a CountedDefinition,
    pub(super) sides: [&'a Programs; 2],
    /// Where the server is started: of base, and of head.
    pub(super) labs: [&'a Lab; 2],
    /// Nothing more is counted once it is set.
    pub(super) stop: &'a AtomicBool,
}

/// Instructions around the requests, by side, keys and length: the same before a GET as before a SET.
type Around = BTreeMap<(usize, u32, u32), u64>;

/// Instructions of a server from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    /// With the requests.
    all: u64,
    /// Without them.
    around: u64,
}

impl Counts {
    /// The fewer of each: whatever else a server was asked came on top.
    fn least(self, other: Self) -> Self {
        Self { all: self.all.min(other.all), around: self.around.min(other.around) }
    }

    /// Instructions of a request.
    fn per_request(self, requests: u32) -> anyhow::Result<f64> {
        let Self { all, around } = self;
        ensure!(all > around, "{requests} requests took no more instructions than none");
        Ok((all - around) as f64 / f64::from(requests))
    }
}

impl Counting<'_> {
    /// A verdict for each exchange and component. What cannot be counted at all here is told in `notes`; what could be counted
    /// of the others and not of this change has a verdict that says so.
    pub(super) fn verdicts(&self, notes: &mut Vec<String>, tell: &mut dyn FnMut(&str)) -> Vec<GateVerdict> {
        if let Err(error) = run_program("valgrind", &["--version"], Duration::from_secs(10)) {
            notes.push(format!("Instructions are not counted: valgrind cannot be run ({error})."));
            return Vec::new();
        }
        let limit = 1.0 + self.counted.limit_percent / 100.0;
        let (mut all, mut around) = (Vec::new(), Around::new());
        let goes_on = || !self.stop.load(Ordering::Relaxed);
        for exchange in self.counted.exchanges.iter().take_while(|_| goes_on()) {
            let (key, label) = names(exchange);
            tell(&format!("counting instructions: {label}"));
            let counts = [0, 1].map(|side| self.exchange(side, exchange, &mut around));
            let found = told(key.clone(), label.clone(), &counts, exchange.requests, limit);
            if found.outcome != GateOutcome::Regression {
                all.push(found);
                continue;
            }
            // They are the same every time, unless a program that is not ours has found the port.
            tell(&format!("counting once more: {label}"));
            around.clear();
            let again = [0, 1].map(|side| self.exchange(side, exchange, &mut around));
            all.push(told(key, label, &least(counts, again), exchange.requests, limit));
        }
        for component in self.counted.components.iter().take_while(|_| goes_on()) {
            tell(&format!("counting instructions: {}", component.name));
            let (key, label) = (format!("counted/{}", component.name), component.name.clone());
            match self.built(component, tell) {
                Ok(programs) => {
                    let counts = programs.map(|program| of_component(component, &program));
                    all.push(told(key, label, &counts, component.operations, limit));
                }
                // A part that one side does not have is no change of its work.
                Err(error) => notes.push(format!("{} was not counted: {error:#}", component.name)),
            }
        }
        all
    }

    /// Instructions with the requests of an exchange and without them.
    fn exchange(&self, side: usize, exchange: &Exchange, around: &mut Around) -> anyhow::Result<Counts> {
        let all = self.server(side, exchange, exchange.requests)?;
        let like = (side, exchange.keys, exchange.value_bytes);
        let around = match around.get(&like) {
            Some(known) => *known,
            None => *around.entry(like).or_insert(self.server(side, exchange, 0)?),
        };
        Ok(Counts { all, around })
    }

    /// Instructions of a server from its start to its end.
    fn server(&self, side: usize, exchange: &Exchange, requests: u32) -> anyhow::Result<u64> {
        let program = &self.sides[side].program;
        total(&server(self.labs[side], self.subject, program, exchange, requests)?)
    }

    /// The program of a part, of base and of head.
    fn built(&self, component: &Component, tell: &mut dyn FnMut(&str)) -> anyhow::Result<[PathBuf; 2]> {
        let commits = self.sides.map(|side| side.commit.as_str());
        ensure!(
            commits.iter().all(|commit| !commit.is_empty()),
            "it is built from commits, and files were given"
        );
        let (programs, _) = builds::programs(self.root, commits, [Some(&component.build); 2], tell)?;
        Ok(programs.map(|side| side.program.clone()))
    }
}

/// Key and label of an exchange.
fn names(exchange: &Exchange) -> (String, String) {
    let name = exchange.operation.name();
    let key = name.to_lowercase();
    let bytes = exchange.value_bytes;
    (format!("counted/{key}-{bytes}B"), format!("{name} {bytes} B, one after the other"))
}

/// The fewer of two counts of both sides; the first ones where the second failed.
fn least(
    counts: [anyhow::Result<Counts>; 2],
    again: [anyhow::Result<Counts>; 2],
) -> [anyhow::Result<Counts>; 2] {
    let [[base, head], [base_again, head_again]] = [counts, again];
    let of = |one: anyhow::Result<Counts>, other: anyhow::Result<Counts>| match (one, other) {
        (Ok(one), Ok(other)) => Ok(one.least(other)),
        (one, _) => one,
    };
    [of(base, base_again), of(head, head_again)]
}

fn told(
    key: String,
    label: String,
    counts: &[anyhow::Result<Counts>; 2],
    requests: u32,
    limit: f64,
) -> GateVerdict {
    let [base, head] = counts.each_ref().map(|counts| {
        let counts = counts.as_ref().map_err(|error| format!("{error:#}"));
        counts.and_then(|counts| counts.per_request(requests).map_err(|error| format!("{error:#}")))
    });
    let counts = Counted { base: base.as_ref().ok().copied(), head: head.as_ref().ok().copied(), limit };
    let failed = [("base", base), ("head", head)];
    let failed = failed.into_iter().find_map(|(side, found)| Some((side, found.err()?)));
    match failed {
        Some((side, error)) => uncounted_verdict(key, label, &counts, format!("{side}: {error}")),
        None => counted_verdict(key, label, &counts),
    }
}

/// Instructions of a part with its work and without it.
fn of_component(component: &Component, program: &Path) -> anyhow::Result<Counts> {
    Ok(Counts {
        all: of_program(program, &component.arguments)?,
        around: of_program(program, &component.without)?,
    })
}

/// Instructions of a program from its start to its end.
fn of_program(program: &Path, arguments: &[String]) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir()?;
    let counts = folder.path().join("counts");
    let out = format!("--callgrind-out-file={}", counts.display());
    let program = program.to_string_lossy();
    let mut words = vec!["--quiet", "--tool=callgrind", &out, &program];
    words.extend(arguments.iter().map(String::as_str));
    let done =
        refusing(|| run_program("valgrind", &words, COMPONENT_WITHIN).map_err(|reason| anyhow!("{reason}")))?;
    ensure!(done.success, "{program} under callgrind: {}", done.last_line());
    total(&std::fs::read_to_string(&counts).context("callgrind left no counts")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_on_top_of_one_count_is_not_in_the_other() {
        let (alone, disturbed) = (Counts { all: 5_000, around: 1_000 }, Counts { all: 6_000, around: 1_500 });
        let found = least([Ok(disturbed), Ok(alone)], [Ok(alone), Err(anyhow!("it did not start"))]);
        let found = found.map(|counts| counts.and_then(|counts| counts.per_request(1_000)).unwrap());
        assert_eq!(found, [4.0, 4.0]);
        assert!(Counts { all: 7, around: 7 }.per_request(1).is_err());
    }
}
