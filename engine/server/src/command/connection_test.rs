//! Commands about the connection: replies and error texts as Redis 7.0 gives them.

use crate::session::test_support::Driver;

#[test]
fn ping_echo_and_quit() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "ping -> +PONG|
         ping hello -> $5|hello|
         ping a b -> -ERR wrong number of arguments for 'ping' command|
         echo hi -> $2|hi|
         echo -> -ERR wrong number of arguments for 'echo' command|
         select 0 -> +OK|
         select 16 -> -ERR DB index is out of range|
         select 15 -> +OK|
         select 0 -> +OK|
         select 2147483648 -> -ERR value is out of range, value must between -2147483648 and 2147483647|
         select x -> -ERR value is not an integer or out of range|",
    );
    assert_eq!(client.send(b"ping\r\nquit\r\nping\r\n"), b"+PONG\r\n+OK\r\n");
    assert!(client.closed);
}

#[test]
fn hello_chooses_the_protocol() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "hello 4 -> -NOPROTO unsupported protocol version|
         hello x -> -ERR Protocol version is not an integer or out of range|
         hello 3 foo -> -ERR Syntax error in HELLO option 'foo'|
         hello 3 auth default -> -ERR Syntax error in HELLO option 'auth'|
         hello 3 setname a\u{7f} -> -ERR Client names cannot contain spaces, newlines or special characters.|
         get none -> $-1|",
    );
    // An option that holds is not undone by one that does not.
    client.check_all(
        "hello 3 setname first foo -> -ERR Syntax error in HELLO option 'foo'|
         client getname -> $5|first|",
    );
    let greeting = client.ask("hello 3 setname me");
    assert!(greeting.starts_with("%7\r\n$6\r\nserver\r\n$7\r\nplumbkv\r\n"), "{greeting}");
    assert!(greeting.contains("$5\r\nproto\r\n:3\r\n"), "{greeting}");
    client.check("get none", "_\r\n");
    client.check("client getname", "$2\r\nme\r\n");
    assert!(client.ask("hello").starts_with("%7\r\n"), "HELLO alone keeps the version");
    assert!(client.ask("hello 2").starts_with("*14\r\n"));
    client.check("reset", "+RESET\r\n");
    client.check("client getname", "$-1\r\n");
}

#[test]
fn a_password_stands_before_everything_else() {
    let driver = Driver::new();
    let mut early = driver.connect();
    driver.shared.set_password(Some("secret".to_owned()));
    early.check("ping", "+PONG\r\n");
    let mut client = driver.connect();
    client.check_all(
        "ping -> -NOAUTH Authentication required.|
         get k -> -NOAUTH Authentication required.|
         get -> -ERR wrong number of arguments for 'get' command|
         auth wrong -> -WRONGPASS invalid username-password pair or user is disabled.|
         auth other secret -> -WRONGPASS invalid username-password pair or user is disabled.|
         auth a b c -> -ERR syntax error|
         hello 3 auth default wrong -> -WRONGPASS invalid username-password pair or user is disabled.|
         auth secret -> +OK|
         ping -> +PONG|
         reset -> +RESET|
         ping -> -NOAUTH Authentication required.|
         auth default secret -> +OK|
         ping -> +PONG|",
    );
    let refused = driver.connect().ask("hello 3");
    assert!(
        refused.starts_with("-NOAUTH HELLO must be called with the client already authenticated"),
        "{refused}"
    );
    let mut modern = driver.connect();
    assert!(modern.ask("hello 3 auth default secret").starts_with("%7\r\n"));
    modern.check("ping", "+PONG\r\n");
}

#[test]
fn a_stranger_may_not_send_much() {
    let driver = Driver::new();
    driver.shared.set_password(Some("secret".to_owned()));
    let mut client = driver.connect();
    let reply = String::from_utf8(client.send(b"*11\r\n")).unwrap();
    assert!(reply.starts_with("-ERR Protocol error"), "{reply}");
    assert!(client.closed);
    let mut client = driver.connect();
    client.check("auth secret", "+OK\r\n");
    assert_eq!(client.send(b"*11\r\n$6\r\nexists\r\n"), b"", "the limits are lifted by AUTH");
}

#[test]
fn auth_without_a_password_says_so() {
    Driver::new().connect().check_all(
        "auth x -> -ERR AUTH <password> called without any password configured for the default user. Are you sure your \
         configuration is correct?|
         auth default anything -> +OK|
         auth other anything -> -WRONGPASS invalid username-password pair or user is disabled.|",
    );
}

#[test]
fn clients_are_named_and_listed() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let mut other = driver.connect();
    client.check_all(
        "client id -> :1|
         client getname -> $-1|
         client setname worker -> +OK|
         client getname -> $6|worker|
         client setinfo lib-name redis-py -> +OK|
         client setinfo LIB-VER 5.0 -> +OK|
         client setinfo colour red -> -ERR Unrecognized option 'colour'|
         client list type foo -> -ERR Unknown client type 'foo'|
         client list type replica -> $0||
         client list id a -> -ERR Invalid client ID|
         client list foo -> -ERR syntax error|
         client list type -> -ERR syntax error|",
    );
    other.check(
        "client setname \"a b\"",
        "-ERR Client names cannot contain spaces, newlines or special characters.\r\n",
    );
    let list = other.ask("client list");
    assert_eq!(list.matches("id=").count(), 2, "{list}");
    assert!(list.contains("id=1 addr=127.0.0.1:5 laddr=127.0.0.1:6379 fd=9 name=worker "), "{list}");
    assert!(list.contains("lib-name=redis-py lib-ver=5.0\n"), "{list}");
    assert!(list.contains(" cmd=client|list "), "{list}");
    let info = other.ask("client info");
    assert!(info.contains("id=2 ") && info.matches("id=").count() == 1, "{info}");
    assert_eq!(other.ask("client list id 1 7").matches("id=").count(), 1);
    assert!(other.ask("client help").starts_with("*"));
}

#[test]
fn connections_are_ended_by_number_and_by_address() {
    let driver = Driver::new();
    let (mut one, mut two, mut three) = (driver.connect(), driver.connect(), driver.connect());
    one.check_all(
        "client kill 1.2.3.4:5 -> -ERR No such client|
         client kill id 99999 -> :0|
         client kill addr 1.2.3.4:5 -> :0|
         client kill laddr 1.2.3.4:5 -> :0|
         client kill type pubsub -> :0|
         client kill foo bar -> -ERR syntax error|
         client kill id x -> -ERR client-id should be greater than 0|
         client kill id 0 -> -ERR client-id should be greater than 0|
         client kill type foo -> -ERR Unknown client type 'foo'|
         client kill user nosuch -> -ERR No such user 'nosuch'|
         client kill skipme maybe -> -ERR syntax error|
         client kill id 5 user -> -ERR syntax error|
         client kill -> -ERR wrong number of arguments for 'client|kill' command|
         client kill id 2 -> :1|",
    );
    assert_eq!(two.ask("set k v"), "", "it executes nothing more");
    assert!(two.closed && !one.closed);
    three.check("get k", "$-1\r\n");
    // All connections of this test have one address; SKIPME is YES unless it is said.
    one.check("client kill addr 127.0.0.1:5 user default type normal", ":2\r\n");
    assert_eq!(three.ask("ping"), "");
    one.check("client kill id 1 skipme no", ":1\r\n");
    assert!(one.closed);
    let mut last = driver.connect();
    last.check("client kill 127.0.0.1:5", "+OK\r\n");
    assert!(last.closed);
}

#[test]
fn replies_are_left_out_as_long_as_that_is_wanted() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("client reply skip", "");
    client.check("set k 1", "");
    client.check("get k", "$1\r\n1\r\n");
    client.check("client reply off", "");
    client.check("incr k", "");
    client.check("nosuch", "");
    client.check("client reply skip", "");
    client.check("incr k", "");
    client.check("client reply on", "+OK\r\n");
    client.check("get k", "$1\r\n3\r\n");
    client.check("client reply foo", "-ERR syntax error\r\n");
    // Queued, and executed by EXEC.
    client.check("multi", "+OK\r\n");
    client.check("incr k", "+QUEUED\r\n");
    client.check("client reply off", "+QUEUED\r\n");
    client.check("exec", "");
    client.check("ping", "");
    client.check("reset", "+RESET\r\n");
    client.check("get k", "$1\r\n4\r\n");
}

#[test]
fn what_is_not_there_is_said_as_redis_says_it() {
    Driver::new().connect().check_all(
        "client no-evict on -> +OK|
         client no-evict x -> -ERR syntax error|
         client getredir -> :-1|
         client trackinginfo -> *6|$5|flags|*1|$3|off|$8|redirect|:-1|$8|prefixes|*0|
         client unblock 99 -> :0|
         client unblock x -> -ERR value is not an integer or out of range|
         client unblock 99 foo -> -ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR|
         role -> *3|$6|master|:0|*0|
         wait 0 0 -> :0|
         wait x 10 -> -ERR value is not an integer or out of range|
         wait 0 x -> -ERR timeout is not an integer or out of range|
         wait 0 -1 -> -ERR timeout is negative|
         shutdown foo -> -ERR syntax error|
         shutdown save nosave -> -ERR syntax error|
         shutdown abort -> -ERR No shutdown in progress.|
         shutdown abort now -> -ERR syntax error|
         shutdown save -> -ERR keys in memory alone cannot be saved: start with --data, or use SHUTDOWN NOSAVE|
         multi -> +OK|
         shutdown nosave -> -ERR Command not allowed inside a transaction|
         discard -> +OK|",
    );
}
