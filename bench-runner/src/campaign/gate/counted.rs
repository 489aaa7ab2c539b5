//! How many instructions do base and head take for the same requests, and for the work of a part? Counted by callgrind: the
//! same every time, so that one percent is seen which no clock shows.

use super::builds::{self, Programs};
use super::refused::refusing;
use crate::gate::{Counted, counted_verdict, uncounted_verdict};
use crate::load::client::{Address, Answered, Client};
use crate::measure::Lab;
use crate::model::GateVerdict;
use crate::scenario::{Component, CountedDefinition, Exchange, ExchangeOperation};
use crate::target::{Start, run_program, start, write_executable};
use anyhow::{Context as _, anyhow, bail, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A program of a part under callgrind may take so long.
const COMPONENT_WITHIN: Duration = Duration::from_secs(120);
/// A server under callgrind may take so long for a reply.
const REPLY_WITHIN: Duration = Duration::from_secs(20);

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

    /// Instructions of a request: those of all requests and of what stands around them, less those of what stands around them.
    fn exchange(&self, side: usize, exchange: &Exchange, around: &mut Around) -> anyhow::Result<f64> {
        let counted = |requests| refusing(|| self.server(side, exchange, requests));
        let all = counted(exchange.requests)?;
        let like = (side, exchange.keys, exchange.value_bytes);
        let around = match around.get(&like) {
            Some(known) => *known,
            None => *around.entry(like).or_insert(counted(0)?),
        };
        ensure!(all > around, "{} requests took no more instructions than none", exchange.requests);
        Ok((all - around) as f64 / f64::from(exchange.requests))
    }

    /// Instructions of a server from its start to its end.
    fn server(&self, side: usize, exchange: &Exchange, requests: u32) -> anyhow::Result<u64> {
        let lab = self.labs[side];
        let folder = tempfile::tempdir_in(&lab.setup().work_dir)?;
        let wrapper = folder.path().join("counted");
        let program = &self.sides[side].layouts[0];
        // A program may be a script that becomes another one, which has the same number.
        let text = format!(
            "#!/bin/sh\nexec valgrind --tool=callgrind --trace-children=yes --callgrind-out-file={0}/counts.%p --log-file={0}/log.%p {1} \"$@\"\n",
            quoted(folder.path())?,
            quoted(program)?
        );
        write_executable(&wrapper, text.as_bytes())?;
        let definition = lab.catalogue().get(self.subject).context("the subject is a target")?;
        let target = start(&Start::native(definition, Some(&wrapper), lab.setup()))
            .map_err(|reason| anyhow!("{reason}"))?;
        let counts = folder.path().join(format!("counts.{}", target.pid));
        let asked = ask(&target.address, exchange, requests, definition.role.keeps_nothing());
        target.stop();
        asked?;
        total(&counts)
    }

    /// The program of a part, of base and of head.
    fn built(&self, component: &Component, tell: &mut dyn FnMut(&str)) -> anyhow::Result<[PathBuf; 2]> {
        let commits = self.sides.map(|side| side.commit.as_str());
        ensure!(
            commits.iter().all(|commit| !commit.is_empty()),
            "it is built from commits, and files were given"
        );
        let (programs, _) = builds::programs(self.root, commits, Some(&component.build), tell)?;
        Ok(programs.map(|side| side.layouts[0].clone()))
    }
}

/// Key and label of an exchange.
fn names(exchange: &Exchange) -> (String, String) {
    let (key, name) = match exchange.operation {
        ExchangeOperation::Get => ("get", "GET"),
        ExchangeOperation::Set => ("set", "SET"),
    };
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

/// Fills the store, then sends requests one after the other. Keys and values are the same every time; a server that keeps
/// nothing has other values of the same length.
fn ask(address: &Address, exchange: &Exchange, requests: u32, keeps_nothing: bool) -> anyhow::Result<()> {
    let mut client = Client::connect(address, REPLY_WITHIN)?;
    let value = vec![b'v'; exchange.value_bytes as usize];
    let key = |number: u32| format!("key:{:012}", number % exchange.keys).into_bytes();
    for number in 0..exchange.keys {
        client.expect_simple(&[b"SET", &key(number), &value], "OK")?;
    }
    for number in 0..requests {
        match exchange.operation {
            ExchangeOperation::Set => client.expect_simple(&[b"SET", &key(number), &value], "OK")?,
            ExchangeOperation::Get => match client.call(&[b"GET", &key(number)])? {
                Answered::Bulk(found) if found == value || keeps_nothing && found.len() == value.len() => {}
                other => bail!("GET was answered by {}", other.describe()),
            },
        }
    }
    Ok(())
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
    total(&counts)
}

/// `totals:` of a file of callgrind: <https://valgrind.org/docs/manual/cl-format.html>.
fn total(path: &Path) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(path).context("callgrind left no counts")?;
    let line =
        text.lines().rev().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    let count =
        line.and_then(|line| line.split_whitespace().next()).context("callgrind's counts have no total")?;
    count.parse().with_context(|| format!("callgrind's total is no number: {count}"))
}

/// A path for a shell.
fn quoted(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    ensure!(!text.contains(['\'', '%', '\n']), "{text} has a character that valgrind or a shell would read");
    Ok(format!("'{text}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_found_at_the_end_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        std::fs::write(&path, "version: 1\nevents: Ir\nfn=(1) main\n16 5\n\ntotals: 123456\n").unwrap();
        assert_eq!(total(&path).unwrap(), 123_456);
        std::fs::write(&path, "version: 1\n").unwrap();
        assert!(format!("{:#}", total(&path).unwrap_err()).contains("no total"));
        assert!(format!("{:#}", total(&folder.path().join("none")).unwrap_err()).contains("left no counts"));
    }

    #[test]
    fn a_path_that_a_shell_would_read_is_refused() {
        assert_eq!(quoted(Path::new("/a b/c")).unwrap(), "'/a b/c'");
        assert!(quoted(Path::new("/a'b")).is_err() && quoted(Path::new("/a%p")).is_err());
    }
}
