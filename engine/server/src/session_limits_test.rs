//! What is each limit's edge? The limit itself passes, one more does not, and the refusal names the limit.

use super::*;
use crate::client_limits::Limit;
use plumbkv_resp::compose;
use test_support::{Driver, Talk};

const MIB: usize = 1 << 20;

fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut wire = Vec::new();
    compose(words, &mut wire);
    wire
}

/// Sends a request and answers the first line of the reply.
fn ask(client: &mut Talk<'_>, words: &[&[u8]]) -> String {
    let reply = client.send(&request(words));
    let line = reply.split(|&byte| byte == b'\r').next().unwrap_or_default();
    String::from_utf8_lossy(line).into_owned()
}

#[test]
fn a_request_may_be_as_long_as_client_query_buffer_limit() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set client-query-buffer-limit 1mb", "+OK\r\n");
    for pieces in [1 << 30, 1000] {
        let mut client = driver.connect();
        let overhead = request(&[b"SET", b"k", &[b'v'; MIB]]).len() - MIB;
        let passes = request(&[b"SET", b"k", &vec![b'v'; MIB - overhead]]);
        assert_eq!(passes.len(), MIB);
        let reply: Vec<u8> = passes.chunks(pieces).flat_map(|piece| client.send(piece)).collect();
        assert_eq!(reply, b"+OK\r\n");
        let fails = request(&[b"SET", b"k", &vec![b'v'; MIB - overhead + 1]]);
        let mut reply = Vec::new();
        for piece in fails.chunks(pieces) {
            if !client.closed {
                reply.extend(client.send(piece));
            }
        }
        let text =
            "-ERR Protocol error: request is longer than client-query-buffer-limit (1048576 bytes)\r\n";
        assert_eq!(String::from_utf8_lossy(&reply), text);
        assert!(client.closed);
    }
    // Many small words are a long request too.
    let mut many = driver.connect();
    let wire = request(&vec![&b"x"[..]; MIB / 7 + 2]);
    let mut sent = 0;
    while !many.closed && sent < wire.len() {
        let piece = &wire[sent..wire.len().min(sent + 10_000)];
        many.send(piece);
        sent += piece.len();
    }
    assert!(many.closed && sent <= MIB + 10_000, "{sent}");
}

#[test]
fn a_word_and_a_value_may_be_as_long_as_proto_max_bulk_len() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set proto-max-bulk-len 1mb", "+OK\r\n");
    assert_eq!(ask(&mut client, &[b"SET", b"k", &vec![b'v'; MIB]]), "+OK");
    let too_long = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)";
    assert_eq!(ask(&mut client, &[b"APPEND", b"k", b"x"]), too_long);
    assert_eq!(ask(&mut client, &[b"SET", b"k", &vec![b'v'; MIB - 1]]), "+OK");
    assert_eq!(ask(&mut client, &[b"APPEND", b"k", b"x"]), ":1048576");
    assert_eq!(
        ask(&mut client, &[b"SET", b"k", &vec![b'v'; MIB + 1]]),
        "-ERR Protocol error: invalid bulk length: more than proto-max-bulk-len (1048576)"
    );
    assert!(client.closed);
}

#[test]
fn a_request_may_have_as_many_words_as_max_arguments() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set max-arguments 64", "+OK\r\n");
    let words = |count: usize| [vec![&b"DEL"[..]], vec![&b"k"[..]; count - 1]].concat();
    assert_eq!(ask(&mut client, &words(64)), ":0");
    assert_eq!(
        ask(&mut client, &words(65)),
        "-ERR Protocol error: invalid multibulk length: more than max-arguments (64)"
    );
    assert!(client.closed);
}

#[test]
fn a_changed_limit_holds_for_those_who_are_connected_already() {
    let driver = Driver::new();
    let (mut admin, mut client) = (driver.connect(), driver.connect());
    let words = [vec![&b"DEL"[..]], vec![&b"k"[..]; 64]].concat();
    assert_eq!(ask(&mut client, &words), ":0");
    admin.check("config set max-arguments 64", "+OK\r\n");
    assert!(ask(&mut client, &words).contains("max-arguments (64)"));
}

#[test]
fn a_reply_may_be_as_long_as_client_output_buffer_limit() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set client-output-buffer-limit 1mb", "+OK\r\n");
    let overhead = "$1048564\r\n\r\n".len();
    assert_eq!(ask(&mut client, &[b"SET", b"k", &vec![b'v'; MIB - overhead]]), "+OK");
    assert_eq!(client.send(&request(&[b"GET", b"k"])).len(), MIB);
    assert_eq!(ask(&mut client, &[b"APPEND", b"k", b"v"]), ":1048565");
    let refusal = "-ERR the reply is longer than client-output-buffer-limit (1048576 bytes); the connection is closed\r\n";
    client.check("get k", refusal);
    assert!(client.closed);
    // Nothing behind it is executed.
    let mut client = driver.connect();
    let reply = client.send(b"ping\r\nget k\r\nset other 1\r\n");
    assert_eq!(String::from_utf8_lossy(&reply), format!("+PONG\r\n{refusal}"));
    driver.connect().check("exists other", ":0\r\n");
    // Without a limit there is none.
    let mut client = driver.connect();
    client.check("config set client-output-buffer-limit 0", "+OK\r\n");
    assert_eq!(client.send(&request(&[b"GET", b"k"])).len(), MIB + 1);
}

#[test]
fn a_reply_of_many_parts_is_given_up_where_it_becomes_too_long() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set client-output-buffer-limit 1mb", "+OK\r\n");
    assert_eq!(ask(&mut client, &[b"SET", b"k", &vec![b'v'; 1000]]), "+OK");
    for number in 0..20 {
        let key = format!("{number}{}", "k".repeat(60_000));
        assert_eq!(ask(&mut client, &[b"SET", key.as_bytes(), b"1"]), "+OK");
    }
    for words in [
        [vec![&b"MGET"[..]], vec![&b"k"[..]; 60_000]].concat(),
        [vec![&b"COMMAND"[..], b"INFO"], vec![&b"get"[..]; 60_000]].concat(),
        [vec![&b"COMMAND"[..], b"DOCS"], vec![&b"get"[..]; 60_000]].concat(),
        vec![b"KEYS", b"*"],
        vec![b"SCAN", b"0", b"COUNT", b"1000000"],
    ] {
        let entry = driver.shared.clients.add(String::new(), String::new(), 1, 0);
        let mut session = Session::new(&driver.shared, entry);
        let mut output = Replies::new();
        let start = output.mark();
        let progress = session.advance(&driver.shared, &request(&words), &mut output, start);
        assert_eq!(progress.next, Next::Close, "{}", words[0].escape_ascii());
        assert!(output.bytes.starts_with(b"-ERR the reply is longer than client-output-buffer-limit"));
        assert!(
            output.bytes.capacity() < 4 * MIB,
            "{} grew to {} bytes",
            words[0].escape_ascii(),
            output.bytes.capacity()
        );
    }
}

#[test]
fn a_pattern_may_take_as_many_steps_as_pattern_cost_limit() {
    let driver = Driver::new();
    let mut client = driver.connect();
    assert_eq!(ask(&mut client, &[b"SET", &[b'a'; 1000], b"1"]), "+OK");
    let pattern = [b"*", &[b'a'; 64][..], b"b"].concat();
    // As many as are needed, found by halving.
    let (mut low, mut high) = (1, 1_000_000);
    while low + 1 < high {
        let middle = (low + high) / 2;
        client.check(&format!("config set pattern-cost-limit {middle}"), "+OK\r\n");
        if ask(&mut client, &[b"KEYS", &pattern]) == "*0" { high = middle } else { low = middle }
    }
    assert!(high > 10_000, "{high}");
    let refusal = "-ERR the pattern takes more steps than pattern-cost-limit allows; write it with fewer stars and shorter classes";
    client.check(&format!("config set pattern-cost-limit {}", high - 1), "+OK\r\n");
    assert_eq!(ask(&mut client, &[b"KEYS", &pattern]), refusal);
    assert_eq!(ask(&mut client, &[b"SCAN", b"0", b"MATCH", &pattern]), refusal);
    assert_eq!(ask(&mut client, &[b"KEYS", b"*a*a*a*"]), "*1");
    client.check("config set pattern-cost-limit 1", "+OK\r\n");
    let class = [b"[", &[b'x'; 10_000][..]].concat();
    assert_eq!(ask(&mut client, &[b"CONFIG", b"GET", &class]), refusal);
    assert_eq!(ask(&mut client, &[b"COMMAND", b"LIST", b"FILTERBY", b"PATTERN", &class]), refusal);
    assert!(!client.closed);
}

#[test]
fn a_stranger_gets_little() {
    let driver = Driver::with_password("secret");
    let word = vec![b'x'; 16 << 10];
    let mut stranger = driver.connect();
    assert_eq!(ask(&mut stranger, &[b"GET", &word]), "-NOAUTH Authentication required.");
    let cases: [(Vec<&[u8]>, &str); 3] = [
        (vec![b"x"; 11], "unauthenticated multibulk length"),
        (vec![b"GET", &[b'x'; (16 << 10) + 1]], "unauthenticated bulk length"),
        (vec![&word; 4], "unauthenticated request is longer than a stranger may send (65536 bytes)"),
    ];
    for (words, expected) in cases {
        let mut stranger = driver.connect();
        assert_eq!(ask(&mut stranger, &words), format!("-ERR Protocol error: {expected}"));
        assert!(stranger.closed);
        let mut friend = driver.connect();
        friend.check("auth secret", "+OK\r\n");
        ask(&mut friend, &words);
        assert!(!friend.closed);
    }
    let mut stranger = driver.connect();
    assert!(stranger.ask(&"x".repeat(16 << 10)).contains("too big inline request") && stranger.closed);
    // Replies wait in small number.
    let entry = driver.shared.clients.add(String::new(), String::new(), 1, 0);
    let mut session = Session::new(&driver.shared, entry);
    let mut output = Replies::new();
    let start = output.mark();
    let progress = session.advance(&driver.shared, &b"x\r\n".repeat(20_000), &mut output, start);
    assert!(
        progress.next == Next::Drain && output.since(start) < (16 << 10) + 1000,
        "{}",
        output.since(start)
    );
}

#[test]
fn a_stranger_has_little_time() {
    let driver = Driver::with_password("secret");
    let (stranger, mut friend) = (driver.connect(), driver.connect());
    friend.check("auth secret", "+OK\r\n");
    let connected = stranger.session.entry().connected_ms();
    let wait_until =
        |ms: u64| driver.shared.clock.advance((connected + ms).saturating_sub(driver.shared.clock_ms()));
    let active = |talk: &Talk<'_>| talk.session.entry().record_activity(driver.shared.clock_ms(), 0, 0);
    wait_until(60_000);
    active(&stranger);
    assert_eq!(stranger.session.overdue(&driver.shared, false), None);
    wait_until(60_001);
    let reason = stranger.session.overdue(&driver.shared, false);
    assert_eq!(reason.as_deref(), Some("gave no password within auth-timeout (60 s)"));
    assert_eq!(friend.session.overdue(&driver.shared, false), None);
    // A connection that another user takes over is no stranger from its beginning.
    wait_until(120_000);
    friend.check("reset", "+RESET\r\n");
    active(&friend);
    assert_eq!(friend.session.overdue(&driver.shared, false), None);
    wait_until(180_000);
    assert_eq!(friend.session.overdue(&driver.shared, false), None);
    wait_until(180_001);
    assert_eq!(friend.session.overdue(&driver.shared, false), reason);
    friend.check("auth secret", "+OK\r\n");
    assert_eq!(friend.session.overdue(&driver.shared, false), None);
    friend.check("config set auth-timeout 0", "+OK\r\n");
    assert_eq!(stranger.session.overdue(&driver.shared, false), None);
}

#[test]
fn idle_clients_have_as_long_as_timeout() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set timeout 5", "+OK\r\n");
    client.session.entry().record_activity(driver.shared.clock_ms(), 0, 0);
    driver.shared.clock.advance(5_000);
    assert_eq!(client.session.overdue(&driver.shared, false), None);
    driver.shared.clock.advance(1);
    let reason = client.session.overdue(&driver.shared, false);
    assert_eq!(reason.as_deref(), Some("was idle for longer than timeout (5 s)"));
}

#[test]
fn who_does_not_take_the_last_replies_is_not_waited_for() {
    let driver = Driver::new();
    let client = driver.connect();
    client.session.entry().record_activity(driver.shared.clock_ms(), 0, 0);
    driver.shared.clock.advance(10_000);
    assert_eq!(client.session.overdue(&driver.shared, true), None);
    driver.shared.clock.advance(1);
    assert!(client.session.overdue(&driver.shared, true).is_some());
    assert_eq!(client.session.overdue(&driver.shared, false), None);
}

#[test]
fn limits_are_seen_and_set_under_their_names() {
    let driver = Driver::new();
    let mut client = driver.connect();
    for limit in Limit::ALL {
        let name = limit.name();
        let reply = client.ask(&format!("config get {name}"));
        assert!(reply.starts_with(&format!("*2\r\n${}\r\n{name}\r\n", name.len())), "{reply}");
    }
    client.check_all(
        "config get client-output-buffer-limit -> *2|$26|client-output-buffer-limit|$21|normal 1073741824 0 0|
         config set client-output-buffer-limit 'normal 2mb 0 0 slave 256mb 64mb 60' -> +OK|
         config get client-output-buffer-limit -> *2|$26|client-output-buffer-limit|$18|normal 2097152 0 0|
         config set max-arguments 63 -> -ERR CONFIG SET failed (possibly related to argument 'max-arguments') - expected a whole number from 64 to 2147483647|
         config set client-output-buffer-limit 'normal 2mb 1mb 60' -> +OK|
         config get client-output-buffer-limit -> *2|$26|client-output-buffer-limit|$25|normal 2097152 1048576 60|
         config set client-output-buffer-limit 'normal 2mb x 60' -> -ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - the soft limit must be a size in bytes|
         config set client-output-buffer-limit 'normal 2mb 0 -1' -> -ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - argument must be between 0 and 2147483647 inclusive|
         config set client-output-buffer-limit 'pubsub 2mb 0 0' -> -ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - write BYTES or `normal HARD SOFT SECONDS`|",
    );
}

#[test]
fn http_ends_the_conversation_and_an_inline_get_does_not() {
    let driver = Driver::new();
    for line in
        ["GET / HTTP/1.1", "post / HTTP/1.1", "POST x", "Host: here", "PUT /k HTTP/1.0", "OPTIONS * HTTP/1.1"]
    {
        let mut client = driver.connect();
        let reply = client.send(format!("ping\r\n{line}\r\nset k 1\r\n").as_bytes());
        assert_eq!(String::from_utf8_lossy(&reply), "+PONG\r\n", "{line}");
        assert!(client.closed, "{line}");
    }
    let mut client = driver.connect();
    client.check("GET k", "$-1\r\n");
    client.check("SET k HTTP/1.1", "+OK\r\n");
    client.check("GET k x", "-ERR wrong number of arguments for 'get' command\r\n");
    assert!(!client.closed);
}

#[test]
fn a_name_is_no_place_to_keep_data() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let (passes, fails) = (vec![b'x'; 256], vec![b'x'; 257]);
    for (words, what) in [
        (vec![&b"CLIENT"[..], b"SETNAME"], "Client names"),
        (vec![b"HELLO", b"2", b"SETNAME"], "Client names"),
        (vec![b"CLIENT", b"SETINFO", b"LIB-NAME"], "lib-name"),
        (vec![b"CLIENT", b"SETINFO", b"LIB-VER"], "lib-ver"),
    ] {
        let refusal = format!("-ERR {what} cannot be longer than 256 bytes");
        assert_eq!(ask(&mut client, &[&words[..], &[&fails]].concat()), refusal);
        assert!(!ask(&mut client, &[&words[..], &[&passes]].concat()).starts_with('-'));
    }
}

#[test]
fn an_error_does_not_repeat_a_word_without_end() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let word = vec![b'x'; MIB];
    for words in [
        vec![&b"CONFIG"[..], b"SET", &word, b"1"],
        vec![b"CONFIG", b"SET", b"max-arguments", &word],
        vec![b"CONFIG", b"SET", b"maxmemory-policy", &word],
        vec![b"CLIENT", b"LIST", b"TYPE", &word],
        vec![b"EXPIRE", b"k", b"1", &word],
        vec![b"CLIENT", &word],
        vec![&word, &word],
    ] {
        let reply = ask(&mut client, &words);
        assert!(reply.starts_with("-ERR ") && reply.len() <= 4097, "{} bytes", reply.len());
    }
}

#[test]
fn there_may_be_as_many_users_as_acl_max_users() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "config set acl-max-users 3 -> +OK|
         acl setuser a on -> +OK|
         acl setuser b on -> +OK|
         acl setuser c on -> -ERR there would be more users than acl-max-users (3)|
         acl setuser b off -> +OK|
         acl deluser b -> :1|
         acl setuser c on -> +OK|
         acl users -> *3|$1|a|$1|c|$7|default|",
    );
}

#[test]
fn a_user_may_have_as_many_rules_as_acl_max_rules() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "config set acl-max-rules 4 -> +OK|
         acl setuser u >p ~a &b +get -> +OK|
         acl setuser u ~c -> -ERR the user would have more rules than acl-max-rules (4)|
         acl setuser u ~a +get >p -> +OK|
         acl setuser v (~a +get) ~b -> +OK|
         acl setuser v () -> -ERR the user would have more rules than acl-max-rules (4)|
         acl setuser v clearselectors (~a +get %W~b) -> -ERR the user would have more rules than acl-max-rules (4)|
         acl setuser v clearselectors (~a +set) -> +OK|",
    );
}

#[test]
fn the_security_log_has_as_many_entries_as_acllog_max_len() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set acllog-max-len 2", "+OK\r\n");
    for name in ["a", "b", "c"] {
        client.ask(&format!("auth {name} x"));
    }
    assert!(client.ask("acl log").starts_with("*2\r\n"));
    client.check("config set acllog-max-len 0", "+OK\r\n");
    assert!(client.ask("acl log").starts_with("*2\r\n"), "as in Redis, they leave with the next one");
    client.ask("auth d x");
    client.check("acl log", "*0\r\n");
    client.check("config set acllog-max-len 1", "+OK\r\n");
    // Of a long name a part is kept.
    let name = "n".repeat(2000);
    client.ask(&format!("auth {name} x"));
    let log = client.ask("acl log");
    assert!(log.contains(&format!("\r\n$1024\r\n{}\r\n", "n".repeat(1024))), "{log}");
}
