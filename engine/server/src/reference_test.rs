//! The generated reference: settings, command line, commands and metrics, as tables in `docs/`.
//!
//! Each table is written between two marker lines of a page from the definition that the server
//! itself uses, so that no page can name a flag, a command or a metric that does not exist, or miss
//! one that does. `UPDATE_GOLDEN=1 cargo test -p plumbkv-server reference` writes the tables anew;
//! without the variable a table that differs fails the test.

#[path = "reference_test/pages.rs"]
mod pages;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use clap::ArgAction;
use plumbkv::{Database, Options};

use crate::command::table;
use crate::config::{self, SETTINGS, variable};
use crate::session::test_support::Driver;
use crate::{args, http};

#[test]
fn settings_are_documented_as_the_server_defines_them() {
    let mut rows = Table::new(&["setting", "environment variable", "value", "default", "what it does"]);
    for setting in SETTINGS {
        let (text, default) = split_default(setting.help);
        rows.add(&[
            code(setting.name),
            code(&variable(setting.name)),
            code(setting.value),
            default.map_or_else(|| "none".to_owned(), as_value),
            escape(text),
        ]);
    }
    check("settings.md", "settings", &rows.text());
}

#[test]
fn the_defaults_that_the_help_names_are_those_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let load = |name: &str, value: Option<&str>| {
        let flags = |flag: &str| match flag {
            _ if flag == name => value.iter().map(|value| (*value).to_owned()).collect(),
            // Some settings are accepted only for a store in a directory.
            "data" => vec![path.to_owned()],
            _ => Vec::new(),
        };
        config::load(flags, |_| None, None).unwrap()
    };
    let mut checked = 0;
    for setting in SETTINGS {
        let (_, Some(default)) = split_default(setting.help) else { continue };
        let value = default.split(',').next().unwrap();
        // Without a value: kept in memory, as the machine allows, as the profile says, if it is free.
        if ["data", "memory-limit", "memory-budget", "http"].contains(&setting.name) {
            continue;
        }
        assert_eq!(load(setting.name, Some(value)), load(setting.name, None), "--{}", setting.name);
        checked += 1;
    }
    assert!(checked >= 20, "only {checked} defaults were compared");
}

#[test]
fn parameters_of_config_are_documented_as_config_answers() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let mut rows = Table::new(&["parameter", "CONFIG SET"]);
    let reply = client.ask("config get *");
    let words: Vec<&str> = reply.split("\r\n").skip(1).filter(|line| !line.starts_with('$')).collect();
    for name in words.chunks_exact(2).map(|pair| pair[0]) {
        let refusal = client.ask(&format!("config set {name} not-a-value"));
        let changes = match &refusal {
            text if text.contains("can't set immutable config") => "no: fixed while the server runs",
            text if text.contains(" is possible") => "accepted with its only value",
            _ => "yes",
        };
        rows.add(&[code(name), changes.to_owned()]);
    }
    check("settings.md", "parameters", &rows.text());
}

#[test]
fn tools_are_documented_as_the_command_line_defines_them() {
    let mut out = String::new();
    for command in args::command().get_subcommands().filter(|command| command.get_name() != "serve") {
        let positionals = command.get_positionals().map(|argument| {
            let names = argument.get_value_names().unwrap_or_default();
            let name = names.first().map_or_else(|| argument.get_id().as_str(), |name| name.as_str());
            if argument.is_required_set() { format!(" {name}") } else { format!(" [{name}]…") }
        });
        let usage: String = positionals.collect();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "### `plumbkv {}{usage}`\n\n{}.\n", command.get_name(), escape(&about)).unwrap();
        let mut rows = Table::new(&["flag", "default", "what it does"]);
        let before = rows.0.len();
        for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
            let Some(long) = argument.get_long().filter(|long| *long != "help") else { continue };
            let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
            let values = argument.get_value_names().unwrap_or_default();
            let value = values.first().filter(|_| takes_value).map(|value| format!(" {value}"));
            let defaults = argument.get_default_values().iter().filter_map(|value| value.to_str());
            let defaults = defaults.filter(|value| takes_value && !value.is_empty()).map(code);
            let default = defaults.collect::<Vec<_>>().join(" ");
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            rows.add(&[code(&format!("--{long}{}", value.unwrap_or_default())), default, escape(&help)]);
        }
        if rows.0.len() > before {
            writeln!(out, "{}\n", rows.text()).unwrap();
        }
    }
    check("command-line.md", "tools", out.trim_end());
}

#[test]
fn commands_are_documented_as_the_table_defines_them() {
    let groups = ["string", "generic", "transactions", "scripting", "connection", "server"];
    let mut out = String::new();
    for group in groups {
        writeln!(out, "### {}{}\n", group[..1].to_uppercase(), &group[1..]).unwrap();
        let mut rows = Table::new(&["command", "arity", "flags", "since", "time", "summary"]);
        for spec in table::SPECS.iter().filter(|spec| spec.group_name() == group) {
            let flags = table::flag::NAMES.iter().filter(|(bit, _)| spec.has(*bit));
            rows.add(&[
                pages::link(spec),
                spec.arity.to_string(),
                flags.map(|(_, name)| *name).collect::<Vec<_>>().join(", "),
                spec.since.to_owned(),
                escape(spec.complexity.trim_end_matches('.')),
                escape(spec.summary),
            ]);
        }
        writeln!(out, "{}\n", rows.text()).unwrap();
    }
    assert!(table::SPECS.iter().all(|spec| groups.contains(&spec.group_name())), "a group is left out");
    check("commands.md", "commands", out.trim_end());
}

#[test]
fn metrics_are_documented_as_they_are_exposed() {
    let memory = exposed(Driver::new());
    let directory = tempfile::tempdir().unwrap();
    let mut durable = Driver::new();
    durable.shared.database = Database::open(Options::durable(directory.path())).unwrap();
    let known: BTreeSet<&str> = memory.iter().map(|row| row[0].as_str()).collect();
    let durable: Vec<_> =
        exposed(durable).into_iter().filter(|row| !known.contains(row[0].as_str())).collect();
    assert!(memory.len() > 20 && durable.len() > 10, "{} and {}", memory.len(), durable.len());
    for (part, rows) in [("metrics", &memory), ("storage metrics", &durable)] {
        let mut out = Table::new(&["metric", "type", "unit", "labels", "what it is"]);
        rows.iter().for_each(|row| out.add(row));
        check("metrics.md", part, &out.text());
    }
}

/// One row for each metric of a scrape: name, type, unit, labels, help.
fn exposed(driver: Driver) -> Vec<[String; 5]> {
    let mut client = driver.connect();
    for command in ["set a 1", "get a", "get none", "get", "set b x ex 100", "incr b"] {
        client.ask(command);
    }
    driver.shared.state.set_ready(&driver.shared.database);
    let text = http::scrape(driver.shared);
    let mut rows: Vec<[String; 5]> = Vec::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            // The library ends each help text with a full stop, which a table does without.
            let help = escape(help.trim_end_matches('.'));
            rows.push([name.into(), String::new(), String::new(), String::new(), help]);
            continue;
        }
        let Some(row) = rows.last_mut() else { continue };
        if let Some((_, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            row[1] = kind.to_owned();
        } else if let Some((_, unit)) = line.strip_prefix("# UNIT ").and_then(|rest| rest.split_once(' ')) {
            row[2] = unit.to_owned();
        } else if !line.starts_with('#') {
            let (name, labels) = line.split_once('{').unwrap_or((line.split(' ').next().unwrap(), ""));
            row[0] = name.to_owned();
            let labels = labels.split("\",").filter_map(|label| label.split_once('='));
            row[3] = labels.map(|(name, _)| code(name)).collect::<Vec<_>>().join(", ");
        }
    }
    for row in &mut rows {
        row[0] = code(&row[0]);
    }
    rows
}

/// A help text and what stands behind `[default: ` at its end.
fn split_default(help: &'static str) -> (&'static str, Option<&'static str>) {
    match help.split_once(" [default: ") {
        Some((text, default)) => (text, Some(default.trim_end_matches(']'))),
        None => (help, None),
    }
}

/// A default: its value as code, then the condition after the comma as text.
fn as_value(default: &str) -> String {
    let (value, condition) = default.split_at(default.find(',').unwrap_or(default.len()));
    // Several words are no value: the default depends on the machine or on another setting.
    if value == "none" || value.contains(' ') {
        return escape(default);
    }
    format!("{}{}", code(value), escape(condition))
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

/// A table in Markdown.
struct Table(String);

impl Table {
    fn new(head: &[&str]) -> Self {
        let mut table = Self(String::new());
        table.add(head);
        table.add(&vec!["---"; head.len()]);
        table
    }

    fn add(&mut self, cells: &[impl AsRef<str>]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        writeln!(self.0, "| {} |", cells.join(" | ")).unwrap();
    }

    fn text(&self) -> String {
        self.0.trim_end().replace("|  |", "| |").replace("|  |", "| |")
    }
}

/// Compares the part `name` of a page with `text`, or writes it.
fn check(page: &str, name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end: {name} -->\n"));
    let recorded = std::fs::read_to_string(&path).unwrap();
    let start = recorded.find(&begin).unwrap_or_else(|| panic!("{page} has no line {begin}")) + begin.len();
    let stop = recorded.find(&end).unwrap_or_else(|| panic!("{page} has no line {end}"));
    let expected = format!("\n{text}\n\n");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        static PAGES: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _turn = PAGES.lock().unwrap();
        let recorded = std::fs::read_to_string(&path).unwrap();
        let start = recorded.find(&begin).unwrap() + begin.len();
        let stop = recorded.find(&end).unwrap();
        std::fs::write(&path, format!("{}{expected}{}", &recorded[..start], &recorded[stop..])).unwrap();
    } else {
        assert!(
            recorded[start..stop] == expected,
            "{page} is stale; run UPDATE_GOLDEN=1 cargo test -p plumbkv-server reference, and read the change"
        );
    }
}

#[test]
fn the_page_about_clients_names_the_versions_that_are_tested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    let page = read("docs/clients.md");
    let mut tested: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, version: &str| tested.push((name.to_owned(), version.to_owned()));
    let python = ["requirements.txt", "requirements-other-types.txt"];
    let python = python.map(|file| read(&format!("tests/clients/python/{file}"))).concat();
    for line in python.lines() {
        let (name, version) = line.split_once("==").unwrap();
        add(name, version);
    }
    for line in read("tests/clients/go/go.mod").lines().filter(|line| !line.contains("// indirect")) {
        if let [name, version] = line.split_whitespace().collect::<Vec<_>>()[..]
            && let Some(version) = version.strip_prefix('v')
        {
            add(name, version);
        }
    }
    for line in read("tests/clients/node/package.json").lines() {
        // `"name": "1.2.3",` below the dependencies.
        if let [_, name, _, version, _] = line.split('"').collect::<Vec<_>>()[..]
            && version.starts_with(|letter: char| letter.is_ascii_digit())
        {
            add(name, version);
        }
    }
    assert!(tested.len() >= 25, "{tested:?}");
    for (name, version) in tested {
        let is_there = |line: &str| line.contains(&name) && line.contains(&version);
        assert!(page.lines().any(is_there) || ["httpx"].contains(&name.as_str()), "{name} {version}");
    }
}
