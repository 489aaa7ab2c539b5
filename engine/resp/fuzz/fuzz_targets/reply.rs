//! Can any bytes make the reply parsers panic, overrun, or disagree with each other?
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv_resp::{Limits, Parsed, ProtocolError, parse_reply, peek_scalar, skip_reply};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let (tree, skip) = (parse_reply(bytes, &limits), skip_reply(bytes, &limits));
    match (&tree, &skip) {
        (Parsed::Invalid(ProtocolError::NestedTooDeeply), _) => {}
        (Parsed::Complete { consumed: a, .. }, Parsed::Complete { consumed: b, .. }) => {
            assert!(a == b && *a > 0 && *a <= bytes.len());
        }
        (Parsed::Incomplete { needed: a }, Parsed::Incomplete { needed: b }) => {
            assert!(a == b && *a > bytes.len());
        }
        (Parsed::Invalid(a), Parsed::Invalid(b)) => assert_eq!(a, b),
        other => panic!("tree and skip disagree: {other:?}"),
    }
    if let Parsed::Complete { consumed, .. } = peek_scalar(bytes, &limits) {
        assert!(matches!(tree, Parsed::Complete { consumed: whole, .. } if whole == consumed));
    }
});
