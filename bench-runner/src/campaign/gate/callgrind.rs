//! A server under callgrind: how many instructions do so many requests take, and which functions take them?
//!
//! The format of its file: <https://valgrind.org/docs/manual/cl-format.html>.

use super::refused::refusing;
use crate::load::client::{Address, Answered, Client};
use crate::measure::Lab;
use crate::scenario::{Exchange, ExchangeOperation};
use crate::target::{Start, start, write_executable};
use anyhow::{Context as _, anyhow, bail, ensure};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

/// A server under callgrind may take so long for a reply.
const REPLY_WITHIN: Duration = Duration::from_secs(20);

/// What callgrind wrote of a server that was asked `requests` times between its start and its end.
pub(super) fn server(
    lab: &Lab,
    subject: &str,
    program: &Path,
    exchange: &Exchange,
    requests: u32,
) -> anyhow::Result<String> {
    let folder = tempfile::tempdir_in(&lab.setup().work_dir)?;
    let wrapper = folder.path().join("counted");
    // A program may be a script that becomes another one, which has the same number.
    let text = format!(
        "#!/bin/sh\nexec valgrind --tool=callgrind --trace-children=yes --callgrind-out-file={0}/counts.%p --log-file={0}/log.%p {1} \"$@\"\n",
        quoted(folder.path())?,
        quoted(program)?
    );
    write_executable(&wrapper, text.as_bytes())?;
    let definition = lab.catalogue().get(subject).context("the subject is a target")?;
    refusing(|| {
        let target = start(&Start::native(definition, Some(&wrapper), lab.setup()))
            .map_err(|reason| anyhow!("{reason}"))?;
        let counts = folder.path().join(format!("counts.{}", target.pid));
        let asked = ask(&target.address, exchange, requests, definition.role.keeps_nothing());
        target.stop();
        asked?;
        std::fs::read_to_string(&counts).context("callgrind left no counts")
    })
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

/// Instructions in all.
pub(super) fn total(counts: &str) -> anyhow::Result<u64> {
    let line = counts
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    let count =
        line.and_then(|line| line.split_whitespace().next()).context("callgrind's counts have no total")?;
    count.parse().with_context(|| format!("callgrind's total is no number: {count}"))
}

/// Instructions of each function itself, without those it calls. What is inlined counts for the function that it was inlined into.
pub(super) fn functions(counts: &str) -> BTreeMap<String, u64> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    let mut now = "";
    let mut is_of_a_call = false;
    for line in counts.lines() {
        if let Some(text) = line.strip_prefix("fn=") {
            now = named(text, &mut names);
        } else if let Some(text) = line.strip_prefix("cfn=") {
            named(text, &mut names);
        } else if line.starts_with("calls=") {
            // The next line holds what the called function took.
            is_of_a_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
            if !is_of_a_call && !now.is_empty() {
                *found.entry(plain(now)).or_default() += cost.unwrap_or(0);
            }
            is_of_a_call = false;
        }
    }
    found
}

/// `(12) name` the first time, `(12)` from then on.
fn named<'a>(text: &'a str, names: &mut HashMap<&'a str, &'a str>) -> &'a str {
    let Some((id, name)) = text.split_once(')') else { return text };
    match name.trim() {
        "" => names.get(id).copied().unwrap_or(""),
        name => {
            names.insert(id, name);
            name
        }
    }
}

/// Without the digest that rustc puts behind a path and that is another one in each build, and without the number of a
/// recursion (`'2`) or of a copy (`.llvm.…`, `.cold`).
fn plain(name: &str) -> String {
    let name = name.split('\'').next().unwrap_or(name);
    let name = name.split(".llvm.").next().unwrap_or(name);
    match name.rsplit_once("::h") {
        Some((path, digest)) if digest.len() == 16 && digest.bytes().all(|one| one.is_ascii_hexdigit()) => {
            path.to_owned()
        }
        _ => name.to_owned(),
    }
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

    const COUNTS: &str = "version: 1\nevents: Ir\n\nfl=(1) a.rs\nfn=(1) own::main::h0123456789abcdef\n16 5\n+2 10\n\
        cfn=(2) own::work\ncalls=3 20\n18 300\n19 1\n\nfn=(2)\n20 100\n* 200\ncfn=(1)\ncalls=1 0\n21 7\n\n\
        fn=(3) own::work'2\n20 50\n\ntotals: 366\n";

    #[test]
    fn a_total_is_found_at_the_end_of_the_file() {
        assert_eq!(total(COUNTS).unwrap(), 366);
        assert!(format!("{:#}", total("version: 1\n").unwrap_err()).contains("no total"));
    }

    #[test]
    fn functions_have_their_own_instructions_and_not_those_of_their_calls() {
        let found = functions(COUNTS);
        assert_eq!(found["own::main"], 16);
        assert_eq!(found["own::work"], 350);
        assert_eq!(found.values().sum::<u64>(), total(COUNTS).unwrap());
        assert!(functions("").is_empty() && functions("calls=\n1 2\nfn=\n3").is_empty());
    }

    #[test]
    fn a_path_that_a_shell_would_read_is_refused() {
        assert_eq!(quoted(Path::new("/a b/c")).unwrap(), "'/a b/c'");
        assert!(quoted(Path::new("/a'b")).is_err() && quoted(Path::new("/a%p")).is_err());
    }
}
