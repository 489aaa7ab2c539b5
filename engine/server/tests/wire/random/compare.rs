//! Whether two replies are the same, as far as the request allows it.

use plumbkv_resp::{Limits, Parsed, Reply, parse_reply, skip_reply};

use super::commands::Compared;
use super::words::is_moment;

/// Whether the replies to a request are the same.
pub(super) fn are_same(compared: Compared, ours: &[u8], theirs: &[u8]) -> bool {
    if ours == theirs {
        return true;
    }
    match (compared, ours.first(), theirs.first()) {
        (_, Some(b'-'), _) | (_, _, Some(b'-')) => false,
        (Compared::Exactly, ..) => false,
        (Compared::IfErrors, ..) => true,
        (Compared::ByKind, one, other) => one == other && is_null(ours) == is_null(theirs),
        (Compared::Nearly { .. } | Compared::Dumps, ..) => match (parsed(ours), parsed(theirs)) {
            (Some(ours), Some(theirs)) => are_near(&ours, &theirs, compared),
            _ => false,
        },
        (Compared::Unordered, ..) => match (parsed(ours), parsed(theirs)) {
            (Some(ours), Some(theirs)) => sorted(ours) == sorted(theirs),
            _ => false,
        },
    }
}

/// Whether the replies to EXEC are the same, given how those of the queued requests are compared.
pub(super) fn are_same_all(queued: &[Compared], ours: &[u8], theirs: &[u8]) -> bool {
    if ours == theirs {
        return true;
    }
    match (elements(ours), elements(theirs)) {
        (Some(ours), Some(theirs)) if ours.len() == theirs.len() && ours.len() == queued.len() => ours
            .iter()
            .zip(&theirs)
            .zip(queued)
            .all(|((ours, theirs), queued)| are_same(*queued, ours, theirs)),
        _ => false,
    }
}

fn is_null(reply: &[u8]) -> bool {
    [&b"$-1\r\n"[..], b"*-1\r\n", b"_\r\n"].contains(&reply)
}

fn parsed(bytes: &[u8]) -> Option<Reply<'_>> {
    match parse_reply(bytes, &Limits::default()) {
        Parsed::Complete { value, consumed } if consumed == bytes.len() => Some(value),
        _ => None,
    }
}

/// The bytes of each element of an array.
fn elements(reply: &[u8]) -> Option<Vec<&[u8]>> {
    let end = reply.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let count: usize = std::str::from_utf8(reply[..end].strip_prefix(b"*")?).ok()?.trim_end().parse().ok()?;
    let mut rest = &reply[end..];
    let mut elements = Vec::new();
    for _ in 0..count {
        let Parsed::Complete { consumed, .. } = skip_reply(rest, &Limits::default()) else { return None };
        let (element, behind) = rest.split_at(consumed);
        elements.push(element);
        rest = behind;
    }
    rest.is_empty().then_some(elements)
}

fn are_near(ours: &Reply<'_>, theirs: &Reply<'_>, compared: Compared) -> bool {
    /// Below it an integer is no time: -2 for no key, or a length.
    const LEAST: i64 = 50_000;
    match (ours, theirs, compared) {
        (Reply::Integer(ours), Reply::Integer(theirs), Compared::Nearly { within, in_second }) => {
            let is_given = |number: i64| in_second.is_some_and(|units| is_moment(number / units));
            let is_time = |number: &i64| *number >= LEAST && !is_given(*number);
            ours == theirs
                || is_time(ours) && is_time(theirs) && ours.abs_diff(*theirs) <= within.unsigned_abs()
        }
        (Reply::Bulk(ours), Reply::Bulk(theirs), Compared::Dumps) => {
            ours == theirs || dumped(ours).is_some_and(|value| Some(value) == dumped(theirs))
        }
        (Reply::Array(ours), Reply::Array(theirs), _) => {
            let mut pairs = ours.iter().zip(theirs);
            ours.len() == theirs.len() && pairs.all(|(one, other)| are_near(one, other, compared))
        }
        _ => ours == theirs,
    }
}

/// The string in what DUMP returns, compressed or not; none of integers, which have one form.
fn dumped(payload: &[u8]) -> Option<Vec<u8>> {
    let (body, footer) = payload.split_at_checked(payload.len().checked_sub(10)?)?;
    if !footer.starts_with(&10_u16.to_le_bytes()) {
        return None;
    }
    match body {
        [0, 0xc3, rest @ ..] => {
            let (compressed, rest) = length(rest)?;
            let (length, rest) = length(rest)?;
            lzf::decompress(rest.get(..compressed)?, length).ok()
        }
        [0, rest @ ..] => {
            let (length, rest) = length(rest)?;
            (rest.len() == length).then(|| rest.to_vec())
        }
        _ => None,
    }
}

fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match bytes {
        [first @ ..0x40, rest @ ..] => Some((usize::from(*first), rest)),
        [first @ 0x40..0x80, second, rest @ ..] => {
            Some((usize::from(*first & 0x3f) << 8 | usize::from(*second), rest))
        }
        [0x80, a, b, c, d, rest @ ..] => Some((u32::from_be_bytes([*a, *b, *c, *d]) as usize, rest)),
        _ => None,
    }
}

/// A reply as text, the elements of its arrays in order.
fn sorted(reply: Reply<'_>) -> String {
    match reply {
        Reply::Array(items) => {
            let mut items: Vec<String> = items.into_iter().map(sorted).collect();
            items.sort_unstable();
            format!("[{}]", items.join(","))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn replies_are_compared_as_far_as_requests_allow() {
    let near = Compared::Nearly { within: 5, in_second: Some(1) };
    let near_ms = Compared::Nearly { within: 5_000, in_second: Some(1_000) };
    for (compared, ours, theirs, expected) in [
        (Compared::Exactly, ":1\r\n", ":1\r\n", true),
        (Compared::Exactly, ":1\r\n", ":2\r\n", false),
        (near, ":100000\r\n", ":100004\r\n", true),
        (near, ":100000\r\n", ":100006\r\n", false),
        (near, ":-1\r\n", ":-2\r\n", false),
        // A moment, and the same number as a lifetime.
        (near, ":4102444800\r\n", ":4102444801\r\n", false),
        (near_ms, ":4102444800123\r\n", ":4102444800124\r\n", false),
        (near_ms, ":5898378836063\r\n", ":5898378836064\r\n", true),
        (near, "*2\r\n:1\r\n:100000\r\n", "*2\r\n:1\r\n:100001\r\n", true),
        (near, "*1\r\n:100000\r\n", "*2\r\n:100000\r\n:100000\r\n", false),
        (Compared::ByKind, "$1\r\na\r\n", "$2\r\nbc\r\n", true),
        (Compared::ByKind, "$1\r\na\r\n", "$-1\r\n", false),
        (Compared::ByKind, "-ERR a\r\n", "-ERR b\r\n", false),
        (Compared::Unordered, "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n", true),
        (Compared::Unordered, "*1\r\n$1\r\na\r\n", "*2\r\n$1\r\na\r\n$1\r\na\r\n", false),
    ] {
        assert_eq!(
            are_same(compared, ours.as_bytes(), theirs.as_bytes()),
            expected,
            "{compared:?} {ours} {theirs}"
        );
    }
    // Ten letters, raw and compressed, and nine.
    let raw = b"$22\r\n\0\ncccccccccc\n\0checksum\r\n";
    let compressed = b"$19\r\n\0\xc3\x05\n\0c\xe0\0\0\n\0checksum\r\n";
    let shorter = b"$21\r\n\0\tccccccccc\n\0checksum\r\n";
    assert!(are_same(Compared::Dumps, raw, compressed));
    assert!(!are_same(Compared::Exactly, raw, compressed));
    assert!(!are_same(Compared::Dumps, raw, shorter));
    assert!(are_same(Compared::IfErrors, b":1\r\n", b"$-1\r\n"));
    assert!(!are_same(Compared::IfErrors, b":1\r\n", b"-ERR\r\n"));
    let queued = [Compared::Exactly, near];
    assert!(are_same_all(&queued, b"*2\r\n+OK\r\n:100000\r\n", b"*2\r\n+OK\r\n:100001\r\n"));
    assert!(!are_same_all(&queued, b"*2\r\n+OK\r\n:100000\r\n", b"*2\r\n+QO\r\n:100000\r\n"));
    assert!(!are_same_all(&queued, b"*2\r\n+OK\r\n:100000\r\n", b"*1\r\n+OK\r\n"));
}
