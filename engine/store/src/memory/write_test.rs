//! What does INCR take for an integer? The same as Redis.

use super::parse_integer;

#[test]
fn integers_are_those_redis_takes() {
    for (text, expected) in [
        ("0", Some(0)),
        ("7", Some(7)),
        ("-7", Some(-7)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("", None),
        ("-", None),
        ("-0", None),
        ("+7", None),
        ("007", None),
        (" 7", None),
        ("7 ", None),
        ("7.0", None),
        ("0x7", None),
    ] {
        assert_eq!(parse_integer(text.as_bytes()), expected, "{text:?}");
    }
}
