//! Commands on parts of values: replies and error texts as Redis 7.0 gives them.

use super::within;
use crate::session::test_support::Driver;

#[test]
fn parts_are_read_from_either_end() {
    Driver::new().connect().check_all(
        "getrange none 0 -1 -> $0||
         set k Hello-World -> +OK|
         getrange k 0 4 -> $5|Hello|
         getrange k -5 -1 -> $5|World|
         getrange k 0 -1 -> $11|Hello-World|
         getrange k 6 100 -> $5|World|
         getrange k -100 2 -> $3|Hel|
         getrange k 3 1 -> $0||
         getrange k -1 -5 -> $0||
         getrange k 11 20 -> $0||
         getrange k -100 -100 -> $1|H|
         getrange k -101 -100 -> $1|H|
         getrange k -9223372036854775808 9223372036854775807 -> $11|Hello-World|
         substr k 0 0 -> $1|H|
         getrange k a 1 -> -ERR value is not an integer or out of range|
         getrange k 1 a -> -ERR value is not an integer or out of range|
         getrange k 1 -> -ERR wrong number of arguments for 'getrange' command|",
    );
}

/// Beside the rules written down as Redis's code does them.
#[test]
fn places_are_those_of_redis() {
    let redis = |len: i64, mut start: i64, mut end: i64| {
        if start < 0 && end < 0 && start > end {
            return 0..0;
        }
        if start < 0 {
            start += len;
        }
        if end < 0 {
            end += len;
        }
        (start, end) = (start.max(0), end.max(0).min(len - 1));
        if start > end || len == 0 { 0..0 } else { start as usize..end as usize + 1 }
    };
    for len in 0..5 {
        for start in -8..8 {
            for end in -8..8 {
                assert_eq!(within(len as usize, start, end), redis(len, start, end), "{len} {start} {end}");
            }
        }
    }
}

#[test]
fn parts_are_overwritten_and_gaps_are_zeros() {
    Driver::new().connect().check_all(
        "set k Hello-World ex 100 -> +OK|
         setrange k 6 Redis -> :11|
         get k -> $11|Hello-Redis|
         ttl k -> :100|
         setrange k 9 longer -> :15|
         get k -> $15|Hello-Redlonger|
         setrange new 2 x -> :3|
         get new -> $3|\0\0x|
         setrange none 5 -> -ERR wrong number of arguments for 'setrange' command|
         setrange k -1 x -> -ERR offset is out of range|
         setrange k a x -> -ERR value is not an integer or out of range|
         setrange k 536870911 xy -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)|
         setrange k 9223372036854775807 x -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)|
         get k -> $15|Hello-Redlonger|",
    );
}

#[test]
fn an_empty_part_creates_and_changes_nothing() {
    Driver::new().connect().check_all(
        r#"set k abc -> +OK|
         setrange k 9 "" -> :3|
         setrange none 9 "" -> :0|
         setrange k -1 "" -> -ERR offset is out of range|
         exists none -> :0|
         get k -> $3|abc|"#,
    );
}

#[test]
fn a_long_value_is_read_and_changed_in_parts() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "setrange k 2999999 v -> :3000000|
         setrange k 2999999 end -> :3000002|
         getrange k -4 -1 -> $4|\0end|
         strlen k -> :3000002|",
    );
    assert_eq!(client.ask("getrange k 0 99999").len(), 100_000 + "$100000\r\n\r\n".len());
}
