//! How is a reply shown to a person, and how to a program? The first as redis-cli does, the second as bare bytes.

use plumbkv_resp::Reply;

/// How replies are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Bare bytes, one element per line, for programs.
    pub(crate) raw: bool,
    /// Errors in red.
    pub(crate) colour: bool,
}

/// Appends `reply`, ended by a line feed.
pub(crate) fn reply(reply: &Reply<'_>, style: Style, out: &mut Vec<u8>) {
    if style.raw {
        raw(reply, out);
        out.push(b'\n');
    } else {
        human(reply, "", style, out);
    }
}

/// Appends an error reply: `(error) ERR …`.
pub(super) fn error(text: &[u8], style: Style, out: &mut Vec<u8>) {
    let (on, off) = if style.colour { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    out.extend_from_slice(on.as_bytes());
    out.extend_from_slice(b"(error) ");
    // A server must not be able to send control sequences to the terminal through an error's text.
    out.extend(text.iter().map(|&byte| if byte.is_ascii_control() { b' ' } else { byte }));
    out.extend_from_slice(off.as_bytes());
    out.push(b'\n');
}

fn human(reply: &Reply<'_>, indent: &str, style: Style, out: &mut Vec<u8>) {
    let mut line = |text: String| {
        out.extend_from_slice(text.as_bytes());
        out.push(b'\n');
    };
    match reply {
        Reply::Simple(text) => line(text.escape_ascii().to_string()),
        Reply::Error(text) => error(text, style, out),
        Reply::Integer(value) => line(format!("(integer) {value}")),
        Reply::Double(value) => line(format!("(double) {value}")),
        Reply::Boolean(value) => line(format!("({value})")),
        Reply::BigNumber(digits) => line(format!("(bignumber) {}", digits.escape_ascii())),
        Reply::Null => line("(nil)".to_owned()),
        Reply::Bulk(bytes) => {
            quoted(bytes, out);
            out.push(b'\n');
        }
        Reply::Verbatim { text, .. } => {
            out.extend_from_slice(text);
            out.push(b'\n');
        }
        Reply::Array(items) if items.is_empty() => line("(empty array)".to_owned()),
        Reply::Set(items) if items.is_empty() => line("(empty set)".to_owned()),
        Reply::Push(items) if items.is_empty() => line("(empty push)".to_owned()),
        Reply::Map(pairs) if pairs.is_empty() => line("(empty hash)".to_owned()),
        Reply::Array(items) | Reply::Push(items) => numbered(items, ')', indent, style, out),
        Reply::Set(items) => numbered(items, '~', indent, style, out),
        Reply::Map(pairs) => {
            let width = pairs.len().to_string().len();
            let deeper = format!("{indent}{:width$}  ", "");
            for (index, (key, value)) in pairs.iter().enumerate() {
                let first = if index == 0 { "" } else { indent };
                out.extend_from_slice(format!("{first}{:>width$}# ", index + 1).as_bytes());
                human(key, &deeper, style, out);
                out.pop();
                out.extend_from_slice(b" => ");
                // A nested value starts a line of its own, or its elements could not be told from the key.
                if matches!(value, Reply::Array(v) | Reply::Set(v) if !v.is_empty())
                    || matches!(value, Reply::Map(v) if !v.is_empty())
                {
                    out.push(b'\n');
                    out.extend_from_slice(deeper.as_bytes());
                }
                human(value, &deeper, style, out);
            }
        }
    }
}

fn numbered(items: &[Reply<'_>], mark: char, indent: &str, style: Style, out: &mut Vec<u8>) {
    let width = items.len().to_string().len();
    let deeper = format!("{indent}{:width$}  ", "");
    for (index, item) in items.iter().enumerate() {
        // The first element of a nested list stands behind its parent's number.
        let first = if index == 0 { "" } else { indent };
        out.extend_from_slice(format!("{first}{:>width$}{mark} ", index + 1).as_bytes());
        human(item, &deeper, style, out);
    }
}

/// A string in quotes, with everything but printable ASCII escaped so that it can be typed back.
fn quoted(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x07 => out.extend_from_slice(b"\\a"),
            0x08 => out.extend_from_slice(b"\\b"),
            b' '..=b'~' => out.push(byte),
            other => out.extend_from_slice(format!("\\x{other:02x}").as_bytes()),
        }
    }
    out.push(b'"');
}

fn raw(reply: &Reply<'_>, out: &mut Vec<u8>) {
    match reply {
        Reply::Simple(bytes) | Reply::Error(bytes) | Reply::Bulk(bytes) | Reply::BigNumber(bytes) => {
            out.extend_from_slice(bytes);
        }
        Reply::Verbatim { text, .. } => out.extend_from_slice(text),
        Reply::Integer(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Reply::Double(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Reply::Boolean(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Reply::Null => {}
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => {
            for (index, item) in items.iter().enumerate() {
                separate(index, out);
                raw(item, out);
            }
        }
        Reply::Map(pairs) => {
            for (index, (key, value)) in pairs.iter().enumerate() {
                separate(index, out);
                raw(key, out);
                out.push(b'\n');
                raw(value, out);
            }
        }
    }
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Reply<'_>, as_human: &str, as_raw: &str) {
        for (is_raw, expected) in [(false, as_human), (true, as_raw)] {
            let mut out = Vec::new();
            reply(&value, Style { raw: is_raw, colour: false }, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }

    #[test]
    fn scalars_are_shown_as_redis_cli_does() {
        check(Reply::Simple(b"OK"), "OK\n", "OK\n");
        check(Reply::Integer(1), "(integer) 1\n", "1\n");
        check(Reply::Bulk(b"a\"b\n\xff"), "\"a\\\"b\\n\\xff\"\n", &String::from_utf8_lossy(b"a\"b\n\xff\n"));
        check(Reply::Null, "(nil)\n", "\n");
        check(Reply::Double(1.5), "(double) 1.5\n", "1.5\n");
        check(Reply::Boolean(true), "(true)\n", "true\n");
        check(Reply::Verbatim { format: b"txt", text: b"a b" }, "a b\n", "a b\n");
        check(Reply::Error(b"ERR x\x1b[2J"), "(error) ERR x [2J\n", "ERR x\u{1b}[2J\n");
    }

    #[test]
    fn lists_are_numbered_and_nested_lists_indented() {
        let nested = || {
            Reply::Array(vec![Reply::Bulk(b"0"), Reply::Array(vec![Reply::Bulk(b"a"), Reply::Bulk(b"b")])])
        };
        check(nested(), "1) \"0\"\n2) 1) \"a\"\n   2) \"b\"\n", "0\na\nb\n");
        check(Reply::Array(vec![]), "(empty array)\n", "\n");
        let ten = Reply::Array((0..10).map(Reply::Integer).collect());
        let mut out = Vec::new();
        reply(&ten, Style { raw: false, colour: false }, &mut out);
        assert!(
            out.starts_with(b" 1) (integer) 0\n 2) (integer) 1\n") && out.ends_with(b"10) (integer) 9\n")
        );
    }

    #[test]
    fn maps_name_their_values() {
        let map = Reply::Map(vec![
            (Reply::Bulk(b"proto"), Reply::Integer(3)),
            (Reply::Bulk(b"modules"), Reply::Array(vec![Reply::Integer(1)])),
        ]);
        check(
            map,
            "1# \"proto\" => (integer) 3\n2# \"modules\" => \n   1) (integer) 1\n",
            "proto\n3\nmodules\n1\n",
        );
    }
}
