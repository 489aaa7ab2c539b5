//! How many instructions do base and head take for the same requests, and for the work of a part? Counted by callgrind: the
//! same every time, so that one percent is seen which no clock shows.

use super::builds::{self, Programs};
use super::callgrind::{server, total};
use super::refused::refusing;
use crate::gate::{Counted, counted_verdict, uncounted_verdict};
use crate::measure::Lab;
use crate::model::GateVerdict;
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
            let [base, head] = [0, 1].map(|side| self.exchange(side, exchange, &mut around));
            all.push(told(key, label, base, head, limit));
        }
        for component in self.counted.components.iter().take_while(|_| goes_on()) {
            tell(&format!("counting instructions: {}", component.name));
            let (key, label) = (format!("counted/{}", component.name), component.name.clone());
            match self.built(component, tell) {
                Ok(programs) => {
                    let [base, head] = programs.map(|program| of_component(component, &program));
                    all.push(told(key, label, base, head, limit));
                }
                // A part that one side does not have is no change of its work.
                Err(error) => notes.push(format!("{} was not counted: {error:#}", component.name)),
            }
        }
        all
    }

    /// Instructions of a request: the count of a run with all requests, less that of a run without any, shared among the requests.
    fn exchange(&self, side: usize, exchange: &Exchange, around: &mut Around) -> anyhow::Result<f64> {
        let all = self.server(side, exchange, exchange.requests)?;
        let like = (side, exchange.keys, exchange.value_bytes);
        let around = match around.get(&like) {
            Some(known) => *known,
            None => *around.entry(like).or_insert(self.server(side, exchange, 0)?),
        };
        ensure!(all > around, "{} requests took no more instructions than none", exchange.requests);
        Ok((all - around) as f64 / f64::from(exchange.requests))
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

fn told(
    key: String,
    label: String,
    base: anyhow::Result<f64>,
    head: anyhow::Result<f64>,
    limit: f64,
) -> GateVerdict {
    let counts = Counted { base: base.as_ref().ok().copied(), head: head.as_ref().ok().copied(), limit };
    let failed = [("base", base), ("head", head)];
    let failed = failed.into_iter().find_map(|(side, found)| Some((side, found.err()?)));
    match failed {
        Some((side, error)) => uncounted_verdict(key, label, &counts, format!("{side}: {error:#}")),
        None => counted_verdict(key, label, &counts),
    }
}

/// Instructions of the work of a part, once.
fn of_component(component: &Component, program: &Path) -> anyhow::Result<f64> {
    let all = of_program(program, &component.arguments)?;
    let around = of_program(program, &component.without)?;
    ensure!(all > around, "with its work it takes no more instructions than without");
    Ok((all - around) as f64 / f64::from(component.operations))
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
