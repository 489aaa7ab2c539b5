//! ACL, and what users may do: replies and error texts as redis-server 7.0.15 gives them.

use crate::session::test_support::{Driver, Talk};

const OF_PW: &str = "30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4";

/// A client that has logged in as `u` with these rules.
fn user<'a>(driver: &'a Driver, rules: &str) -> Talk<'a> {
    driver.connect().check(&format!("acl setuser u on >pw {rules}"), "+OK\r\n");
    let mut client = driver.connect();
    client.check("auth u pw", "+OK\r\n");
    client
}

#[test]
fn users_are_made_shown_and_deleted() {
    Driver::new().connect().check_all(&format!(
        "acl whoami -> $7|default|
         acl users -> *1|$7|default|
         acl list -> *1|$34|user default on nopass ~* &* +@all|
         acl setuser u -> +OK|
         acl setuser u >pw ~a %R~r +get +config|get (~b +set &c) -> +OK|
         acl getuser u -> *12|$5|flags|*1|$3|off|$9|passwords|*1|$64|{OF_PW}|$8|commands|$22|-@all +get +config|get|$4|keys|$7|~a %R~r|$8|channels|$0||$9|selectors|*1|*6|$8|commands|$10|-@all +set|$4|keys|$2|~b|$8|channels|$2|&c|
         acl users -> *2|$7|default|$1|u|
         acl getuser nosuch -> $-1|
         acl deluser default -> -ERR The 'default' user cannot be removed|
         acl deluser nosuch u u -> :1|
         acl deluser u -> :0|
         acl users -> *1|$7|default|
         acl load -> -ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.|
         acl -> -ERR wrong number of arguments for 'acl' command|
         acl whoami x -> -ERR wrong number of arguments for 'acl|whoami' command|
         acl nosuch -> -ERR unknown subcommand 'nosuch'. Try ACL HELP.|
         acl cat a b -> -ERR unknown subcommand or wrong number of arguments for 'cat'. Try ACL HELP.|
         acl Genpass 1 2 -> -ERR unknown subcommand or wrong number of arguments for 'Genpass'. Try ACL HELP.|"
    ));
}

#[test]
fn a_user_is_a_map_in_resp3() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.ask("hello 3");
    client.check_all(
        "acl getuser default -> %6|$5|flags|~2|$2|on|$6|nopass|$9|passwords|*0|$8|commands|$5|+@all|$4|keys|$2|~*|$8|channels|$2|&*|$9|selectors|*0|
         acl getuser nosuch -> _|
         acl log -> *0|",
    );
    client.ask("auth nosuch x");
    let log = client.ask("acl log");
    assert!(log.starts_with("*1\r\n%7\r\n$5\r\ncount\r\n:1\r\n"), "{log}");
    assert!(log.contains("$11\r\nage-seconds\r\n,0\r\n"), "{log}");
}

#[test]
fn categories_and_passwords_are_generated() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "acl cat nosuch -> -ERR Unknown category 'nosuch'|
         acl cat Transaction -> *5|$5|multi|$4|exec|$7|discard|$5|watch|$7|unwatch|
         acl cat hash -> *0|
         acl genpass 0 -> -ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096|
         acl genpass 4097 -> -ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096|
         acl genpass x -> -ERR value is not an integer or out of range|",
    );
    assert!(client.ask("acl cat").starts_with("*21\r\n$8\r\nkeyspace\r\n$4\r\nread\r\n"));
    for (bits, digits) in [("", 64), ("1", 1), ("4", 1), ("5", 2), ("4096", 1024)] {
        let reply = client.ask(&format!("acl genpass {bits}"));
        let password = reply.split("\r\n").nth(1).unwrap();
        assert_eq!(password.len(), digits, "{bits}");
        assert!(password.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{password}");
    }
    assert_ne!(client.ask("acl genpass"), client.ask("acl genpass"));
    assert!(client.ask("acl help").contains("+SETUSER\r\n"));
}

#[test]
fn only_what_a_user_is_allowed_is_executed() {
    let driver = Driver::new();
    let mut client = user(&driver, "~a* %R~r* %W~w* +get +set +mget +rename +config|get +select|0 +exists");
    client.check_all(
        "get a1 -> $-1|
         get r1 -> $-1|
         get b1 -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         get -> -ERR wrong number of arguments for 'get' command|
         nosuch -> -ERR unknown command 'nosuch', with args beginning with: |
         set w1 v -> +OK|
         set w1 v get -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         set r1 v -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         mget a1 r1 w1 -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         exists w1 r1 a1 -> :1|
         exists z1 -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         rename w1 a1 -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         del a1 -> -NOPERM this user has no permissions to run the 'del' command|
         config get timeout -> *2|$7|timeout|$1|0|
         config set timeout 1 -> -NOPERM this user has no permissions to run the 'config|set' command|
         config nosuch -> -ERR unknown subcommand 'nosuch'. Try CONFIG HELP.|
         select 0 -> +OK|
         select 1 -> -NOPERM this user has no permissions to run the 'select' command|
         ping -> -NOPERM this user has no permissions to run the 'ping' command|
         acl whoami -> -NOPERM this user has no permissions to run the 'acl|whoami' command|
         auth u wrong -> -WRONGPASS invalid username-password pair or user is disabled.|
         get a1 -> $-1|
         reset -> +RESET|
         acl whoami -> $7|default|",
    );
    let info = client.ask("info commandstats");
    let del = info.split("\r\n").find(|line| line.starts_with("cmdstat_del:calls=0,"));
    assert!(del.is_some_and(|line| line.contains(",rejected_calls=1,")), "{info}");
    assert!(client.ask("client info").contains(" user=default "));
    client.check("auth u pw", "+OK\r\n");
    assert!(driver.connect().ask("client list").contains(" user=u "));
}

#[test]
fn a_change_holds_for_connections_that_are_there() {
    let driver = Driver::new();
    let (mut admin, mut client) = (driver.connect(), user(&driver, "allkeys +get"));
    client.check("get k", "$-1\r\n");
    admin.check("acl setuser u -get", "+OK\r\n");
    client.check("get k", "-NOPERM this user has no permissions to run the 'get' command\r\n");
    admin.check("acl setuser u +@all allchannels", "+OK\r\n");
    client.check("set k v", "+OK\r\n");
    // Within the pipeline that changes its own user.
    let replies = client.send(b"acl setuser u -set\r\nset k w\r\nget k\r\n");
    let text = "+OK\r\n-NOPERM this user has no permissions to run the 'set' command\r\n$1\r\nv\r\n";
    assert_eq!(String::from_utf8(replies).unwrap(), text);
    // Off ends no connection, and lets no new one in.
    admin.check("acl setuser u off", "+OK\r\n");
    client.check("get k", "$1\r\nv\r\n");
    admin.check("auth u pw", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    admin.check("acl setuser default -get", "+OK\r\n");
    admin.check("get k", "-NOPERM this user has no permissions to run the 'get' command\r\n");
    driver.connect().check("get k", "-NOPERM this user has no permissions to run the 'get' command\r\n");
}

#[test]
fn connections_of_a_deleted_user_end() {
    let driver = Driver::new();
    let (mut admin, mut one) = (driver.connect(), user(&driver, "allkeys +get +acl"));
    let mut two = driver.connect();
    two.check("auth u pw", "+OK\r\n");
    assert_eq!(one.send(b"acl deluser u\r\nget k\r\n"), b":1\r\n");
    assert!(one.closed);
    // A user of the same name is another one.
    admin.check("acl setuser u on nopass allkeys +get", "+OK\r\n");
    assert_eq!(two.ask("get k"), "");
    assert!(two.closed && !admin.closed);
    admin.check("ping", "+PONG\r\n");
    admin.check("auth u pw", "+OK\r\n");
    let mut other = driver.connect();
    other.check("client kill user nosuch", "-ERR No such user 'nosuch'\r\n");
    // Without sockets the closed ones are listed still.
    other.check("client kill user u", ":3\r\n");
    assert_eq!(admin.ask("get k"), "");
    assert!(other.ask("client kill user default skipme no").starts_with(':'));
    assert!(other.closed);
}

const CHANGED: &str = "ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This \
                       command is no longer allowed for the following reason";

#[test]
fn queued_commands_are_checked_when_they_are_queued_and_at_exec() {
    let driver = Driver::new();
    let (mut admin, mut client) =
        (driver.connect(), user(&driver, "~a* +get +set +multi +exec +discard +ping"));
    client.check_all(
        "multi -> +OK|
         get b -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         get a -> +QUEUED|
         exec -> -EXECABORT Transaction discarded because of previous errors.|
         multi -> +OK|
         get a -> +QUEUED|
         set a v -> +QUEUED|
         ping -> +QUEUED|",
    );
    admin.check("acl setuser u -get resetkeys ~b*", "+OK\r\n");
    client.check(
        "exec",
        &format!(
            "*3\r\n-NOPERM {CHANGED}: no permission to execute the command or subcommand\r\n\
             -NOPERM {CHANGED}: no permission to touch the specified keys\r\n+PONG\r\n"
        ),
    );
    client.check_all("multi -> +OK|\nping -> +QUEUED|");
    admin.check("acl setuser u -exec", "+OK\r\n");
    let denied = "-EXECABORT Transaction discarded because of: NOPERM this user has no permissions to run the 'exec' \
                  command\r\n";
    client.check("exec", denied);
    client.check("ping", "+PONG\r\n");
    client.check("exec", denied);
    // The user may change within a transaction.
    admin.check("acl setuser u +exec +acl|whoami +auth", "+OK\r\n");
    client.check_all(
        "multi -> +OK|
         auth default x -> +QUEUED|
         acl whoami -> +QUEUED|
         get k -> -NOPERM this user has no permissions to run the 'get' command|
         discard -> +OK|
         multi -> +OK|
         auth default x -> +QUEUED|
         acl whoami -> +QUEUED|
         exec -> *2|+OK|$7|default|
         get k -> $-1|",
    );
}

#[test]
fn commands_of_scripts_are_checked() {
    let driver = Driver::new();
    let mut client = user(&driver, "~a* +get +set +eval +evalsha");
    client.check_all(
        r#"eval "return redis.call('set', 'a', 1)" 0 -> +OK|
         eval "return redis.pcall('get', 'b')" 0 -> -ERR The user executing the script can't access at least one of the keys mentioned in the command arguments|
         eval "return redis.pcall('del', 'a')" 0 -> -ERR The user executing the script can't run this command or subcommand|
         eval "return redis.pcall('nosuch', 'a')" 0 -> -ERR Unknown Redis command called from script|
         eval "return redis.pcall('acl', 'whoami')" 0 -> -ERR This Redis command is not allowed from script|
         eval "return redis.call('get', 'a')" 1 a -> $1|1|
         eval "return 1" 1 b -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         eval "return 1" 2 a b -> -NOPERM this user has no permissions to access one of the keys used as arguments|
         eval "return 1" 5 b -> -ERR Number of keys can't be greater than number of args|
         eval_ro "return 1" 0 -> -NOPERM this user has no permissions to run the 'eval_ro' command|
         script load "return 1" -> -NOPERM this user has no permissions to run the 'script|load' command|"#,
    );
}

#[test]
fn refusals_are_logged() {
    let driver = Driver::new();
    let (mut admin, mut client) = (driver.connect(), user(&driver, "~a +get +multi +exec +eval"));
    for line in ["get b", "get b", "del a", "eval \"redis.call('get', 'c')\" 0", "AUTH u wrong"] {
        client.ask(line);
    }
    client.ask("multi");
    client.ask("del a");
    client.ask("exec");
    let log = admin.ask("acl log");
    let field = |name: &str| {
        let head = format!("\r\n{name}\r\n");
        let values = log.split(&head).skip(1);
        values.map(|rest| rest.split("\r\n").find(|word| !word.starts_with('$')).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(field("count"), [":1", ":1", ":1", ":1", ":2"]);
    assert_eq!(field("reason"), ["command", "auth", "key", "command", "key"]);
    assert_eq!(field("context"), ["multi", "toplevel", "lua", "toplevel", "toplevel"]);
    assert_eq!(field("object"), ["del", "AUTH", "c", "del", "b"]);
    assert_eq!(field("username"), ["u"; 5]);
    assert!(field("client-info").iter().all(|line| line.contains(" user=u ")), "{log}");
    admin.check("acl log 0", "*0\r\n");
    assert!(admin.ask("acl log 2").starts_with("*2\r\n"));
    admin.check_all(
        "acl log -1 -> *0|
         acl log x -> -ERR value is not an integer or out of range|
         acl log reset -> +OK|
         acl log -> *0|",
    );
}

#[test]
fn a_dry_run_says_what_is_denied() {
    let driver = Driver::new();
    driver.connect().check_all(
        "acl setuser d on ~a %R~r +get +set +copy -> +OK|
         acl dryrun d get a -> +OK|
         acl dryrun d get z -> $50|This user has no permissions to access the 'z' key|
         acl dryrun d copy r r -> $50|This user has no permissions to access the 'r' key|
         acl dryrun d del a -> $53|This user has no permissions to run the 'del' command|
         acl dryrun d config get x -> $60|This user has no permissions to run the 'config|get' command|
         acl dryrun d config nosuch -> -ERR Command 'config' not found|
         acl dryrun d config -> -ERR wrong number of arguments for 'config' command|
         acl dryrun d get -> -ERR wrong number of arguments for 'get' command|
         acl dryrun default nosuch -> -ERR Command 'nosuch' not found|
         acl dryrun nosuch get a -> -ERR User 'nosuch' not found|
         acl log -> *0|",
    );
}

#[test]
fn requirepass_is_the_password_of_the_default_user() {
    let driver = Driver::new();
    let mut admin = driver.connect();
    admin.check_all(&format!(
        "config set requirepass pw -> +OK|
         acl list -> *1|$93|user default on #{OF_PW} ~* &* +@all|
         acl setuser default nopass -> +OK|
         config get requirepass -> *2|$11|requirepass|$2|pw|
         acl setuser default resetpass >other -> +OK|"
    ));
    let mut client = driver.connect();
    client.check_all(
        "ping -> -NOAUTH Authentication required.|
         auth pw -> -WRONGPASS invalid username-password pair or user is disabled.|
         exec -> -EXECABORT Transaction discarded because of: NOAUTH Authentication required.|
         auth other -> +OK|
         ping -> +PONG|",
    );
    let mut waiting = driver.connect();
    waiting.check("ping", "-NOAUTH Authentication required.\r\n");
    admin.check("acl setuser default off nopass", "+OK\r\n");
    waiting.check("ping", "-NOAUTH Authentication required.\r\n");
    waiting.check("auth default x", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    admin.check("config set requirepass \"\"", "+OK\r\n");
    admin.check("acl setuser default on", "+OK\r\n");
    waiting.check("ping", "+PONG\r\n");
}
