//! Does a text that means harm stay a text, wherever a run is shown?

use super::*;
use crate::export::testing;
use crate::model::{Run, ScenarioRecord, Status};

const IMAGE: &str = "<img src=x onerror=alert(1)>";
const MENTION: &str = "@everyone";
const LINK: &str = "](javascript:alert(1))";
const SCREEN: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}";

fn hostile() -> String {
    format!("{IMAGE} {MENTION} [x{LINK} {SCREEN} | `code` {}", "y".repeat(10_000))
}

/// A run in which every text that others can choose is hostile.
fn run() -> (Run, Vec<ScenarioRecord>) {
    let (mut run, mut scenarios) = testing::run();
    let hostile = hostile();
    run.notes.push(hostile.clone());
    run.command.clone_from(&hostile);
    run.reproduce.push(hostile.clone());
    run.machine.title.clone_from(&hostile);
    run.machine.cpu_model.clone_from(&hostile);
    run.environment.kernel.clone_from(&hostile);
    for target in &mut run.targets {
        target.title.clone_from(&hostile);
        target.allocator.clone_from(&hostile);
        target.reason = Some(hostile.clone());
    }
    for record in &mut scenarios {
        let info = &mut record.scenario;
        for text in
            [&mut info.title, &mut info.key, &mut info.analysis, &mut info.validity, &mut info.not_measured]
        {
            text.clone_from(&hostile);
        }
        for cell in &mut record.cells {
            cell.label.clone_from(&hostile);
            cell.target.clone_from(&hostile);
        }
        record.cells[0].status = Status::Failed;
        record.cells[0].reason = Some(hostile.clone());
    }
    (run, scenarios)
}

#[test]
fn on_a_terminal_nothing_moves_the_cursor() {
    let (run, scenarios) = run();
    let text = human(&run, &scenarios, Part::Whole);
    assert!(!text.chars().any(|one| one.is_control() && one != '\n'), "a control character came through");
    assert!(text.contains("more characters"), "nothing was cut");
}

#[test]
fn in_markdown_there_is_no_markup_link_or_mention() {
    let (run, scenarios) = run();
    let text = markdown(&run, &scenarios, Part::Whole);
    assert!(text.contains("onerror"), "the text itself is shown");
    let text = outside_code(&text);
    for needle in ["<img", "](javascript", MENTION] {
        let live = text.match_indices(needle).any(|(at, _)| !text[..at].ends_with('\\'));
        assert!(!live, "{needle} came through");
    }
    assert!(text.lines().all(|line| line.chars().count() < 20_000), "a line is as long as the hostile text");
}

/// Without code spans, in which markup is dead anyway and a backslash would be shown.
fn outside_code(text: &str) -> String {
    let (mut outside, mut inside, mut before) = (String::new(), false, ' ');
    for one in text.chars() {
        inside ^= one == '`' && before != '\\';
        if !inside {
            outside.push(one);
        }
        before = one;
    }
    outside
}

#[test]
fn in_html_every_text_is_text() {
    let (run, scenarios) = run();
    let page = html(&run, &scenarios, Part::Whole).unwrap();
    assert!(page.contains("&lt;img src=x onerror"), "the text itself is shown");
    for needle in ["<img", "<script", "href=", "\u{1b}", "\u{7}"] {
        assert!(!page.contains(needle), "{needle} came through");
    }
    assert!(page.contains("default-src 'none'"), "the page forbids itself requests");
}

#[test]
fn json_keeps_the_text_whole() {
    let (run, scenarios) = run();
    let value = json(&run, &scenarios, Part::Whole);
    assert_eq!(value["cells"][0]["label"], hostile());
}
