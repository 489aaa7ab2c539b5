//! What does the pull request say? One comment, found again by its first line, and never longer than a host takes.
//!
//! What there is to look at stands first; plain passes fold away. Where room runs out, whole rows are left out from the end
//! of the least important, and a line says how many: nothing is ever cut inside a row or a tag.

use super::rows::{self, Ordered};
use super::{Coverage, figure};
use crate::model::{Gate, GateFunction, GateOutcome, GateProfile, GateSide, GateVerdict};
use crate::output::escape;
use std::fmt::Write as _;

/// The first line, by which the comment is found and edited instead of repeated. Nobody sees it.
pub const MARKER: &str = "<!-- plumbkv-bench-gate -->";

/// Length of a comment at most. Hosts count characters; bytes are never fewer.
pub const COMMENT_LIMIT_BYTES: usize = 65_536;

/// Kept free for heads of tables, tags, and the lines that say what was left out.
const FRAME_BYTES: usize = 1_500;

/// Loads at most of which the functions are shown.
const PROFILES: usize = 4;

/// Notes, and scenarios left out, that are spelled out at most.
const LINES: usize = 20;

/// The comment. `quote` says how often the gate errs, where a calibration has found out.
#[must_use]
pub fn markdown(gate: &Gate, quote: Option<&str>) -> String {
    let (before, after) = (opening(gate), closing(gate, quote));
    let ordered = Ordered::of(gate);
    let mut room = COMMENT_LIMIT_BYTES.saturating_sub(before.len() + after.len() + FRAME_BYTES);
    // Spent in the order of importance, which is not quite the order on the page.
    let remarkable = Fitted::of(ordered.remarkable.iter().map(|one| row(one)), &mut room);
    let profiles: String = gate.profiles.iter().take(PROFILES).map(|one| profile(one, &mut room)).collect();
    let remarks = remarks(gate, &mut room);
    let plain = Fitted::of(ordered.plain.iter().map(|one| row(one)), &mut room);

    let mut text = before;
    if !ordered.remarkable.is_empty() {
        text.push_str(&head());
        text.push_str(&remarkable.text);
        let _ = write!(text, "\n{}", left_out_of_table(&remarkable, &ordered.remarkable));
    }
    text.push_str(&profiles);
    if !ordered.plain.is_empty() {
        let passes = if ordered.plain.len() == 1 { "pass" } else { "passes" };
        // The empty line ends the block of HTML: what follows is Markdown again, where a backslash escapes.
        let _ = writeln!(
            text,
            "<details>\n<summary>{} plain {passes}</summary>\n\n{}{}\n{}</details>\n",
            ordered.plain.len(),
            head(),
            plain.text,
            left_out_of_table(&plain, &ordered.plain)
        );
    }
    text.push_str(&remarks);
    text.push_str(&after);
    text
}

/// Rows as far as there was room.
struct Fitted {
    text: String,
    kept: usize,
    left_out: usize,
}

impl Fitted {
    fn of(rows: impl Iterator<Item = String>, room: &mut usize) -> Self {
        let mut fitted = Self { text: String::new(), kept: 0, left_out: 0 };
        for row in rows {
            // Once a row does not fit none after it stands: a shorter one is not more important.
            if fitted.left_out > 0 || row.len() > *room {
                fitted.left_out += 1;
                continue;
            }
            *room -= row.len();
            fitted.kept += 1;
            fitted.text.push_str(&row);
        }
        fitted
    }
}

fn left_out_of_table(fitted: &Fitted, verdicts: &[&GateVerdict]) -> String {
    if fitted.left_out == 0 {
        return String::new();
    }
    let regressions = verdicts
        .iter()
        .skip(fitted.kept)
        .filter(|verdict| verdict.outcome == GateOutcome::Regression)
        .count();
    let of_them =
        if regressions > 0 { format!(", {regressions} of them regressions") } else { String::new() };
    format!(
        "{} of {} rows are left out{of_them}: a comment holds {COMMENT_LIMIT_BYTES} characters. `gate.json` in the \
         artifact has all of them.\n\n",
        fitted.left_out,
        verdicts.len()
    )
}

fn opening(gate: &Gate) -> String {
    let mut text = format!("{MARKER}\n### Gate: {}\n\n", gate.outcome.words());
    let _ = writeln!(text, "Why: {}\n\n{}.\n", escape::markdown(&gate.reason), Coverage::of(gate));
    text
}

fn head() -> String {
    let rule = |column: usize| if rows::RIGHT.contains(&column) { "---:" } else { "---" };
    let rules: Vec<&str> = (0..rows::HEAD.len()).map(rule).collect();
    format!("| {} |\n| {} |\n", rows::HEAD.join(" | "), rules.join(" | "))
}

/// Without padding: columns as wide as the widest cell would cost more room than the rows.
fn row(verdict: &GateVerdict) -> String {
    let cells = rows::cells(verdict).map(|cell| escape::markdown(&cell));
    format!("| {} |\n", cells.join(" | "))
}

/// Which functions of a slower load take more.
fn profile(profile: &GateProfile, room: &mut usize) -> String {
    let label = safe(&profile.label);
    let head = if profile.functions.is_empty() {
        format!("{label}: no function takes more instructions, so it is not the work that is slower.\n")
    } else {
        format!(
            "{label}, instructions a request by function:\n\n| function | base | head |\n| --- | ---: | ---: |\n"
        )
    };
    let Some(left) = room.checked_sub(head.len() + 1) else { return String::new() };
    *room = left;
    let row = |one: &GateFunction| {
        let [name, base, head] = rows::function(one);
        format!("| {} | {base} | {head} |\n", escape::markdown(&name))
    };
    let rows = Fitted::of(profile.functions.iter().map(row), room);
    format!("{head}{}\n", rows.text)
}

/// Notes, and scenarios without a verdict.
fn remarks(gate: &Gate, room: &mut usize) -> String {
    let mut text = String::new();
    for (word, all) in [("Left out", &gate.left_out), ("Note", &gate.notes)] {
        let lines = all.iter().take(LINES).map(|one| format!("- {word}: {}\n", escape::markdown(one)));
        let fitted = Fitted::of(lines, room);
        text.push_str(&fitted.text);
        let missing = all.len() - fitted.kept;
        if missing > 0 {
            let _ = writeln!(text, "- {word}: {missing} more, in `gate.json`");
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What it was measured with, and how to see it again.
fn closing(gate: &Gate, quote: Option<&str>) -> String {
    let mut text = String::from(
        "head / base: median over blocks of base and head in turns, with its interval. limit: the least median that is \
         called. finds: the smallest change found four times in five. evidence: how many times its stake a bet on the \
         verdict became.\n\n",
    );
    let again = match gate.outcome {
        GateOutcome::Regression => "To see the regression again",
        _ => "To measure it again",
    };
    let _ = match repeatable(&gate.command) {
        Some(command) => {
            writeln!(text, "{again}, in a checkout that has both commits:\n\n```sh\n{command}\n```\n")
        }
        None => writeln!(
            text,
            "The command stands in `gate.json`: it is no plain call of bench-runner and is not repeated here.\n"
        ),
    };
    let machine = &gate.machine;
    let title = if machine.title.is_empty() { String::new() } else { format!(", {}", safe(&machine.title)) };
    let _ = writeln!(
        text,
        "| measured | with |\n| --- | --- |\n| machine | {}{title} |\n| CPU | {}, {} cores, {} threads |\n\
         | base | {} |\n| head | {} |\n| time | measured {} of {}, built {}; started {} |\n| tool | {} {} |\n",
        safe(&gate.machine_key),
        safe(&machine.cpu_model),
        machine.cores,
        machine.threads,
        side(&gate.base),
        side(&gate.head),
        figure::duration(gate.measured_s),
        figure::duration(gate.budget_s),
        figure::duration(gate.build_s),
        safe(&gate.started_at),
        safe(&gate.tool.name),
        safe(&gate.tool.version),
    );
    let _ = match quote {
        Some(quote) => writeln!(text, "How often the gate errs: {}", escape::markdown(quote)),
        None => writeln!(text, "How often the gate errs is not quoted: there was no calibration to quote."),
    };
    text
}

fn side(side: &GateSide) -> String {
    let digests: Vec<String> = side.sha256.iter().take(2).map(|one| safe(figure::id(one))).collect();
    let commit = if side.commit.is_empty() { "no commit".to_owned() } else { safe(figure::id(&side.commit)) };
    format!("{}, {commit}, sha256 {}", safe(&side.given), digests.join(" and "))
}

/// A name in a sentence or cell.
fn safe(text: &str) -> String {
    escape::markdown(&escape::name(text))
}

/// The command, if it is one that a reader can be shown to copy. It comes from the artifact: anything but plain words
/// after the name of this program could make a reader run what a stranger wrote.
fn repeatable(command: &str) -> Option<&str> {
    let plain = |one: char| one.is_ascii_alphanumeric() || " ._-/=,:@%+".contains(one);
    let is_ours = command.starts_with("bench-runner ") && command.len() <= escape::LONGEST;
    (is_ours && command.chars().all(plain)).then_some(command)
}

#[cfg(test)]
#[path = "markdown_test.rs"]
mod tests;
