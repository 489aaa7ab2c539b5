//! Commands on values: replies and error texts as Redis 7.0 gives them.

use crate::session::test_support::Driver;

#[test]
fn values_are_set_and_read() {
    Driver::new().connect().check_all(
        "get k -> $-1|
         set k v -> +OK|
         get k -> $1|v|
         GET k -> $1|v|
         strlen k -> :1|
         strlen none -> :0|
         append k alue -> :5|
         append new x -> :1|
         getset k next -> $5|value|
         getset fresh 1 -> $-1|
         getdel k -> $4|next|
         getdel k -> $-1|
         setnx k 1 -> :1|
         setnx k 2 -> :0|
         get k -> $1|1|
         mset a 1 b 2 a 3 -> +OK|
         mget a b none a -> *4|$1|3|$1|2|$-1|$1|3|
         mset a -> -ERR wrong number of arguments for 'mset' command|
         mset a 1 b -> -ERR wrong number of arguments for 'mset' command|",
    );
}

#[test]
fn msetnx_sets_all_or_none() {
    Driver::new().connect().check_all(
        "msetnx a 1 b 2 -> :1|
         msetnx c 3 a 4 -> :0|
         mget a b c -> *3|$1|1|$1|2|$-1|
         msetnx c 3 c 4 -> :1|
         get c -> $1|4|
         set d 1 exat 1 -> +OK|
         msetnx d 5 e 6 -> :1|
         mget d e -> *2|$1|5|$1|6|
         msetnx a -> -ERR wrong number of arguments for 'msetnx' command|
         msetnx a 1 b -> -ERR wrong number of arguments for 'msetnx' command|",
    );
}

#[test]
fn set_obeys_its_options() {
    Driver::new().connect().check_all(
        "set k v xx -> $-1|
         set k v nx -> +OK|
         set k w nx -> $-1|
         set k w XX GET -> $1|v|
         set k x nx get -> $1|w|
         get k -> $1|w|
         set none x xx get -> $-1|
         exists none -> :0|
         set k v ex 100 -> +OK|
         ttl k -> :100|
         set k v keepttl -> +OK|
         ttl k -> :100|
         set k v -> +OK|
         ttl k -> :-1|
         set k v px 1500 get -> $1|v|
         pttl k -> :1500|
         ttl k -> :2|
         set k v exat 1 -> +OK|
         exists k -> :0|
         set k v pxat 99999999999999 -> +OK|
         pexpiretime k -> :99999999999999|",
    );
}

#[test]
fn wrong_options_get_redis_error_texts() {
    Driver::new().connect().check_all(
        "set k v nx xx -> -ERR syntax error|
         set k v ex -> -ERR syntax error|
         set k v ex 1 px 1 -> -ERR syntax error|
         set k v ex 1 keepttl -> -ERR syntax error|
         set k v ex 1 exat 1 -> -ERR syntax error|
         set k v ex 10 ex -> -ERR syntax error|
         set k v ex 10 ex 20 -> +OK|
         ttl k -> :20|
         set k v px 10 px 20000 -> +OK|
         ttl k -> :20|
         set k v exat 1 exat 9223372036854775 -> +OK|
         set k v pxat 1 pxat 9223372036854775 -> +OK|
         set k v persist -> -ERR syntax error|
         set k v nonsense -> -ERR syntax error|
         set k v ex ten -> -ERR value is not an integer or out of range|
         set k v ex 0 -> -ERR invalid expire time in 'set' command|
         set k v px -1 -> -ERR invalid expire time in 'set' command|
         set k v ex 9223372036854775807 -> -ERR invalid expire time in 'set' command|
         set k v px 9223372036854775807 -> -ERR invalid expire time in 'set' command|
         set k v exat 9223372036854775 -> +OK|
         setex k 0 v -> -ERR invalid expire time in 'setex' command|
         setex k ten v -> -ERR value is not an integer or out of range|
         psetex k -5 v -> -ERR invalid expire time in 'psetex' command|
         setex k 10 v -> +OK|
         ttl k -> :10|
         psetex k 2000 v -> +OK|
         pttl k -> :2000|",
    );
}

#[test]
fn getex_changes_the_lifetime_of_what_it_reads() {
    Driver::new().connect().check_all(
        "getex none ex 0 -> $-1|
         getex none ex 10 -> $-1|
         set k v -> +OK|
         getex k -> $1|v|
         getex k ex 50 -> $1|v|
         ttl k -> :50|
         getex k -> $1|v|
         ttl k -> :50|
         getex k persist -> $1|v|
         ttl k -> :-1|
         getex k ex 0 -> -ERR invalid expire time in 'getex' command|
         getex k ex 10 ex 20 -> $1|v|
         ttl k -> :20|
         getex k ex 10 px 20 -> -ERR syntax error|
         getex k keepttl -> -ERR syntax error|
         getex k nx -> -ERR syntax error|
         getex k persist ex 1 -> -ERR syntax error|
         getex k pxat 1 -> $1|v|
         get k -> $-1|",
    );
}

#[test]
fn counters_count_within_64_bits() {
    Driver::new().connect().check_all(
        "incr n -> :1|
         incrby n 10 -> :11|
         decr n -> :10|
         decrby n 15 -> :-5|
         incrby n ten -> -ERR value is not an integer or out of range|
         set n 9223372036854775807 -> +OK|
         incr n -> -ERR increment or decrement would overflow|
         get n -> $19|9223372036854775807|
         decrby n -9223372036854775808 -> -ERR decrement would overflow|
         set n abc -> +OK|
         incr n -> -ERR value is not an integer or out of range|
         setex n 10 5 -> +OK|
         incr n -> :6|
         ttl n -> :10|",
    );
}

#[test]
fn values_end_when_their_time_is_over() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("set k v px 100", "+OK\r\n");
    driver.shared.clock.advance(99);
    client.check("get k", "$1\r\nv\r\n");
    driver.shared.clock.advance(1);
    client.check("get k", "$-1\r\n");
}

#[test]
fn binary_values_pass_unharmed() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let value: Vec<u8> = (0..=255).cycle().take(3000).collect();
    let request = [b"*3\r\n$3\r\nSET\r\n$3\r\n\0\r\n\r\n$3000\r\n".as_slice(), &value, b"\r\n"].concat();
    assert_eq!(client.send(&request), b"+OK\r\n");
    let reply = client.send(b"*2\r\n$3\r\nGET\r\n$3\r\n\0\r\n\r\n");
    assert_eq!(reply, [b"$3000\r\n".as_slice(), &value, b"\r\n"].concat());
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_lost_for_it() {
    let driver = Driver::with_options(|options| options, 1 << 20);
    let mut client = driver.connect();
    for key in 0..10 {
        client.ask(&format!("set key:{key} {}", "v".repeat(1000)));
    }
    let value = "v".repeat(3 << 20);
    let request = format!("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n${}\r\n{value}\r\n", value.len());
    let reply = String::from_utf8(client.send(request.as_bytes())).unwrap();
    assert!(reply.starts_with("-OOM value of 3"), "{reply}");
    assert!(reply.ends_with("cannot fit into maxmemory (1048576 bytes); nothing was evicted\r\n"), "{reply}");
    client.check("dbsize", ":10\r\n");
}

#[test]
fn a_full_store_that_may_not_evict_answers_oom() {
    let driver = Driver::with_options(|options| options.policy(plumbkv::Policy::NoEviction), 1 << 20);
    let mut client = driver.connect();
    let value = "v".repeat(10_000);
    let replies: Vec<String> = (0..200).map(|key| client.ask(&format!("set key:{key} {value}"))).collect();
    assert_eq!(replies[0], "+OK\r\n");
    let last = replies.last().unwrap();
    assert_eq!(last, "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    client.check("get key:0", &format!("$10000\r\n{value}\r\n"));
}
