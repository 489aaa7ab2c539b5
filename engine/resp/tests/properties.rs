//! Does the codec keep its promises for all inputs? What is composed reads back, cuts change nothing, and no
//! bytes panic it or make it consume what is not there.

use plumbkv_resp::{
    Limits, Parsed, ProtocolError, Reply, ReplyWriter, RequestParser, RequestSkipper, Skipped, Version,
    compose, parse_reply, peek_scalar, skip_reply,
};
use proptest::prelude::*;

type Arguments = Vec<Vec<u8>>;

fn arguments() -> impl Strategy<Value = Arguments> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6)
}

/// Bytes that look like the protocol often enough to get past the first check.
fn protocol_like() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        4 => prop::sample::select(vec![
            "\r\n", "\r", "\n", "*", "$", "1", "0", "-1", "12", "2\r\n", "*1\r\n", "*2\r\n$3\r\nGET\r\n",
            "$1\r\nx\r\n", "%1\r\n", "|1\r\n", "~", ">1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(99\r\n",
            "=5\r\ntxt:a\r\n", "!1\r\nE\r\n", "+OK\r\n", "-ERR\r\n", ":7\r\n", "\"", "'", "\\x4", "PING ", "$536870912\r\n",
            "*2147483647\r\n", "9223372036854775807\r\n", "18446744073709551616\r\n",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

#[test]
fn the_skipper_agrees_on_every_short_line() {
    let limits = Limits { max_arguments: 2, max_bulk_bytes: 3, max_inline_bytes: 4, ..Limits::default() };
    for alphabet in [&b"\"' \n\\a\0"[..], b"*$12\r\n-"] {
        let mut line = Vec::new();
        for number in 0..7usize.pow(5) {
            line.clear();
            let mut rest = number;
            while rest > 0 {
                line.push(alphabet[rest % 7]);
                rest /= 7;
            }
            let expected = parsed_ends(&line, limits);
            assert_eq!(skipped_ends(&line, &[1], 0, limits), expected, "{}", line.escape_ascii());
        }
    }
}

/// Small limits, so that their edges are met, or the default ones.
fn limits() -> impl Strategy<Value = Limits> {
    let small = Limits {
        max_arguments: 4,
        max_bulk_bytes: 16,
        max_inline_bytes: 24,
        max_depth: 3,
        authenticated: true,
    };
    prop_oneof![Just(Limits::default()), Just(small), Just(Limits { authenticated: false, ..small })]
}

/// Every request in `bytes`, given piece by piece as `cuts` says; the last entry tells how it ended.
fn read_requests(bytes: &[u8], cuts: &[usize], limits: Limits) -> (Vec<Arguments>, String) {
    let mut parser = RequestParser::new(limits);
    let mut seen = Vec::new();
    let (mut start, mut arrived) = (0, 0);
    let mut cuts = cuts.iter().cycle();
    loop {
        match parser.parse(&bytes[start..arrived]) {
            Parsed::Complete { value, consumed } => {
                assert!(consumed > 0 && consumed <= arrived - start);
                seen.push(value.iter().map(<[u8]>::to_vec).collect());
                start += consumed;
            }
            Parsed::Incomplete { needed } => {
                assert!(needed > arrived - start);
                if arrived == bytes.len() {
                    return (seen, format!("rest of {} bytes", arrived - start));
                }
                arrived = bytes.len().min(arrived + cuts.next().copied().unwrap_or(bytes.len()).max(1));
            }
            Parsed::Invalid(error) => return (seen, error.to_string()),
        }
    }
}

/// Where the requests of a stream end, in bytes from its start, and how reading it stopped: by an error after so many
/// bytes, or because there were no more.
type Ends = (Vec<usize>, Option<(usize, ProtocolError)>);

/// As the parser sees it, one byte at a time.
fn parsed_ends(bytes: &[u8], limits: Limits) -> Ends {
    let (mut parser, mut ends, mut start) = (RequestParser::new(limits), Vec::new(), 0);
    for arrived in 1..=bytes.len() {
        match parser.parse(&bytes[start..arrived]) {
            Parsed::Complete { consumed, .. } => {
                start += consumed;
                ends.push(start);
            }
            Parsed::Incomplete { .. } => {}
            Parsed::Invalid(error) => return (ends, Some((arrived, error))),
        }
    }
    (ends, None)
}

/// As the skipper sees it, in pieces as `cuts` says. With `parsed`, the parser reads that many bytes of the stream
/// first, and the skipper takes over the request in which they end.
fn skipped_ends(bytes: &[u8], cuts: &[usize], parsed: usize, limits: Limits) -> Ends {
    let (mut skipper, mut ends, mut at) = (RequestSkipper::new(limits), Vec::new(), 0);
    let mut parser = RequestParser::new(limits);
    let mut arrived = 0;
    while arrived < parsed {
        arrived += 1;
        match parser.parse(&bytes[at..arrived]) {
            Parsed::Complete { consumed, .. } => {
                at += consumed;
                ends.push(at);
            }
            Parsed::Incomplete { .. } if arrived == parsed => {
                let (rest, start) = parser.abandon();
                assert!(parser.held_bytes() <= 64 << 10);
                (skipper, at) = (rest, at + start);
            }
            Parsed::Incomplete { .. } => {}
            Parsed::Invalid(error) => return (ends, Some((arrived, error))),
        }
    }
    let mut cuts = cuts.iter().cycle();
    while at < bytes.len() {
        let mut piece = &bytes[at..bytes.len().min(at + cuts.next().copied().unwrap_or(bytes.len()).max(1))];
        while !piece.is_empty() {
            match skipper.skip(piece) {
                Skipped::All => {
                    at += piece.len();
                    piece = &[];
                }
                Skipped::Ended { consumed } => {
                    assert!(consumed > 0 && consumed <= piece.len());
                    at += consumed;
                    ends.push(at);
                    piece = &piece[consumed..];
                }
                // A skipper that is given more than it needs says no at the same byte; which one that is, only single bytes tell.
                Skipped::Invalid(error) => {
                    return (ends, Some((if piece.len() == 1 { at + 1 } else { usize::MAX }, error)));
                }
            }
        }
    }
    (ends, None)
}

/// The skipper ends where the parser does, whatever the pieces and wherever it takes over.
fn check_skipper(bytes: &[u8], cuts: &[usize], limits: Limits) {
    let expected = parsed_ends(bytes, limits);
    let shown = bytes.escape_ascii();
    assert_eq!(skipped_ends(bytes, &[1], 0, limits), expected, "{shown} byte by byte");
    let loose = |ends: Ends| (ends.0, ends.1.map(|(_, error)| error));
    for parsed in 0..=bytes.len() {
        let ends = skipped_ends(bytes, cuts, parsed, limits);
        assert_eq!(
            loose(ends),
            loose(expected.clone()),
            "{shown} in pieces of {cuts:?} after {parsed} bytes"
        );
    }
}

/// Lines of little but what the rules of inline requests are about.
fn inline_like() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(&b"\"'\\ \n\r\t\0\x0b\x0cax4"[..]);
    prop::collection::vec(byte, 0..40)
}

/// Writes a parsed reply back.
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
        Reply::Array(items) => {
            out.array(items.len());
            items.iter().for_each(|item| write(item, out));
        }
        Reply::Set(items) => {
            out.set(items.len());
            items.iter().for_each(|item| write(item, out));
        }
        Reply::Push(items) => {
            out.push(items.len());
            items.iter().for_each(|item| write(item, out));
        }
        Reply::Map(pairs) => {
            out.map(pairs.len());
            for (key, value) in pairs {
                write(key, out);
                write(value, out);
            }
        }
    }
}

/// A reply without borrowed text, which a strategy can own.
#[derive(Debug, Clone)]
enum Owned {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    Double(f64),
    Boolean(bool),
    BigNumber(String),
    Verbatim(Vec<u8>),
    Array(Vec<Owned>),
    Set(Vec<Owned>),
    Push(Vec<Owned>),
    Map(Vec<(Owned, Owned)>),
}

impl Owned {
    fn borrow(&self) -> Reply<'_> {
        match self {
            Owned::Simple(text) => Reply::Simple(text.as_bytes()),
            Owned::Error(text) => Reply::Error(text.as_bytes()),
            Owned::Integer(value) => Reply::Integer(*value),
            Owned::Bulk(bytes) => Reply::Bulk(bytes),
            Owned::Null => Reply::Null,
            Owned::Double(value) => Reply::Double(*value),
            Owned::Boolean(value) => Reply::Boolean(*value),
            Owned::BigNumber(digits) => Reply::BigNumber(digits.as_bytes()),
            Owned::Verbatim(text) => Reply::Verbatim { format: b"txt", text },
            Owned::Array(items) => Reply::Array(items.iter().map(Owned::borrow).collect()),
            Owned::Set(items) => Reply::Set(items.iter().map(Owned::borrow).collect()),
            Owned::Push(items) => Reply::Push(items.iter().map(Owned::borrow).collect()),
            Owned::Map(pairs) => Reply::Map(pairs.iter().map(|(k, v)| (k.borrow(), v.borrow())).collect()),
        }
    }
}

fn replies() -> impl Strategy<Value = Owned> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..30);
    let scalar = prop_oneof![
        "[ -~]{0,20}".prop_map(Owned::Simple),
        "[A-Z]{1,8} [ -~]{0,20}".prop_map(Owned::Error),
        any::<i64>().prop_map(Owned::Integer),
        bytes().prop_map(Owned::Bulk),
        Just(Owned::Null),
        any::<f64>().prop_filter("NaN equals nothing", |v| !v.is_nan()).prop_map(Owned::Double),
        any::<bool>().prop_map(Owned::Boolean),
        "-?[0-9]{1,40}".prop_map(Owned::BigNumber),
        bytes().prop_map(Owned::Verbatim),
    ];
    scalar.prop_recursive(3, 40, 5, |inner| {
        let items = || prop::collection::vec(inner.clone(), 0..5);
        prop_oneof![
            items().prop_map(Owned::Array),
            items().prop_map(Owned::Set),
            items().prop_map(Owned::Push),
            prop::collection::vec((inner.clone(), inner.clone()), 0..4).prop_map(Owned::Map),
        ]
    })
}

proptest! {
    #[test]
    fn composed_requests_read_back(requests in prop::collection::vec(arguments(), 1..5)) {
        let mut wire = Vec::new();
        for request in &requests {
            let slices: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            compose(&slices, &mut wire);
        }
        prop_assert_eq!(read_requests(&wire, &[], Limits::default()), (requests, "rest of 0 bytes".to_owned()));
    }

    #[test]
    fn cuts_change_no_request(bytes in protocol_like(), cuts in prop::collection::vec(1usize..9, 1..6), limits in limits()) {
        prop_assert_eq!(read_requests(&bytes, &cuts, limits), read_requests(&bytes, &[], limits));
    }

    #[test]
    fn cuts_change_no_composed_request(requests in prop::collection::vec(arguments(), 1..4), cuts in prop::collection::vec(1usize..9, 1..6)) {
        let mut wire = Vec::new();
        for request in &requests {
            let slices: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            compose(&slices, &mut wire);
        }
        prop_assert_eq!(read_requests(&wire, &cuts, Limits::default()).0, requests);
    }

    #[test]
    fn the_skipper_ends_where_the_parser_does(bytes in protocol_like(), cuts in prop::collection::vec(1usize..9, 1..6), limits in limits()) {
        check_skipper(&bytes, &cuts, limits);
    }

    #[test]
    fn the_skipper_knows_the_rules_of_quotes(bytes in inline_like(), cuts in prop::collection::vec(1usize..9, 1..6), limits in limits()) {
        check_skipper(&bytes, &cuts, limits);
    }

    #[test]
    fn the_skipper_steps_over_what_is_composed(requests in prop::collection::vec(arguments(), 1..4), cuts in prop::collection::vec(1usize..90, 1..6)) {
        let (mut wire, mut ends) = (Vec::new(), Vec::new());
        for request in &requests {
            let slices: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            compose(&slices, &mut wire);
            ends.push(wire.len());
        }
        prop_assert_eq!(parsed_ends(&wire, Limits::default()), (ends, None));
        check_skipper(&wire, &cuts, Limits::default());
    }

    #[test]
    fn composed_replies_read_back(reply in replies()) {
        let expected = reply.borrow();
        let mut wire = Vec::new();
        write(&expected, &mut ReplyWriter::new(&mut wire, Version::Resp3));
        let consumed = wire.len();
        prop_assert_eq!(parse_reply(&wire, &Limits::default()), Parsed::Complete { value: expected, consumed });
    }

    #[test]
    fn resp2_fallbacks_are_one_whole_reply(reply in replies()) {
        let mut wire = Vec::new();
        write(&reply.borrow(), &mut ReplyWriter::new(&mut wire, Version::Resp2));
        let whole = matches!(skip_reply(&wire, &Limits::default()), Parsed::Complete { consumed, .. } if consumed == wire.len());
        prop_assert!(whole, "{}", wire.escape_ascii());
        prop_assert!(!wire.is_empty() && b"+-:$*".contains(&wire[0]));
    }

    #[test]
    fn a_cut_reply_needs_more_but_never_too_much(reply in replies(), cut in any::<prop::sample::Index>()) {
        let mut wire = Vec::new();
        write(&reply.borrow(), &mut ReplyWriter::new(&mut wire, Version::Resp3));
        let cut = cut.index(wire.len());
        let whole = matches!(parse_reply(&wire[..cut], &Limits::default()), Parsed::Incomplete { needed } if needed > cut && needed <= wire.len());
        prop_assert!(whole, "{} of {}", cut, wire.escape_ascii());
    }

    #[test]
    fn the_ways_to_read_a_reply_agree(bytes in protocol_like(), limits in limits()) {
        let (tree, skip) = (parse_reply(&bytes, &limits), skip_reply(&bytes, &limits));
        match (&tree, &skip) {
            // Stepping over needs no stack and so has no limit of depth.
            (Parsed::Invalid(ProtocolError::NestedTooDeeply), _) => {}
            (Parsed::Complete { consumed: a, .. }, Parsed::Complete { consumed: b, .. }) => {
                prop_assert!(a == b && *a > 0 && *a <= bytes.len());
            }
            (Parsed::Incomplete { needed: a }, Parsed::Incomplete { needed: b }) => {
                prop_assert!(a == b && *a > bytes.len());
            }
            (Parsed::Invalid(a), Parsed::Invalid(b)) => prop_assert_eq!(a, b),
            other => prop_assert!(false, "{other:?}"),
        }
        if let Parsed::Complete { consumed, .. } = peek_scalar(&bytes, &limits) {
            let same = matches!(tree, Parsed::Complete { consumed: tree, .. } if tree == consumed);
            prop_assert!(same);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), limits in limits()) {
        let _ = read_requests(&bytes, &[3, 1], limits);
        let _ = (parse_reply(&bytes, &limits), skip_reply(&bytes, &limits), peek_scalar(&bytes, &limits));
    }
}
