//! Do the tools read and write a store's directory as they say, with no server about?

use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::client::{noise, request_of};
use crate::server::{Server, plumbkv};

/// Runs a tool on a directory, with these bytes on its standard input.
fn run(tool: &str, data: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = plumbkv(&[&[tool, "--data", data.to_str().unwrap()], args].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A tool may end before it has read all.
    let feeding = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    output
}

/// Runs a tool that does well, and answers what it prints.
#[track_caller]
fn fine(tool: &str, data: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let output = run(tool, data, args, input);
    assert!(output.status.success(), "{tool} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[track_caller]
fn text(tool: &str, data: &Path, args: &[&str]) -> String {
    String::from_utf8(fine(tool, data, args, b"")).unwrap()
}

/// Runs a tool that fails with exit code 1, and answers the one line that it says.
#[track_caller]
fn failed(tool: &str, data: &Path, args: &[&str], input: &[u8]) -> String {
    let output = run(tool, data, args, input);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{tool} {args:?}: {text}");
    assert!(text.starts_with("plumbkv: ") && text.lines().count() == 1, "{text}");
    text
}

#[test]
fn what_set_writes_get_and_scan_read_and_a_server_serves() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let refused = failed("set", data, &["a", "1"], b"");
    assert!(refused.contains("no store in"), "{refused}");
    fine("set", data, &["--create", "a", "two words"], b"");
    fine("set", data, &["--encoding", "hex", "00ff", "0a0d"], b"");
    fine("set", data, &["piped"], &noise(5_000, 1));
    fine("set", data, &["brief", "x", "--expires-in", "1000"], b"");
    fine("set", data, &["negative", "-5"], b"");
    assert_eq!(text("get", data, &["a"]), "two words\n");
    assert_eq!(fine("get", data, &["piped"], b""), [noise(5_000, 1), b"\n".to_vec()].concat());
    assert_eq!(text("get", data, &["--encoding", "base64", "AP8="]), "Cg0=\n");
    assert_eq!(text("get", data, &["--encoding", "hex", "00FF"]), "0a0d\n");
    assert!(failed("get", data, &["nothing"], b"").contains("no such key: nothing"));
    assert!(failed("get", data, &["--encoding", "hex", "0"], b"").contains("hexadecimal"));
    let json = text("get", data, &["brief", "--format", "json"]);
    assert!(json.starts_with("{\"key\":\"brief\",\"value\":\"x\",\"expires_at_ms\":1"), "{json}");

    assert_eq!(text("scan", data, &[]), "\\x00\\xff\na\nbrief\nnegative\npiped\n");
    assert_eq!(text("scan", data, &["--from", "a", "--to", "n", "--values"]), "a\ttwo words\nbrief\tx\n");
    assert_eq!(text("scan", data, &["--reverse", "--limit", "2"]), "piped\nnegative\n");
    assert_eq!(text("scan", data, &["--prefix", "ne"]), "negative\n");
    assert_eq!(
        text("scan", data, &["--prefix", "ne", "--format", "json"]),
        "{\"key\":\"negative\",\"value\":\"-5\",\"expires_at_ms\":null}\n"
    );

    let mut server = Server::start(&["--data", data.to_str().unwrap()]);
    let mut c = server.client();
    c.check("GET a", b"$9\r\ntwo words\r\n");
    assert!((900..=1000).contains(&c.integer("TTL brief")));
    for tool in ["check", "repair", "stats", "scan", "export", "compact", "import"] {
        assert!(failed(tool, data, &[], b"").contains("in use by another process"), "{tool}");
    }
    server.signal(rustix::process::Signal::TERM);
    assert!(server.wait().success());
    assert_eq!(text("get", data, &["a"]), "two words\n");
}

#[test]
fn an_export_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let mut server = Server::start(&["--data", old.to_str().unwrap()]);
    let mut c = server.client();
    for i in 0..2_000u64 {
        let (key, value) = (format!("key:{i:05}"), noise(1 + i as usize, i));
        let end = if i % 3 == 0 { &b"100000"[..] } else { b"200000" };
        c.send(&request_of(&[b"SET", key.as_bytes(), &value, b"EX", end]));
        assert_eq!(c.receive(), b"+OK\r\n");
    }
    c.check("MSET a 1 b 2 c 3 umlaut \"gr\\xc3\\xb6\\xc3\\x9fe\"", b"+OK\r\n");
    c.check("SET over x PX 1", b"+OK\r\n");
    server.signal(rustix::process::Signal::TERM);
    assert!(server.wait().success());

    let exported = fine("export", &old, &[], b"");
    let lines: Vec<&[u8]> = exported.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 2_004);
    assert_eq!(lines[0], b"{\"key\":\"a\",\"value\":\"1\",\"expires_at_ms\":null}\n");
    assert_eq!(lines[2_003], "{\"key\":\"umlaut\",\"value\":\"größe\",\"expires_at_ms\":null}\n".as_bytes());
    assert!(lines[100].ends_with(b",\"encoding\":\"base64\"}\n"), "{}", lines[100].escape_ascii());

    let report =
        String::from_utf8(fine("import", &new, &["--create", "--format", "json"], &exported)).unwrap();
    assert!(report.starts_with("{\"imported\":2004,\"over\":0,\"imported_bytes\":"), "{report}");
    assert!(fine("export", &new, &["-q"], b"") == exported);
    for encoding in ["hex", "base64"] {
        let again = fine("export", &old, &["--encoding", encoding], b"");
        let other = folder.path().join(encoding);
        fine("import", &other, &["--create"], &again);
        assert!(fine("export", &other, &[], b"") == exported, "{encoding}");
    }
    assert_eq!(fine("export", &old, &["--prefix", "key:0001"], b"").split(|byte| *byte == b'\n').count(), 11);
}

#[test]
fn tools_know_the_databases_of_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let mut server = Server::start(&["--data", old.to_str().unwrap()]);
    let mut c = server.client();
    for line in ["SET a 0", "SELECT 1", "MSET a 1 b 1", "SELECT 15", "SET c 15 EX 100000", "SWAPDB 0 1"] {
        assert_eq!(c.ask(line), b"+OK\r\n", "{line}");
    }
    server.signal(rustix::process::Signal::TERM);
    assert!(server.wait().success());

    fine("set", &old, &["-n", "3", "d", "3"], b"");
    assert_eq!(text("get", &old, &["a"]), "1\n");
    assert_eq!(text("get", &old, &["--database", "1", "a"]), "0\n");
    assert!(failed("get", &old, &["-n", "2", "a"], b"").contains("no such key: a"));
    assert_eq!(run("get", &old, &["-n", "16", "a"], b"").status.code(), Some(64));
    for (args, expected) in [
        (&[][..], "a\nb\n"),
        (&["--reverse", "--limit", "1"], "b\n"),
        (&["-n", "1", "--values"], "a\t0\n"),
        (&["-n", "2"], ""),
        (&["-n", "3", "--from", "a"], "d\n"),
        (&["-n", "3", "--to", "d"], ""),
        (&["-n", "3", "--from", "a", "--reverse"], "d\n"),
        (&["-n", "15", "--prefix", "c"], "c\n"),
    ] {
        assert_eq!(text("scan", &old, args), expected, "{args:?}");
    }

    let exported = text("export", &old, &["-q"]);
    let end = exported.lines().last().unwrap();
    assert!(end.starts_with("{\"database\":15,\"key\":\"c\",\"value\":\"15\",\"expires_at_ms\":1"), "{end}");
    assert_eq!(
        exported.strip_suffix(&format!("{end}\n")).unwrap(),
        "{\"key\":\"a\",\"value\":\"1\",\"expires_at_ms\":null}\n\
         {\"key\":\"b\",\"value\":\"1\",\"expires_at_ms\":null}\n\
         {\"database\":1,\"key\":\"a\",\"value\":\"0\",\"expires_at_ms\":null}\n\
         {\"database\":3,\"key\":\"d\",\"value\":\"3\",\"expires_at_ms\":null}\n"
    );
    assert_eq!(text("export", &old, &["-q", "-n", "1"]).lines().count(), 1);
    assert_eq!(text("export", &old, &["-q", "--prefix", "a"]).lines().count(), 2);
    fine("import", &new, &["--create"], exported.as_bytes());
    assert_eq!(text("export", &new, &["-q"]), exported);
    let wrong = failed("import", &new, &[], b"{\"database\":16,\"key\":\"a\",\"value\":\"b\"}");
    assert!(wrong.contains("`database` is 16"), "{wrong}");

    let server = Server::start(&["--data", new.to_str().unwrap()]);
    let mut c = server.client();
    for (database, key, value) in [(0, "a", "1"), (1, "a", "0"), (3, "d", "3"), (15, "c", "15")] {
        c.check(&format!("SELECT {database}"), b"+OK\r\n");
        assert_eq!(c.bulk(&format!("GET {key}")).as_deref(), Some(value.as_bytes()));
    }
}

/// Names, lengths and times of change of all files.
fn files(data: &Path) -> Vec<(std::path::PathBuf, u64, std::time::SystemTime)> {
    let entries = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| {
            let about = path.metadata().unwrap();
            (path, about.len(), about.modified().unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn tools_that_read_change_nothing_and_run_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::start(&["--data", data.to_str().unwrap()]);
    server.client().check("MSET a 1 b 2", b"+OK\r\n");
    // Killed, so that the log holds what no table does.
    server.signal(rustix::process::Signal::KILL);
    server.wait();
    let before = files(data);
    let reader = plumbkv::Database::open(plumbkv::Options::durable(data).read_only(true)).unwrap();
    for (tool, args, expected) in [
        ("get", &["b"][..], "2\n"),
        ("scan", &[], "a\nb\n"),
        ("check", &["--format", "json"], "\"versions_read\":2,\"versions_expected\":2,"),
        ("stats", &["--format", "json"], "\"tables\":0"),
        ("export", &["-q"], "\"key\":\"b\""),
    ] {
        let printed = text(tool, data, args);
        assert!(printed.contains(expected), "{tool}: {printed}");
    }
    let refused = failed("set", data, &["a", "2"], b"");
    assert!(refused.contains("in use by another process"), "{refused}");
    drop(reader);
    assert_eq!(files(data), before);
    fine("set", data, &["a", "2"], b"");
    assert_eq!(text("get", data, &["a"]), "2\n");
}

#[test]
fn an_import_ends_at_a_line_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let over = "{\"key\":\"over\",\"value\":\"x\",\"expires_at_ms\":1}\n";
    let lines = format!(
        "{{\"key\":\"a\",\"value\":\"1\"}}\n\n{over}{{\"key\":\"b\"}}\n{{\"key\":\"c\",\"value\":\"3\"}}\n"
    );
    fine("set", data, &["--create", "over", "old"], b"");
    let said = failed("import", data, &[], lines.as_bytes());
    assert!(
        said.contains("after 1 entries") && said.contains("line 4 ") && said.contains("`value`"),
        "{said}"
    );
    assert_eq!(text("scan", data, &["--values"]), "a\t1\n");
    let too_long = format!("{{\"key\":\"{}\",\"value\":\"1\"}}\n", "k".repeat(70_000));
    assert!(
        failed("import", data, &[], too_long.as_bytes()).contains("line 1 of standard input: `key` has more")
    );
    let too_long = format!("{{\"key\":\"k\",\"value\":\"{}\"}}\n", "x".repeat(5 << 20));
    let said = failed("import", data, &["--profile", "low-memory"], too_long.as_bytes());
    assert!(said.contains("line 1 of standard input: the entry takes 5242881 bytes"), "{said}");
}

#[test]
fn figures_are_for_people_and_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let lines: String =
        (0..5_000).map(|i| format!("{{\"key\":\"key:{i}\",\"value\":\"{}\"}}\n", "x".repeat(300))).collect();
    fine("import", data, &["--create"], lines.as_bytes());
    fine("import", data, &[], lines.as_bytes());
    let human = text("stats", data, &[]);
    assert!(human.contains("key versions  10000\n") && human.contains("tables"), "{human}");
    let json = text("stats", data, &["--format", "json"]);
    assert!(json.contains("\"key_versions\":10000,") && json.contains("\"levels\":[{\"tables\":"), "{json}");
    let whole = text("check", data, &["--format", "json"]);
    assert!(whole.starts_with("{\"is_whole\":true,\"damage\":null,\"tables\":"), "{whole}");
    assert!(whole.contains("\"versions_read\":10000,\"versions_expected\":10000,"), "{whole}");
    assert!(text("check", data, &[]).starts_with("is whole           yes\n"));
    let report = text("compact", data, &["--format", "json"]);
    assert!(report.contains("\"tables_after\":") && report.contains("\"written_bytes\":"), "{report}");
    // Whoever closes standard output early has seen enough.
    let mut child = plumbkv(&["export", "--data", data.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn check_finds_damage_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let lines: String =
        (0..5_000).map(|i| format!("{{\"key\":\"key:{i}\",\"value\":\"{}\"}}\n", i * i)).collect();
    fine("import", data, &["--create"], lines.as_bytes());
    fine("compact", data, &[], b"");
    fine("check", data, &[], b"");
    let names = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    let table = names.into_iter().find(|path| path.extension().is_some_and(|end| end == "table")).unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&table, &bytes).unwrap();
    let output = run("check", data, &["--format", "json"], b"");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("\"is_whole\":false") && said.contains(table.to_str().unwrap()), "{said}");
    assert!(failed("export", data, &[], b"").contains("at byte "));
    bytes.truncate(middle);
    std::fs::write(&table, &bytes).unwrap();
    let output = run("check", data, &[], b"");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && said.contains(table.to_str().unwrap()), "{said}");

    // What is repaired is whole, and what was damaged is still there.
    let output = run("repair", data, &["--format", "json"], b"");
    let (report, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() && report.contains("\"files_moved\":1,"), "{report} {said}");
    assert!(said.starts_with("moved ") && said.contains(".table: at byte "), "{said}");
    let moved = report.split('"').find(|word| word.contains("/damaged-")).unwrap();
    assert!(std::fs::read(Path::new(moved).join(table.file_name().unwrap())).unwrap() == bytes);
    fine("check", data, &[], b"");
    let again = text("repair", data, &["--format", "json"]);
    assert!(again.starts_with("{\"moved_to\":null,\"files_moved\":0,"), "{again}");
    fine("set", data, &["key:1", "new"], b"");
    assert_eq!(text("scan", data, &["--values"]), "key:1\tnew\n");
}

#[test]
fn a_tool_without_a_store_says_so_in_one_line() {
    let nowhere = Path::new("/nonexistent/store");
    for tool in ["check", "repair", "stats", "scan", "export", "compact", "import"] {
        assert!(failed(tool, nowhere, &[], b"").contains("no store in /nonexistent/store"), "{tool}");
    }
    let output = plumbkv(&["check"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--data <DIR>"));
    for tool in ["check", "repair", "stats", "get", "set", "scan", "export", "import", "compact"] {
        let help = plumbkv(&[tool, "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        assert!(help.contains("Example") && help.contains("Exit codes: "), "{help}");
    }
}

#[test]
fn tables_are_as_small_as_was_asked_for_and_read_whoever_wrote_them() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..2_000)
        .map(|i| format!("{{\"key\":\"key:{i:05}\",\"value\":\"{}\"}}\n", "same ".repeat(40)))
        .collect();
    let mut bytes = Vec::new();
    for compression in ["none", "lz4"] {
        let data = folder.path().join(compression);
        fine("import", &data, &["--create", "-q", "--compression", compression], lines.as_bytes());
        let compacted =
            fine("compact", &data, &["-q", "--compression", compression, "--format", "json"], b"");
        let figures: serde_json::Value = serde_json::from_slice(&compacted).unwrap();
        bytes.push(figures["after_bytes"].as_u64().unwrap());
        // The default reads both.
        assert_eq!(text("get", &data, &["key:01999"]), format!("{}\n", "same ".repeat(40)));
        let server = Server::start(&["--data", data.to_str().unwrap(), "--compression", "none"]);
        server.client().check("STRLEN key:00000", b":200\r\n");
    }
    assert!(bytes[0] > 400_000 && bytes[1] < bytes[0] / 5, "{bytes:?}");
    let output = run("import", folder.path(), &["--compression", "zip"], b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(64) && said.contains("expected lz4 or none"), "{said}");
}
