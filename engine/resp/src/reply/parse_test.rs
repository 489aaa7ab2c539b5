//! Do the three ways to read a reply (tree, scalar, skip) agree, and refuse what is not one?

use crate::{Limits, Parsed, ProtocolError, Reply, ReplyKind, Scalar, parse_reply, peek_scalar, skip_reply};

fn check(bytes: &[u8], expected: Reply<'_>, kind: ReplyKind) {
    let consumed = bytes.len();
    assert_eq!(parse_reply(bytes, &Limits::default()), Parsed::Complete { value: expected, consumed });
    assert_eq!(skip_reply(bytes, &Limits::default()), Parsed::Complete { value: kind, consumed });
    for cut in 0..bytes.len() {
        let Parsed::Incomplete { needed } = parse_reply(&bytes[..cut], &Limits::default()) else {
            panic!("{} of {} bytes are no reply", cut, bytes.escape_ascii())
        };
        assert!(needed > cut && needed <= bytes.len(), "{needed} of {}", bytes.len());
        assert_eq!(skip_reply(&bytes[..cut], &Limits::default()), Parsed::Incomplete { needed });
    }
}

fn refused(bytes: &[u8], expected: ProtocolError) {
    assert_eq!(parse_reply(bytes, &Limits::default()), Parsed::Invalid(expected), "{}", bytes.escape_ascii());
    assert_eq!(skip_reply(bytes, &Limits::default()), Parsed::Invalid(expected));
}

#[test]
fn every_type_is_read_whole_and_in_no_part() {
    use Reply::*;
    check(b"+OK\r\n", Simple(b"OK"), ReplyKind::Simple);
    check(b"-ERR no\r\n", Error(b"ERR no"), ReplyKind::Error);
    check(b"!6\r\nERR\r\nx\r\n", Error(b"ERR\r\nx"), ReplyKind::Error);
    check(b":-5\r\n", Integer(-5), ReplyKind::Integer);
    check(b"$3\r\na\r\n\r\n", Bulk(b"a\r\n"), ReplyKind::Bulk);
    check(b"$-1\r\n", Null, ReplyKind::Null);
    check(b"*-1\r\n", Null, ReplyKind::Null);
    check(b"_\r\n", Null, ReplyKind::Null);
    check(b"#t\r\n", Boolean(true), ReplyKind::Boolean);
    check(b",1.5e3\r\n", Double(1500.0), ReplyKind::Double);
    check(b",-inf\r\n", Double(f64::NEG_INFINITY), ReplyKind::Double);
    check(b"(-12345678901234567890\r\n", BigNumber(b"-12345678901234567890"), ReplyKind::BigNumber);
    check(b"=7\r\ntxt:a\nb\r\n", Verbatim { format: b"txt", text: b"a\nb" }, ReplyKind::Verbatim);
    check(b"*0\r\n", Array(vec![]), ReplyKind::Array);
    check(b"*2\r\n*1\r\n:1\r\n+a\r\n", Array(vec![Array(vec![Integer(1)]), Simple(b"a")]), ReplyKind::Array);
    check(b"%1\r\n+k\r\n*1\r\n_\r\n", Map(vec![(Simple(b"k"), Array(vec![Null]))]), ReplyKind::Map);
    check(b"~1\r\n:1\r\n", Set(vec![Integer(1)]), ReplyKind::Set);
    check(b">1\r\n+m\r\n", Push(vec![Simple(b"m")]), ReplyKind::Push);
    check(b"|1\r\n+ttl\r\n*1\r\n:9\r\n:7\r\n", Integer(7), ReplyKind::Integer);
    check(b"*1\r\n|1\r\n+ttl\r\n:9\r\n:7\r\n", Array(vec![Integer(7)]), ReplyKind::Array);
}

#[test]
fn what_is_no_reply_is_refused() {
    refused(b"x\r\n", ProtocolError::UnknownReplyType(b'x'));
    refused(b":1x\r\n", ProtocolError::MalformedReply(b':'));
    refused(b":\r\n", ProtocolError::MalformedReply(b':'));
    refused(b"#x\r\n", ProtocolError::MalformedReply(b'#'));
    refused(b"_x\r\n", ProtocolError::MalformedReply(b'_'));
    refused(b"$-2\r\n", ProtocolError::MalformedReply(b'$'));
    refused(b"$536870913\r\n", ProtocolError::MalformedReply(b'$'));
    refused(b"*2147483648\r\n", ProtocolError::MalformedReply(b'*'));
    refused(b"%-1\r\n", ProtocolError::MalformedReply(b'%'));
    refused(b"(\r\n", ProtocolError::MalformedReply(b'('));
    refused(b",x\r\n", ProtocolError::MalformedReply(b','));
    refused(b"=3\r\nabc\r\n", ProtocolError::MalformedReply(b'='));
    refused(b"+a\rb\r\n", ProtocolError::MalformedReply(b'+'));
    refused(b"$1\r\nabc", ProtocolError::BulkNotTerminated);
}

#[test]
fn nesting_is_bounded() {
    let limits = Limits { max_depth: 3, ..Limits::default() };
    let nested = |depth: usize| [b"*1\r\n".repeat(depth), b":1\r\n".to_vec()].concat();
    assert!(matches!(parse_reply(&nested(3), &limits), Parsed::Complete { .. }));
    assert_eq!(parse_reply(&nested(4), &limits), Parsed::Invalid(ProtocolError::NestedTooDeeply));
    // A tree of any depth must not overflow the stack of who only steps over it.
    assert!(matches!(skip_reply(&nested(1_000_000), &limits), Parsed::Complete { .. }));
}

#[test]
fn announced_elements_are_not_reserved() {
    assert!(matches!(
        parse_reply(b"*2147483647\r\n:1\r\n", &Limits::default()),
        Parsed::Incomplete { needed: 18 }
    ));
}

#[test]
fn scalars_are_peeked_at_and_others_named() {
    let peek = |bytes| peek_scalar(bytes, &Limits::default());
    assert_eq!(peek(b"+OK\r\n+NEXT"), Parsed::Complete { value: Scalar::Simple(b"OK"), consumed: 5 });
    assert_eq!(peek(b"-ERR\r\n"), Parsed::Complete { value: Scalar::Error(b"ERR"), consumed: 6 });
    assert_eq!(peek(b":3\r\n"), Parsed::Complete { value: Scalar::Integer(3), consumed: 4 });
    assert_eq!(peek(b"$2\r\nab\r\n"), Parsed::Complete { value: Scalar::Bulk(b"ab"), consumed: 8 });
    assert_eq!(peek(b"_\r\n"), Parsed::Complete { value: Scalar::Null, consumed: 3 });
    assert_eq!(peek(b"$20\r\nab"), Parsed::Incomplete { needed: 27 });
    assert_eq!(peek(b"*1\r\n:1\r\n"), Parsed::Invalid(ProtocolError::NotScalar(b'*')));
    assert_eq!(peek(b"#t\r\n"), Parsed::Invalid(ProtocolError::NotScalar(b'#')));
}
