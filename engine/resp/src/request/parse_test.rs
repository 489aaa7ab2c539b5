//! Does the request parser say what Redis would say, and in as few looks as it promises?

use crate::{Limits, Parsed, RequestParser, RequestSkipper, Skipped, compose};

/// Reads every request in `bytes`: its arguments with spaces between, or the error, or how many bytes are missing.
fn read_all(bytes: &[u8], limits: Limits) -> Vec<String> {
    let mut parser = RequestParser::new(limits);
    let (mut at, mut seen) = (0, Vec::new());
    while at < bytes.len() {
        match parser.parse(&bytes[at..]) {
            Parsed::Complete { value, consumed } => {
                let args: Vec<_> = value.iter().map(|arg| arg.escape_ascii().to_string()).collect();
                seen.push(args.join(" "));
                at += consumed;
            }
            Parsed::Incomplete { needed } => {
                seen.push(format!("needs {}", needed - (bytes.len() - at)));
                break;
            }
            Parsed::Invalid(error) => {
                seen.push(error.to_string());
                break;
            }
        }
    }
    seen
}

fn check(bytes: &[u8], expected: &[&str]) {
    assert_eq!(read_all(bytes, Limits::default()), expected, "{}", bytes.escape_ascii());
}

#[test]
fn pipelined_requests_come_out_one_by_one() {
    check(
        b"*1\r\n$4\r\nPING\r\nPING\r\n\r\n*0\r\n*-1\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n",
        &["PING", "PING", "", "", "", "GET "],
    );
}

#[test]
fn a_value_may_hold_any_byte() {
    check(b"*2\r\n$4\r\nECHO\r\n$6\r\n\r\n\0*\xff$\r\n", &["ECHO \\r\\n\\x00*\\xff$"]);
}

#[test]
fn missing_bytes_are_counted_when_the_length_is_known() {
    check(b"*", &["needs 1"]);
    check(b"*1\r", &["needs 1"]);
    check(b"*1\r\n", &["needs 1"]);
    check(b"*1\r\n$10\r\n", &["needs 12"]);
    check(b"*1\r\n$10\r\n1234567890", &["needs 2"]);
    check(b"*1\r\n$10\r\n1234567890\r", &["needs 1"]);
    check(b"PING", &["needs 1"]);
}

#[test]
fn errors_are_in_the_words_of_redis() {
    check(b"*x\r\n", &["Protocol error: invalid multibulk length"]);
    check(b"*03\r\n", &["Protocol error: invalid multibulk length"]);
    check(b"*\r\n", &["Protocol error: invalid multibulk length"]);
    check(b"*1\rx", &["Protocol error: invalid multibulk length"]);
    check(b"*1048577\r\n", &["Protocol error: invalid multibulk length"]);
    check(b"*99999999999999999999\r\n", &["Protocol error: invalid multibulk length"]);
    check(b"*1\r\n$x\r\n", &["Protocol error: invalid bulk length"]);
    check(b"*1\r\n$-1\r\n", &["Protocol error: invalid bulk length"]);
    check(b"*1\r\n$536870913\r\n", &["Protocol error: invalid bulk length"]);
    check(b"*1\r\nx", &["Protocol error: expected '$', got 'x'"]);
    check(b"*1\r\n$1\r\nabc", &["Protocol error: expected CRLF after bulk"]);
    check(b"get \"a\r\n", &["Protocol error: unbalanced quotes in request"]);
}

#[test]
fn a_line_without_end_is_refused_at_the_limit_and_not_before() {
    let limits = Limits { max_inline_bytes: 8, ..Limits::default() };
    let check = |bytes: &[u8], expected: &str| assert_eq!(read_all(bytes, limits), [expected]);
    check(b"*11111111", "needs 1");
    check(b"*111111111", "Protocol error: too big mbulk count string");
    check(b"*1\r\n$111111111", "Protocol error: too big bulk count string");
    check(b"PING PIN", "needs 1");
    check(b"PING PING", "Protocol error: too big inline request");
    check(b"PING PING\r\n", "Protocol error: too big inline request");
}

#[test]
fn a_peer_without_password_gets_little() {
    let check =
        |bytes: &[u8], expected: &str| assert_eq!(read_all(bytes, Limits::unauthenticated()), [expected]);
    check(b"*11\r\n", "Protocol error: unauthenticated multibulk length");
    check(b"*1\r\n$16385\r\n", "Protocol error: unauthenticated bulk length");
    check(b"*1\r\n$16384\r\n", "needs 16386");
    check(b"*99999999999\r\n", "Protocol error: invalid multibulk length");
}

#[test]
fn inline_words_follow_sdssplitargs() {
    check(b"  SET  a\t'b c' \r\n", &["SET a b c"]);
    check(br#"SET "\x00\xfF\n\r\t\b\a\"\\\q" 'it\'s \n'"#, &["needs 1"]);
    check(
        b"SET \"\\x00\\xfF\\n\\r\\t\\b\\a\\\"\\\\\\q\" 'it\\'s \\n'\n",
        &[r#"SET \x00\xff\n\r\t\x08\x07\"\\q it\'s \\n"#],
    );
    check(b"SET ab\"cd\" \"\"\n", &["SET abcd "]);
    check(b"\"\\xg1\"\n", &["xg1"]);
    check(b"SET a\0b c\n", &["SET a"]);
    check(b"\"a\"b\n", &["Protocol error: unbalanced quotes in request"]);
    check(b"'a\n", &["Protocol error: unbalanced quotes in request"]);
    check(b"\"a\\\n", &["Protocol error: unbalanced quotes in request"]);
}

#[test]
fn a_shrunken_buffer_starts_the_request_anew() {
    let mut parser = RequestParser::new(Limits::default());
    assert!(matches!(parser.parse(b"*2\r\n$3\r\nGET\r\n$1\r\n"), Parsed::Incomplete { .. }));
    assert!(matches!(parser.parse(b"*1\r\n$4\r\nPI"), Parsed::Incomplete { .. }));
    let Parsed::Complete { value, consumed } = parser.parse(b"*1\r\n$4\r\nPING\r\n") else {
        panic!("not whole")
    };
    assert_eq!(
        (value.len(), value.get(0), value.get(1), value.arg(1), consumed),
        (1, Some(&b"PING"[..]), None, &b""[..], 14)
    );
}

#[test]
fn huge_announcements_allocate_nothing() {
    let mut parser = RequestParser::new(Limits::default());
    assert_eq!(
        parser.parse(b"*1048576\r\n$536870912\r\n").map_needed(),
        Some(b"*1048576\r\n$536870912\r\n".len() + 536_870_912 + 2)
    );
    assert_eq!(parser.argument_capacity(), 0);
}

#[test]
fn a_request_with_very_many_arguments_can_be_forgotten() {
    let mut wire = Vec::new();
    compose(&vec![&b"x"[..]; 100_000], &mut wire);
    let mut parser = RequestParser::new(Limits::default());
    assert!(matches!(parser.parse(&wire), Parsed::Complete { .. }));
    assert!(parser.held_bytes() >= 100_000 * 16);
    parser.trim();
    assert!(parser.held_bytes() <= 64 << 10, "{}", parser.held_bytes());
}

#[test]
fn trimming_leaves_a_request_that_was_begun_alone() {
    let mut parser = RequestParser::new(Limits::default());
    assert!(matches!(parser.parse(b"*2\r\n$4\r\nECHO\r\n$1\r\n"), Parsed::Incomplete { .. }));
    parser.trim();
    let Parsed::Complete { value, .. } = parser.parse(b"*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n") else {
        panic!("not whole")
    };
    assert_eq!((value.arg(0), value.arg(1)), (&b"ECHO"[..], &b"x"[..]));
}

#[test]
fn what_is_not_kept_is_stepped_over_however_long_it_is() {
    let mut parser = RequestParser::new(Limits::default());
    let head = b"*2\r\n$3\r\nGET\r\n$536870912\r\nabc";
    assert!(matches!(parser.parse(head), Parsed::Incomplete { .. }));
    let (mut skipper, start) = parser.abandon();
    assert_eq!(skipper.skip(&head[start..]), Skipped::All);
    let piece = vec![b'*'; 1 << 20];
    for _ in 0..511 {
        assert_eq!(skipper.skip(&piece), Skipped::All);
    }
    let last = [&piece[3..], b"\r\nPING\r\n"].concat();
    assert_eq!(skipper.skip(&last), Skipped::Ended { consumed: piece.len() - 3 + 2 });
    assert_eq!(skipper.skip(b"PING\r\n"), Skipped::Ended { consumed: 6 });
    assert!(size_of::<RequestSkipper>() <= 128);
}

impl<T> Parsed<T> {
    fn map_needed(self) -> Option<usize> {
        if let Parsed::Incomplete { needed } = self { Some(needed) } else { None }
    }
}
