//! Documents: the JSON that commands print has a schema and a version, and the page on lying servers
//! names tests that exist.

use std::path::Path;
use std::process::Command;

#[test]
fn documents_have_a_schema_and_a_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let run = |arguments: &[&str]| -> serde_json::Value {
        let output = Command::new(env!("CARGO_BIN_EXE_bench-runner"))
            .current_dir(&root)
            .args(["--format", "json"])
            .args(arguments)
            .output()
            .expect("it runs");
        let text = String::from_utf8(output.stdout).expect("text");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    };
    for (arguments, schema) in [
        (&["list"][..], "plumbkv.list"),
        (&["plan", "--profile", "smoke", "--scenario", "wire-single"], "plumbkv.plan"),
        (&["env"], "plumbkv.env"),
        (&["machines"], "plumbkv.machines"),
        (&["complete", "--version", "0.5.1"], "plumbkv.complete"),
        (&["compare", "0.2.0", "0.3.0"], "plumbkv.compare"),
        (&["report", "--version", "0.1.0"], "plumbkv.report"),
    ] {
        let document = run(arguments);
        assert_eq!(
            (&document["schema"], &document["schema_version"]),
            (&schema.into(), &1.into()),
            "{arguments:?}"
        );
    }
}

/// Kinds of lying or sick servers on the page, at least.
const KINDS_MIN: usize = 45;

/// The columns of each row: what the server does, how it is seen, and the tests or `none`.
fn kinds(page: &str) -> Vec<[&str; 3]> {
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let columns = rows.map(|row| {
        let columns: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        <[&str; 3]>::try_from(columns).expect("three columns")
    });
    columns.filter(|columns| columns[2] != "Test").collect()
}

#[test]
fn each_kind_of_lying_server_has_a_test_that_exists_or_a_reason() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(folder.join("docs/honesty.md")).expect("the page");
    let (mut tested, mut unseen) = (0, 0);
    for [kind, seen, tests] in kinds(&page) {
        if tests == "none" {
            assert!(seen.contains("**Not seen**"), "neither a test nor a reason: {kind}");
            unseen += 1;
            continue;
        }
        // Files and functions are code: each function is in the file before it.
        let (mut file, mut text, mut named) = ("", String::new(), 0);
        for word in tests.split('`').skip(1).step_by(2) {
            if word.ends_with(".rs") {
                file = word;
                text = std::fs::read_to_string(folder.join(file)).expect(file);
            } else {
                assert!(text.contains(&format!("fn {word}(")), "{kind}: no test {word} in '{file}'");
                named += 1;
            }
        }
        assert!(named > 0, "no test is named: {kind}");
        tested += 1;
    }
    assert!(tested + unseen >= KINDS_MIN, "{tested} and {unseen} kinds");
    let sentence = format!("{tested} kinds have a test, {unseen} have none.");
    assert!(page.contains(&sentence), "the page does not say: {sentence}");
}
