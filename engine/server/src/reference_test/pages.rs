//! A page for each command in `docs/commands/`: form, facts, examples, differences from Redis.
//!
//! Nothing on a page is written by hand: the form and the facts come from the command table, the
//! replies of the examples (`examples.txt`) from executing them, and the differences from the table
//! in `docs/redis.md`. `UPDATE_GOLDEN=1` writes the pages anew, as for the tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plumbkv_resp::{Limits, Parsed, parse_reply};

use super::{Table, code, escape};
use crate::acl::category::Categories;
use crate::cli::format::{self, Style};
use crate::command::key_spec::{self, KeyUse};
use crate::command::syntax::{self, Argument, Kind, tests::usage_in_lines};
use crate::command::table::{self, Spec, flag};
use crate::session::test_support::Driver;

const NOTE: &str =
    "<!-- Generated from the server's command table, examples.txt and docs/redis.md by its tests. -->";

/// Most letters of a line of a form: nearly as many as a phone shows.
const WIDTH: usize = 48;

/// Where the page of a command is, below `docs`.
pub(super) fn path_of(spec: &Spec) -> String {
    format!("commands/{}.md", spec.name)
}

/// A link from `docs/commands.md` to the page of a command, or to its part about a sub-command.
pub(super) fn link(spec: &Spec) -> String {
    let name = upper(spec);
    match spec.name.split_once('|') {
        None => format!("[{name}]({})", path_of(spec)),
        Some((container, _)) => {
            format!("[{name}](commands/{container}.md#{})", name.to_lowercase().replace(' ', "-"))
        }
    }
}

fn upper(spec: &Spec) -> String {
    spec.name.replace('|', " ").to_uppercase()
}

#[test]
fn each_command_has_a_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands");
    let differences = Differences::read();
    let examples = examples();
    let mut pages: BTreeMap<PathBuf, String> = BTreeMap::new();
    for spec in table::commands() {
        let text = page(spec, examples.get(&upper(spec)).map(String::as_str), &differences);
        pages.insert(folder.join(format!("{}.md", spec.name)), text);
    }
    for name in examples.keys() {
        assert!(table::commands().any(|spec| upper(spec) == *name), "an example of {name}");
    }
    let there = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let stale: Vec<PathBuf> = there.filter(|path| !pages.contains_key(path)).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        stale.iter().for_each(|path| std::fs::remove_file(path).unwrap());
        pages.iter().for_each(|(path, text)| std::fs::write(path, text).unwrap());
        return;
    }
    assert!(stale.is_empty(), "pages of no command: {stale:?}");
    for (path, text) in pages {
        assert!(
            std::fs::read_to_string(&path).is_ok_and(|recorded| recorded == text),
            "{} is stale; run UPDATE_GOLDEN=1 cargo test -p plumbkv-server reference, and read the change",
            path.display()
        );
    }
}

fn page(spec: &'static Spec, example: Option<&str>, differences: &Differences) -> String {
    let mut out = format!("# {}\n\n{NOTE}\n\n", upper(spec));
    describe(&mut out, spec);
    for sub in spec.sub_commands() {
        write!(out, "## {}\n\n", upper(sub)).unwrap();
        describe(&mut out, sub);
    }
    if let Some(commands) = example {
        write!(out, "## Example\n\n```text\n{}```\n\n", session(commands)).unwrap();
    }
    let rows = differences.about(&upper(spec));
    if !rows.is_empty() {
        let mut table = Table::new(&["about", "PlumbKV", "Redis 7.0"]);
        rows.iter().for_each(|row| table.add(row));
        write!(out, "## Differences from Redis 7.0\n\n{}\n\n", table.text()).unwrap();
    }
    out.push_str("[All commands](../commands.md) · [all differences from Redis](../redis.md)\n");
    out
}

fn describe(out: &mut String, spec: &Spec) {
    write!(out, "{}\n\n", escape(spec.summary)).unwrap();
    let mut facts = Table::new(&["property", "value"]);
    if !spec.is_container() {
        write!(out, "```text\n{}\n```\n\n", usage_in_lines(spec, WIDTH)).unwrap();
        facts.add(&["time", &escape(spec.complexity.trim_end_matches('.'))]);
    }
    facts.add(&["since Redis", spec.since]);
    if let Some((version, by)) = spec.replaced() {
        facts.add(&["discouraged", &format!("since Redis {version}, use {}", by.replace('!', ""))]);
    }
    let later = later(&syntax::arguments(spec));
    if !later.is_empty() {
        facts.add(&["later arguments", &later.join(", ")]);
    }
    let flags: Vec<_> =
        flag::NAMES.iter().filter(|(bit, _)| spec.has(*bit)).map(|(_, name)| code(name)).collect();
    if !flags.is_empty() {
        facts.add(&["flags", &flags.join(", ")]);
    }
    let categories: Vec<_> = Categories::of(spec).names().map(|name| code(&format!("@{name}"))).collect();
    facts.add(&["categories", &categories.join(", ")]);
    if let Some(keys) = permissions(spec) {
        facts.add(&["permission on keys", &keys]);
    }
    write!(out, "{}\n\n", facts.text()).unwrap();
}

/// Arguments that came after the command, each with its version.
fn later(arguments: &[Argument]) -> Vec<String> {
    let mut found = Vec::new();
    for argument in arguments {
        if let Some(version) = argument.since {
            let names = match &argument.kind {
                Kind::OneOf(inner) if argument.token.is_none() => inner.as_slice(),
                _ => std::slice::from_ref(argument),
            };
            let names = names.iter().map(|one| code(one.token.unwrap_or(one.name)));
            found.push(format!("{} {version}", names.collect::<Vec<_>>().join(" and ")));
        } else {
            found.extend(later(argument.kind.inner()));
        }
    }
    found
}

/// What a user must be permitted to do with the keys of the command.
fn permissions(spec: &Spec) -> Option<String> {
    if key_spec::is_script(spec) {
        return Some("those of the commands that the script executes".to_owned());
    }
    if spec.keys.0 == 0 {
        return None;
    }
    let words = |key: KeyUse| match (key.reads, key.writes) {
        (true, true) => "read and write",
        (true, false) => "read",
        (false, true) => "write",
        (false, false) => "any",
    };
    let (first, second) = key_spec::uses(spec);
    Some(match spec.id {
        table::Id::Set => "write; with `GET` also read".to_owned(),
        _ if first == second => words(first).to_owned(),
        _ => format!("{} on the first, {} on the second", words(first), words(second)),
    })
}

/// The lines of each example, by the command that they are about.
fn examples() -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in include_str!("examples.txt").lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(command) => name = command.to_owned(),
            None => writeln!(found.entry(name.clone()).or_default(), "{line}").unwrap(),
        }
    }
    found
}

/// What a terminal shows while the lines are executed on an empty server. Lines of a second
/// connection begin with `2> `.
fn session(commands: &str) -> String {
    let driver = Driver::new();
    let mut clients = [driver.connect(), driver.connect()];
    let has_two = commands.contains("2> ");
    let mut out = String::new();
    for line in commands.lines() {
        let (index, command) = line.strip_prefix("2> ").map_or((0, line), |command| (1, command));
        let prompt = if has_two { ["first> ", "second> "][index] } else { "> " };
        writeln!(out, "{prompt}{command}").unwrap();
        let bytes = clients[index].send(format!("{command}\r\n").as_bytes());
        let mut rest = &bytes[..];
        assert!(!rest.is_empty(), "no reply to {command}");
        while !rest.is_empty() {
            let Parsed::Complete { value, consumed } = parse_reply(rest, &Limits::default()) else {
                panic!("{command}: {}", rest.escape_ascii());
            };
            let mut shown = Vec::new();
            format::reply(&value, Style { raw: false, colour: false }, &mut shown);
            out.push_str(&String::from_utf8(shown).unwrap());
            rest = &rest[consumed..];
        }
    }
    out
}

/// The rows of `docs/redis.md`.
struct Differences(Vec<[String; 3]>);

impl Differences {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/redis.md");
        let text = std::fs::read_to_string(path).unwrap();
        // Behind the head of the table.
        let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")).skip(2);
        let rows = rows.map(|row| row.split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
        let mut found = Vec::new();
        for row in rows {
            let row: [String; 3] = row.try_into().unwrap_or_else(|row| panic!("not three cells: {row:?}"));
            for name in quoted(&row[0]).filter(|name| name.bytes().all(|byte| byte.is_ascii_uppercase())) {
                assert!(table::find(name.as_bytes()).is_some(), "{name} is no command");
            }
            found.push(row);
        }
        assert!(found.len() > 25, "only {} rows", found.len());
        Self(found)
    }

    /// Those about a command or one of its sub-commands, with links that lead out of `docs/commands`.
    fn about(&self, name: &str) -> Vec<[String; 3]> {
        let is_about = |row: &&[String; 3]| {
            quoted(&row[0])
                .any(|one| one == name || one.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))
        };
        let moved = |cell: &String| cell.replace("](", "](../").replace("](../http", "](http");
        self.0.iter().filter(is_about).map(|row| row.each_ref().map(moved)).collect()
    }
}

/// The parts of a text that are in code style.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
