//! Transactions and watched keys, command by command, as Redis 7.0 answers them.

use crate::session::test_support::{Driver, Talk};

#[test]
fn commands_are_queued_and_executed_together() {
    Driver::new().connect().check_all(
        "exec -> -ERR EXEC without MULTI|
         discard -> -ERR DISCARD without MULTI|
         multi -> +OK|
         set a 1 -> +QUEUED|
         incr a -> +QUEUED|
         mget a b -> +QUEUED|
         ping -> +QUEUED|
         exec -> *4|+OK|:2|*2|$1|2|$-1|+PONG|
         exec -> -ERR EXEC without MULTI|
         multi -> +OK|
         exec -> *0|
         multi -> +OK|
         incr a -> +QUEUED|
         discard -> +OK|
         get a -> $1|2|",
    );
}

#[test]
fn a_request_that_is_refused_fails_the_transaction_and_nothing_takes_effect() {
    let abort = "-EXECABORT Transaction discarded because of previous errors.|";
    for (refused, error) in [
        ("nosuch x", "-ERR unknown command 'nosuch', with args beginning with: 'x' |"),
        ("get", "-ERR wrong number of arguments for 'get' command|"),
        ("client nosuch", "-ERR unknown subcommand 'nosuch'. Try CLIENT HELP.|"),
    ] {
        Driver::new().connect().check_all(&format!(
            "multi -> +OK|
             incr a -> +QUEUED|
             {refused} -> {error}
             incr a -> +QUEUED|
             exec -> {abort}
             get a -> $-1|
             multi -> +OK|
             incr a -> +QUEUED|
             exec -> *1|:1|"
        ));
    }
}

#[test]
fn an_exec_that_is_refused_itself_ends_the_transaction_and_all_watches() {
    let abort = "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command|";
    Driver::new().connect().check_all(&format!(
        "multi -> +OK|
         incr a -> +QUEUED|
         exec 1 -> {abort}
         get a -> $-1|
         exec -> -ERR EXEC without MULTI|
         watch a -> +OK|
         exec 1 -> {abort}
         incr a -> :1|
         multi -> +OK|
         incr a -> +QUEUED|
         exec -> *1|:2|"
    ));
}

#[test]
fn an_error_of_a_command_that_is_executed_undoes_no_other() {
    Driver::new().connect().check_all(
        "multi -> +OK|
         set a word -> +QUEUED|
         incr a -> +QUEUED|
         set b 2 -> +QUEUED|
         exec -> *3|+OK|-ERR value is not an integer or out of range|+OK|
         mget a b -> *2|$4|word|$1|2|",
    );
}

#[test]
fn what_is_not_allowed_within_a_transaction_does_not_fail_it() {
    Driver::new().connect().check_all(
        "multi -> +OK|
         incr a -> +QUEUED|
         multi -> -ERR MULTI calls can not be nested|
         watch a -> -ERR WATCH inside MULTI is not allowed|
         unwatch -> +QUEUED|
         exec -> *2|:1|+OK|
         multi -> +OK|
         incr a -> +QUEUED|
         reset -> +RESET|
         exec -> -ERR EXEC without MULTI|
         get a -> $1|1|",
    );
}

/// Runs `change` between WATCH and EXEC; true if the transaction was executed.
fn survives(driver: &Driver, before: &[&str], change: impl FnOnce(&mut Talk<'_>)) -> bool {
    let (mut client, mut other) = (driver.connect(), driver.connect());
    client.check("flushall", "+OK\r\n");
    for command in before {
        client.ask(command);
    }
    client.check("watch k l", "+OK\r\n");
    change(&mut other);
    client.check("multi", "+OK\r\n");
    client.check("set done 1", "+QUEUED\r\n");
    let reply = client.ask("exec");
    assert!(reply == "*1\r\n+OK\r\n" || reply == "*-1\r\n", "{reply}");
    let is_executed = reply.starts_with("*1");
    client.check("exists done", if is_executed { ":1\r\n" } else { ":0\r\n" });
    // EXEC ends the watch.
    other.ask("set k later");
    client.check_all("multi -> +OK|\nping -> +QUEUED|\nexec -> *1|+PONG|");
    assert!(driver.shared.watches.is_empty());
    is_executed
}

#[test]
fn a_change_of_a_watched_key_fails_the_transaction() {
    let driver = Driver::new();
    for (before, change, expected) in [
        (&["set k 1"][..], "set k 1", false),
        (&["set k 1"], "get k", true),
        (&["set k 1"], "set other 1", true),
        (&["set k 1"], "del k", false),
        (&["set k 1"], "unlink k l", false),
        (&["set k 1"], "del l m", true),
        (&[], "del k", true),
        (&[], "set k 1", false),
        (&[], "set l 1", false),
        (&["set k 1"], "set k 2 nx", true),
        (&["set k 1"], "setnx k 2", true),
        (&[], "setnx k 2", false),
        (&["set k 1"], "getset k 1", false),
        (&["set k 1"], "getdel k", false),
        (&[], "getdel k", true),
        (&["set k 1"], "getex k", true),
        (&["set k 1"], "getex k ex 10", false),
        (&["set k 1"], "append k x", false),
        (&["set k 1"], "incr k", false),
        (&["set k word"], "incr k", true),
        (&["set k 1"], "mset m 1 l 2", false),
        (&["set k 1"], "expire k 10", false),
        (&[], "expire k 10", true),
        (&["set k 1"], "persist k", true),
        (&["set k 1 ex 10"], "persist k", false),
        (&["set k 1"], "rename k m", false),
        (&["set m 1"], "rename m k", false),
        (&["set k 1"], "rename nothing k", true),
        (&["set k 1"], "rename k k", true),
        (&["set k 1"], "renamenx k k", true),
        (&["set k 1"], "getex k persist", true),
        (&["set k 1 ex 10"], "getex k persist", false),
        (&["set k 1"], "getex k pxat 1", false),
        (&["set k 1"], "flushall", false),
        (&[], "flushall", true),
        (&["set k 1"], "ttl k", true),
    ] {
        let survived = survives(&driver, before, |other| {
            other.ask(change);
        });
        assert_eq!(survived, expected, "{before:?}, then {change}");
    }
    // Also a change of its own, and one within another transaction.
    assert!(!survives(&driver, &["set k 1"], |other| {
        other.check_all("multi -> +OK|\nincr k -> +QUEUED|\nexec -> *1|:2|");
    }));
}

#[test]
fn a_watched_key_that_expires_fails_the_transaction_and_one_that_had_expired_does_not() {
    let driver = Driver::new();
    assert!(!survives(&driver, &["set k 1 px 100"], |_| driver.shared.clock.advance(100)));
    let before = ["set k 1 px 100"];
    driver.connect().ask(before[0]);
    driver.shared.clock.advance(100);
    assert!(survives(&driver, &[], |_| {}));
    // Another client sets it again after it has expired.
    assert!(!survives(&driver, &["set k 1 px 100"], |other| {
        driver.shared.clock.advance(100);
        other.check("set k 1", "+OK\r\n");
    }));
}

#[test]
fn unwatch_discard_reset_and_the_end_of_the_connection_end_a_watch() {
    let driver = Driver::new();
    let used = || driver.shared.client_memory.used(&driver.shared.database);
    // A buffer of a transaction that has ended is kept for the next one.
    driver.connect().check_all("multi -> +OK|\nping -> +QUEUED|\nexec -> *1|+PONG|");
    let before = used();
    for end in ["unwatch", "multi\r\ndiscard", "reset"] {
        let (mut client, mut other) = (driver.connect(), driver.connect());
        client.check("watch k k l", "+OK\r\n");
        assert!(used() > before && !driver.shared.watches.is_empty());
        other.check("set k 1", "+OK\r\n");
        client.ask(end);
        assert!(driver.shared.watches.is_empty(), "{end}");
        assert_eq!(used(), before, "{end}");
        client.check_all("multi -> +OK|\nping -> +QUEUED|\nexec -> *1|+PONG|");
    }
}

#[test]
fn with_resp3_a_failed_transaction_is_null() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.ask("hello 3");
    client.check_all("watch k -> +OK|\nset k 1 -> +OK|\nmulti -> +OK|\nget k -> +QUEUED|\nexec -> _|");
}

#[test]
fn the_limits_have_names_and_edges() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set transaction-max-commands 2 max-watched-keys 2", "+OK\r\n");
    client.check_all(
        "multi -> +OK|
         incr a -> +QUEUED|
         incr a -> +QUEUED|
         exec -> *2|:1|:2|
         multi -> +OK|
         incr a -> +QUEUED|
         incr a -> +QUEUED|
         incr a -> -ERR the transaction has more commands than transaction-max-commands (2)|
         exec -> -EXECABORT Transaction discarded because of previous errors.|
         get a -> $1|2|
         watch a b -> +OK|
         watch b a -> +OK|
         watch c -> -ERR the client would watch more keys than max-watched-keys (2)|
         unwatch -> +OK|
         config set client-query-buffer-limit 1mb -> +OK|
         multi -> +OK|",
    );
    let value = "v".repeat(700_000);
    let set = |key: &str| format!("*3\r\n$3\r\nSET\r\n$1\r\n{key}\r\n$700000\r\n{value}\r\n").into_bytes();
    assert_eq!(client.send(&set("a")), b"+QUEUED\r\n");
    let error = "-ERR the transaction is longer than client-query-buffer-limit (1048576 bytes)\r\n";
    assert_eq!(client.send(&set("b")), error.as_bytes());
    client.check("exec", "-EXECABORT Transaction discarded because of previous errors.\r\n");
    assert_eq!(driver.shared.database.stats().reserved_bytes, 0);
}

#[test]
fn long_requests_and_binary_ones_are_queued_as_they_came() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let (value, mut wire) = (vec![b'\r'; 100_000], Vec::new());
    let keys: Vec<String> = (0..500).map(|number| format!("key:{number}")).collect();
    let mut words: Vec<&[u8]> = vec![b"MSET"];
    keys.iter().for_each(|key| words.extend([key.as_bytes(), &b"\0\n$1"[..]]));
    plumbkv_resp::compose(&words, &mut wire);
    plumbkv_resp::compose(&[b"SET", b"", &value], &mut wire);
    client.check("multi", "+OK\r\n");
    assert_eq!(client.send(&wire), b"+QUEUED\r\n+QUEUED\r\n");
    client.check("exec", "*2\r\n+OK\r\n+OK\r\n");
    assert_eq!(driver.shared.database.get(b"").unwrap(), Some(value));
    assert_eq!(driver.shared.database.get(b"key:499").unwrap(), Some(b"\0\n$1".to_vec()));
    assert_eq!(driver.shared.database.len(), 501);
}

#[test]
fn client_list_shows_a_transaction() {
    let driver = Driver::new();
    let (mut client, mut other) = (driver.connect(), driver.connect());
    let line = |other: &mut Talk<'_>, id: u64| other.ask(&format!("client list id {id}"));
    let id = client.session.entry().id;
    assert!(line(&mut other, id).contains(" flags=N ") && line(&mut other, id).contains(" multi=-1 "));
    client.check_all("watch k -> +OK|\nmulti -> +OK|\nget k -> +QUEUED|");
    assert!(line(&mut other, id).contains(" flags=x ") && line(&mut other, id).contains(" multi=1 "));
    other.check("set k 1", "+OK\r\n");
    assert!(line(&mut other, id).contains(" flags=xd "));
    client.check("exec", "*-1\r\n");
    assert!(line(&mut other, id).contains(" flags=N ") && line(&mut other, id).contains(" multi=-1 "));
}
