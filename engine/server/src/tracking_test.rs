//! Tracked keys: who is told of which change.

use super::*;
use crate::session::test_support::{Driver, Talk};

/// A client with RESP3 that gets messages.
fn connect(driver: &Driver) -> Talk<'_> {
    let mut client = driver.connect();
    client.session.entry().record_place(0, 0);
    client.ask("hello 3");
    client
}

/// The messages since the last call, each with the number of its client.
fn told(driver: &Driver) -> Vec<String> {
    let text = |push: crate::pushes::Push| {
        format!("{}: {}", push.client, String::from_utf8(push.bytes).unwrap().replace("\r\n", "|"))
    };
    driver.shared.pushes.take(0).into_iter().map(text).collect()
}

fn invalid(client: u64, key: &str) -> String {
    format!("{client}: >2|$10|invalidate|*1|${}|{key}|", key.len())
}

#[test]
fn a_client_is_told_once_of_a_key_that_it_has_read() {
    let driver = Driver::new();
    let (mut reader, mut writer) = (connect(&driver), connect(&driver));
    reader.ask("client tracking on");
    reader.ask("get k");
    writer.ask("set k 1");
    assert_eq!(told(&driver), [invalid(1, "k")]);
    writer.ask("set k 2");
    assert!(told(&driver).is_empty());
    reader.ask("mget a b");
    writer.ask("mset a 1 b 2 c 3");
    assert_eq!(told(&driver), [invalid(1, "a"), invalid(1, "b")]);
    for (read, write) in [
        ("strlen k", "append k x"),
        ("ttl k", "expire k 100"),
        ("exists k", "del k"),
        ("get k", "setnx k 5"),
        ("memory usage k", "incr k"),
        ("getrange k 0 1", "rename k other"),
        ("get other", "append other x"),
    ] {
        reader.ask(read);
        told(&driver);
        writer.ask(write);
        assert_eq!(told(&driver).len(), 1, "{read}, {write}");
    }
    // What changes nothing is not told.
    reader.ask("mget k other");
    told(&driver);
    for write in ["del k", "expire nothing 1", "set other x nx", "get other"] {
        writer.ask(write);
        assert!(told(&driver).is_empty(), "{write}");
    }
}

#[test]
fn its_own_writes_are_told_unless_it_wants_it_otherwise() {
    let driver = Driver::new();
    let mut client = connect(&driver);
    client.ask("client tracking on");
    client.ask("get k");
    client.ask("set k 1");
    assert_eq!(told(&driver), [invalid(1, "k")]);
    client.ask("client tracking on noloop");
    client.ask("get k");
    client.ask("set k 1");
    assert!(told(&driver).is_empty());
}

#[test]
fn clients_choose_what_is_tracked() {
    let driver = Driver::new();
    let (mut reader, mut writer) = (connect(&driver), connect(&driver));
    reader.ask("client tracking on optin");
    reader.ask("get a");
    reader.ask("client caching yes");
    reader.ask("get b");
    reader.ask("get c");
    // For a transaction it holds to its end.
    reader.ask("client caching yes");
    for request in ["multi", "pttl d", "get e", "exec", "get f"] {
        reader.ask(request);
    }
    writer.ask("mset a 1 b 1 c 1 d 1 e 1 f 1");
    assert_eq!(told(&driver), [invalid(1, "b"), invalid(1, "d"), invalid(1, "e")]);
    reader.ask("client tracking off");
    reader.ask("client tracking on optout");
    reader.ask("client caching no");
    reader.ask("get a");
    reader.ask("get b");
    writer.ask("mset a 1 b 1");
    assert_eq!(told(&driver), [invalid(1, "b")]);
    reader.ask("get b");
    reader.ask("client tracking off");
    writer.ask("set b 2");
    assert!(told(&driver).is_empty());
}

#[test]
fn prefixes_are_told_of_every_change() {
    let driver = Driver::new();
    let (mut one, mut all, mut writer) = (connect(&driver), connect(&driver), connect(&driver));
    one.ask("client tracking on bcast prefix user: prefix item:");
    all.ask("client tracking on bcast");
    writer.ask("mset user:1 a item:2 b other c");
    let mut found = told(&driver);
    found.sort();
    let mut expected = vec![invalid(1, "user:1"), invalid(1, "item:2")];
    expected.extend(["user:1", "item:2", "other"].map(|key| invalid(2, key)));
    expected.sort();
    assert_eq!(found, expected);
    one.ask("client tracking off");
    writer.ask("set user:1 b");
    assert_eq!(told(&driver), [invalid(2, "user:1")]);
    all.ask("reset");
    assert!(driver.shared.tracking.is_empty() && !driver.shared.tracking.is_used());
}

#[test]
fn scripts_are_tracked_by_what_they_read_and_write() {
    let driver = Driver::new();
    let (mut reader, mut writer) = (connect(&driver), connect(&driver));
    reader.ask("client tracking on");
    reader.ask("eval \"return redis.call('get', KEYS[1])\" 2 a b");
    writer.ask("eval \"return redis.call('mset', 'a', 1, 'b', 2)\" 0");
    assert_eq!(told(&driver), [invalid(1, "a")]);
}

#[test]
fn all_keys_at_once_are_told_as_null() {
    let driver = Driver::new();
    let (mut reader, mut writer) = (connect(&driver), connect(&driver));
    reader.ask("client tracking on");
    reader.ask("get k");
    writer.ask("flushall");
    assert_eq!(told(&driver), ["1: >2|$10|invalidate|_|"]);
    writer.ask("set k 1");
    assert!(told(&driver).is_empty());
}

#[test]
fn messages_go_to_another_client_where_that_is_asked() {
    let driver = Driver::new();
    let (mut reader, other, mut writer) = (connect(&driver), connect(&driver), connect(&driver));
    reader.check("client tracking on redirect 2", "+OK\r\n");
    reader.check("client getredir", ":2\r\n");
    reader.ask("get k");
    writer.ask("set k 1");
    assert_eq!(told(&driver), [invalid(2, "k")]);
    reader.ask("get k");
    driver.shared.clients.remove(2);
    drop(other);
    writer.ask("set k 2");
    assert_eq!(told(&driver), ["1: >2|$21|tracking-redir-broken|:2|"]);
    assert!(reader.ask("client trackinginfo").contains("broken_redirect"));
    assert!(reader.ask("client info").contains(" flags=tR "));
}

/// Without a subscription RESP2 has no way to tell.
#[test]
fn a_client_with_resp2_is_told_nothing() {
    let driver = Driver::new();
    let (mut reader, mut writer) = (connect(&driver), connect(&driver));
    reader.ask("hello 2");
    reader.ask("client tracking on");
    reader.ask("get k");
    writer.ask("set k 1");
    assert!(told(&driver).is_empty());
}

#[test]
fn keys_that_expire_or_are_left_by_all_are_found() {
    let driver = Driver::new();
    let (mut reader, mut writer) = (connect(&driver), connect(&driver));
    reader.ask("client tracking on");
    for number in 0..200 {
        writer.ask(&format!("set k{number} x"));
    }
    writer.ask("set short x px 50");
    reader.ask(&format!("mget short {}", (0..200).map(|number| format!("k{number} ")).collect::<String>()));
    // A tick looks at some of them.
    let look_at_all = || (0..50).for_each(|_| look(&driver.shared));
    look_at_all();
    assert!(told(&driver).is_empty());
    driver.shared.clock.advance(100);
    look_at_all();
    assert_eq!(told(&driver), [invalid(1, "short")]);
    let counts = driver.shared.tracking.counts();
    assert_eq!((counts.clients, counts.keys, counts.items), (1, 200, 200));
    stop(&driver.shared, reader.session.entry());
    reader.session.entry().close();
    look_at_all();
    assert!(driver.shared.tracking.is_empty(), "{:?}", driver.shared.tracking.counts());
}

#[test]
fn no_more_keys_are_tracked_than_tracking_table_max_keys() {
    let driver = Driver::new();
    let (mut reader, mut writer) = (connect(&driver), connect(&driver));
    reader.ask("config set tracking-table-max-keys 2");
    reader.ask("client tracking on");
    reader.ask("mget a b");
    assert!(told(&driver).is_empty());
    reader.ask("get c");
    assert_eq!(told(&driver), [invalid(1, "a")]);
    writer.ask("mset a 1 b 1 c 1");
    assert_eq!(told(&driver), [invalid(1, "b"), invalid(1, "c")]);
}

#[test]
fn what_is_tracked_counts_under_the_memory_cap() {
    let driver = Driver::new();
    let shared = &driver.shared;
    let before = shared.client_memory.used(&shared.database);
    let (mut one, mut other) = (connect(&driver), connect(&driver));
    one.ask("client tracking on");
    other.ask("client tracking on bcast prefix p");
    one.ask("mget a b");
    let mut third = connect(&driver);
    third.ask("client tracking on");
    third.ask("get a");
    let used = shared.client_memory.used(&shared.database) - before;
    assert_eq!(used, 3 * (KEY_BYTES + 1) + CLIENT_BYTES);
    one.ask("mset a 1 b 2");
    other.ask("client tracking off");
    assert_eq!(shared.client_memory.used(&shared.database), before);
    one.ask("get a");
    one.ask("flushall");
    assert_eq!(shared.client_memory.used(&shared.database), before);
}

#[test]
fn requests_that_do_not_go_together_are_refused_in_redis_words() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let other = "You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a \
                 different mode.";
    let caching = "CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled";
    client.check_all(&format!(
        "client tracking -> -ERR wrong number of arguments for 'client|tracking' command|
         client tracking maybe -> -ERR syntax error|
         client getredir -> :-1|
         client trackinginfo -> *6|$5|flags|*1|$3|off|$8|redirect|:-1|$8|prefixes|*0|
         client tracking on -> +OK|
         client trackinginfo -> *6|$5|flags|*1|$2|on|$8|redirect|:0|$8|prefixes|*0|
         client getredir -> :0|
         client tracking on redirect 99999 -> -ERR The client ID you want redirect to does not exist|
         client tracking on redirect x -> -ERR value is not an integer or out of range|
         client tracking on redirect 1 redirect 1 -> -ERR A client can only redirect to a single other client|
         client tracking on prefix a -> -ERR PREFIX option requires BCAST mode to be enabled|
         client tracking on bcast -> -ERR {other}|
         client tracking off -> +OK|
         client tracking off bcast -> +OK|
         client tracking on optin optout -> -ERR You can't specify both OPTIN mode and OPTOUT mode|
         client tracking on bcast optin -> -ERR OPTIN and OPTOUT are not compatible with BCAST|
         client tracking on foo -> -ERR syntax error|
         client caching yes -> -ERR {caching}|
         client caching x -> -ERR {caching}|
         client tracking on optin -> +OK|
         client tracking on optout -> -ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.|
         client caching no -> -ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.|
         client caching maybe -> -ERR syntax error|
         client caching yes -> +OK|
         client trackinginfo -> *6|$5|flags|*3|$2|on|$5|optin|$11|caching-yes|$8|redirect|:0|$8|prefixes|*0|
         client tracking off -> +OK|
         client tracking on bcast prefix ab prefix abc -> -ERR Prefix 'ab' overlaps with another provided prefix 'abc'. Prefixes for a single client must not overlap.|
         client tracking on bcast prefix ab prefix cd noloop -> +OK|
         client tracking on bcast prefix abc -> -ERR Prefix 'abc' overlaps with an existing prefix 'ab'. Prefixes for a single client must not overlap.|
         client trackinginfo -> *6|$5|flags|*3|$2|on|$5|bcast|$6|noloop|$8|redirect|:0|$8|prefixes|*2|$2|ab|$2|cd|
         client tracking on -> -ERR {other}|
         reset -> +RESET|
         client trackinginfo -> *6|$5|flags|*1|$3|off|$8|redirect|:-1|$8|prefixes|*0|",
    ));
}
