//! Can any bytes, in any pieces, make the request parser panic, overrun, or answer differently? And does what steps over
//! a request end where the parser does?
//!
//! The first byte says how long the pieces are; the rest is what a client sends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv_resp::{Limits, Parsed, ProtocolError, RequestParser, Skipped, compose};

fn read(bytes: &[u8], piece: usize) -> (Vec<Vec<Vec<u8>>>, Option<String>) {
    let mut parser = RequestParser::new(Limits::default());
    let (mut start, mut arrived, mut seen) = (0, 0, Vec::new());
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
                    return (seen, None);
                }
                arrived = bytes.len().min(arrived + piece);
            }
            Parsed::Invalid(error) => return (seen, Some(error.to_string())),
        }
    }
}

/// Where the requests end, and the error that stops the reading, as the parser says that gets all bytes at once.
fn parsed_ends(bytes: &[u8], limits: Limits) -> (Vec<usize>, Option<ProtocolError>) {
    let (mut parser, mut at, mut ends) = (RequestParser::new(limits), 0, Vec::new());
    loop {
        match parser.parse(&bytes[at..]) {
            Parsed::Complete { consumed, .. } => {
                at += consumed;
                ends.push(at);
            }
            Parsed::Incomplete { .. } => return (ends, None),
            Parsed::Invalid(error) => return (ends, Some(error)),
        }
    }
}

/// The same as the skipper says, in pieces; the parser reads the first `parsed` bytes and hands over.
fn skipped_ends(
    bytes: &[u8],
    piece: usize,
    parsed: usize,
    limits: Limits,
) -> (Vec<usize>, Option<ProtocolError>) {
    let (mut parser, mut at, mut ends) = (RequestParser::new(limits), 0, Vec::new());
    let mut skipper = loop {
        match parser.parse(&bytes[at..parsed]) {
            Parsed::Complete { consumed, .. } => {
                at += consumed;
                ends.push(at);
            }
            Parsed::Incomplete { .. } => {
                let (skipper, start) = parser.abandon();
                at += start;
                break skipper;
            }
            Parsed::Invalid(error) => return (ends, Some(error)),
        }
    };
    while at < bytes.len() {
        let rest = &bytes[at..bytes.len().min(at + piece)];
        match skipper.skip(rest) {
            Skipped::All => at += rest.len(),
            Skipped::Ended { consumed } => {
                assert!(consumed > 0 && consumed <= rest.len());
                at += consumed;
                ends.push(at);
            }
            Skipped::Invalid(error) => return (ends, Some(error)),
        }
    }
    (ends, None)
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(whole, read(bytes, usize::from(*piece).max(1)));
    let small = Limits { max_arguments: 4, max_bulk_bytes: 16, max_inline_bytes: 24, ..Limits::default() };
    for limits in [Limits::default(), small, Limits { authenticated: false, ..small }] {
        let expected = parsed_ends(bytes, limits);
        for (size, parsed) in [(1, 0), (usize::from(*piece).max(1), bytes.len() / 2)] {
            assert_eq!(skipped_ends(bytes, size, parsed, limits), expected);
        }
    }
    // What was understood can be said again, in the array form, and is understood the same.
    let mut wire = Vec::new();
    for request in &whole.0 {
        let args: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
        compose(&args, &mut wire);
    }
    assert_eq!(read(&wire, wire.len().max(1)), (whole.0, None));
});
