//! Do real transcripts still read the same? Each block of `golden/*.txt` is bytes and what the codec makes of them.
//!
//! `> bytes` goes to the request parser and `< bytes` to the reply parser; the lines under it, which begin with
//! `=`, are what came out: one line per value, the error, or how many bytes are missing. A reply that RESP2
//! spells otherwise shows that, too (`=2`). `UPDATE_GOLDEN=1 cargo test -p plumbkv-resp --test golden` writes
//! the `=` lines anew; read the difference before committing it.

// All of this file is test code; clippy only exempts functions that carry `#[test]` themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::Path;

use plumbkv_resp::{Limits, Parsed, Reply, ReplyWriter, RequestParser, Version, parse_reply};

#[test]
fn transcripts_read_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "txt"));
    files.sort();
    assert!(files.len() >= 4, "only {} transcripts in {}", files.len(), folder.display());
    for path in files {
        let recorded = std::fs::read_to_string(&path).unwrap();
        let (actual, cases) = evaluate(&recorded);
        assert!(cases > 0, "{} holds no case", path.display());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, actual).unwrap();
        } else {
            let line = recorded.lines().zip(actual.lines()).position(|(a, b)| a != b);
            assert!(
                recorded == actual,
                "{}: differs from line {:?}; it would be\n{actual}",
                path.display(),
                line.map(|l| l + 1)
            );
        }
    }
}

/// The file with its `=` lines computed anew, and how many inputs it holds.
fn evaluate(text: &str) -> (String, usize) {
    let (mut out, mut cases) = (String::new(), 0);
    for line in text.lines().filter(|line| !line.starts_with('=')) {
        out.push_str(line);
        out.push('\n');
        let outcome = match (line.strip_prefix("> "), line.strip_prefix("< ")) {
            (Some(bytes), _) => requests(&unescape(bytes)),
            (_, Some(bytes)) => replies(&unescape(bytes)),
            _ => {
                assert!(line.is_empty() || line.starts_with('#'), "a line that is no input: {line}");
                continue;
            }
        };
        cases += 1;
        out.push_str(&outcome);
    }
    (out, cases)
}

fn requests(bytes: &[u8]) -> String {
    let mut parser = RequestParser::new(Limits::default());
    let (mut at, mut out) = (0, String::new());
    while at < bytes.len() {
        match parser.parse(&bytes[at..]) {
            Parsed::Complete { value, consumed } => {
                let args: Vec<_> = value.iter().map(|arg| format!("\"{}\"", arg.escape_ascii())).collect();
                writeln!(out, "= [{}]", args.join(" ")).unwrap();
                at += consumed;
            }
            Parsed::Incomplete { needed } => {
                writeln!(out, "= needs {} more", needed - (bytes.len() - at)).unwrap();
                break;
            }
            Parsed::Invalid(error) => {
                writeln!(out, "= error: {error}").unwrap();
                break;
            }
        }
    }
    out
}

fn replies(bytes: &[u8]) -> String {
    let (mut at, mut out) = (0, String::new());
    while at < bytes.len() {
        match parse_reply(&bytes[at..], &Limits::default()) {
            Parsed::Complete { value, consumed } => {
                writeln!(out, "= {}", show(&value)).unwrap();
                let sent = &bytes[at..at + consumed];
                let (resp2, resp3) = (compose(&value, Version::Resp2), compose(&value, Version::Resp3));
                // What was sent must be what one of the two versions would send, unless it has another spelling.
                if sent != resp2 && sent != resp3 {
                    writeln!(out, "=3 {}", resp3.escape_ascii()).unwrap();
                }
                if sent != resp2 {
                    writeln!(out, "=2 {}", resp2.escape_ascii()).unwrap();
                }
                at += consumed;
            }
            Parsed::Incomplete { needed } => {
                writeln!(out, "= needs {} more", needed - (bytes.len() - at)).unwrap();
                break;
            }
            Parsed::Invalid(error) => {
                writeln!(out, "= error: {error}").unwrap();
                break;
            }
        }
    }
    out
}

fn show(reply: &Reply<'_>) -> String {
    let list = |items: &[Reply<'_>]| items.iter().map(show).collect::<Vec<_>>().join(", ");
    match reply {
        Reply::Simple(text) => format!("simple {}", text.escape_ascii()),
        Reply::Error(text) => format!("error {}", text.escape_ascii()),
        Reply::Integer(value) => format!("{value}"),
        Reply::Bulk(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Reply::Null => "null".to_owned(),
        Reply::Array(items) => format!("[{}]", list(items)),
        Reply::Set(items) => format!("set [{}]", list(items)),
        Reply::Push(items) => format!("push [{}]", list(items)),
        Reply::Map(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(k, v)| format!("{}: {}", show(k), show(v))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Reply::Double(value) => format!("double {value:?}"),
        Reply::Boolean(value) => format!("{value}"),
        Reply::BigNumber(digits) => format!("big {}", digits.escape_ascii()),
        Reply::Verbatim { format, text } => format!("{} \"{}\"", format.escape_ascii(), text.escape_ascii()),
    }
}

fn compose(reply: &Reply<'_>, version: Version) -> Vec<u8> {
    let mut out = Vec::new();
    write(reply, &mut ReplyWriter::new(&mut out, version));
    out
}

fn write(reply: &Reply<'_>, out: &mut ReplyWriter<'_>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match reply {
        Reply::Simple(value) => out.simple(&text(value)),
        Reply::Error(value) => out.error_bytes(value),
        Reply::Integer(value) => out.integer(*value),
        Reply::Bulk(value) => out.bulk(value),
        Reply::Null => out.null(),
        Reply::Double(value) => out.double(*value),
        Reply::Boolean(value) => out.boolean(*value),
        Reply::BigNumber(digits) => out.big_number(&text(digits)),
        Reply::Verbatim { format, text: body } => out.verbatim(&text(format), body),
        Reply::Array(items) => each(items, out, ReplyWriter::array),
        Reply::Set(items) => each(items, out, ReplyWriter::set),
        Reply::Push(items) => each(items, out, ReplyWriter::push),
        Reply::Map(pairs) => {
            out.map(pairs.len());
            for (key, value) in pairs {
                write(key, out);
                write(value, out);
            }
        }
    }
}

fn each<'o>(items: &[Reply<'_>], out: &mut ReplyWriter<'o>, announce: fn(&mut ReplyWriter<'o>, usize)) {
    announce(out, items.len());
    items.iter().for_each(|item| write(item, out));
}

/// Undoes `escape_ascii`, and reads any other byte as itself.
fn unescape(line: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), line.as_bytes());
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        let [kind, tail @ ..] = rest else { panic!("a backslash ends the line: {line}") };
        rest = tail;
        out.push(match kind {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let digits = std::str::from_utf8(&rest[..2]).unwrap();
                rest = &rest[2..];
                u8::from_str_radix(digits, 16).unwrap()
            }
            b'\\' | b'"' | b'\'' => *kind,
            _ => panic!("unknown escape in {line}"),
        });
    }
    out
}
