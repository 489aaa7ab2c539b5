//! Users on real sockets: replies compared with redis-server to the byte, and what happens to
//! connections on several threads and to requests that a worker executes.
//!
//! `acl.txt` holds lines that run on both servers. Where Redis answers in random order, or differs
//! on purpose, the line is in the unit tests or in `docs` instead.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plumbkv_resp::{Limits, Parsed, Reply, parse_reply};

use crate::client::{Client, request, request_of};
use crate::server::{Redis, Server, eventually};

fn both() -> Option<(Server, Redis)> {
    let redis = Redis::start(&[])?;
    Some((Server::start(&[]), redis))
}

/// Connections of one server, by letter.
struct Connections<'a> {
    connect: Box<dyn Fn() -> Client + 'a>,
    hello: &'a str,
    open: BTreeMap<char, Client>,
}

impl<'a> Connections<'a> {
    fn new(connect: impl Fn() -> Client + 'a, hello: &'a str) -> Self {
        Self { connect: Box::new(connect), hello, open: BTreeMap::new() }
    }

    /// The reply to a command of one connection, which is opened when it is used first; `None` if
    /// it was closed.
    fn ask(&mut self, letter: char, line: &str) -> Option<Vec<u8>> {
        let client = self.open.entry(letter).or_insert_with(|| {
            let mut client = (self.connect)();
            client.ask(self.hello);
            client
        });
        // A server may have closed it already.
        let _ = client.try_send(&request(line));
        let reply = client.receive_if_open();
        if reply.is_none() {
            self.open.remove(&letter);
        }
        reply
    }
}

fn bulk<'r>(reply: &Reply<'r>) -> &'r [u8] {
    match reply {
        Reply::Bulk(bytes) => bytes,
        _ => b"",
    }
}

/// A reply of ACL LOG as text, without what depends on time and connection.
fn log_text(reply: &[u8]) -> String {
    let Parsed::Complete { value: Reply::Array(entries), .. } = parse_reply(reply, &Limits::default()) else {
        return reply.escape_ascii().to_string();
    };
    let fields = |entry: &Reply<'_>| -> Vec<String> {
        let pairs: Vec<(&[u8], String)> = match entry {
            Reply::Map(pairs) => {
                pairs.iter().map(|(name, value)| (bulk(name), format!("{value:?}"))).collect()
            }
            Reply::Array(words) => {
                words.chunks(2).map(|pair| (bulk(&pair[0]), format!("{:?}", pair[1]))).collect()
            }
            other => panic!("{other:?}"),
        };
        let masked = |(name, value): (&[u8], String)| match name {
            b"age-seconds" | b"client-info" => name.escape_ascii().to_string(),
            _ => format!("{}={value}", name.escape_ascii()),
        };
        pairs.into_iter().map(masked).collect()
    };
    entries.iter().map(|entry| fields(entry).join(" ")).collect::<Vec<_>>().join("\n")
}

fn compare(hello: &str) {
    let Some((server, redis)) = both() else { return };
    let mut ours = Connections::new(|| server.client(), hello);
    let mut theirs = Connections::new(|| redis.client(), hello);
    let (mut count, mut differences) = (0, Vec::new());
    for line in include_str!("acl.txt").lines() {
        let (head, command) = match line.split_once(": ") {
            Some(parts) if !line.starts_with("# ") => parts,
            _ => continue,
        };
        count += 1;
        let letter = head.chars().last().unwrap();
        let text = |reply: Option<Vec<u8>>| match reply {
            None => "closed".to_owned(),
            Some(reply) if head.starts_with('~') => reply[..1].escape_ascii().to_string(),
            Some(reply) if command.starts_with("ACL LOG") => log_text(&reply),
            Some(reply) => reply.escape_ascii().to_string(),
        };
        let (ours, theirs) = (text(ours.ask(letter, command)), text(theirs.ask(letter, command)));
        if ours != theirs {
            differences.push(format!("{line}\n  ours  {ours}\n  redis {theirs}"));
        }
    }
    assert!(count >= 250, "only {count} lines were compared");
    let report = differences.join("\n");
    assert!(differences.is_empty(), "{} of {count} replies differ:\n{report}", differences.len());
}

#[test]
fn acl_replies_are_redis_replies_in_resp2() {
    compare("HELLO 2");
}

#[test]
fn acl_replies_are_redis_replies_in_resp3() {
    compare("HELLO 3");
}

/// The categories of a command; `None` where the server does not have it.
fn categories(client: &mut Client, name: &str) -> Option<BTreeSet<String>> {
    let reply = client.ask(&format!("COMMAND INFO {name}"));
    let Parsed::Complete { value: Reply::Array(commands), .. } = parse_reply(&reply, &Limits::default())
    else {
        panic!("{name}: {}", reply.escape_ascii())
    };
    let [Reply::Array(fields)] = &commands[..] else { return None };
    let Reply::Array(names) = &fields[6] else { panic!("{name}: {fields:?}") };
    Some(names.iter().map(|name| format!("{name:?}")).collect())
}

#[test]
fn acl_categories_are_those_of_redis() {
    let Some((server, redis)) = both() else { return };
    let (mut ours, mut theirs) = (server.client(), redis.client());
    let reply = ours.ask("COMMAND LIST");
    let Parsed::Complete { value: Reply::Array(names), .. } = parse_reply(&reply, &Limits::default()) else {
        panic!("{}", reply.escape_ascii())
    };
    let mut unknown = Vec::new();
    for name in &names {
        let name = std::str::from_utf8(bulk(name)).unwrap();
        match categories(&mut theirs, name) {
            None => unknown.push(name),
            expected => assert_eq!(categories(&mut ours, name), expected, "{name}"),
        }
    }
    // Added by Redis 7.2.
    assert_eq!(unknown, ["client|setinfo"]);
    assert!(names.len() > 110, "{}", names.len());
}

/// Rules that are drawn at random allow and deny the same requests.
#[test]
fn acl_rules_mean_what_they_mean_in_redis() {
    const RULES: &str = "+@all, -@all, +@read, -@read, +@write, -@write, +@string, -@string, +@keyspace, +@fast, -@fast, \
                         +@slow, -@slow, +@connection, -@connection, +@dangerous, -@dangerous, +@admin, -@admin, \
                         +@scripting, +@transaction, +get, -get, +set, -set, +mget, +config, -config, +config|get, \
                         -config|get, +client, -client|id, +select|0, +select, -select, +ping|x, ~a*, ~*, resetkeys, \
                         %R~r*, %W~w*, %RW~*x, allkeys, (~b* +@read), (%W~a* +set), (+@all %R~*), clearselectors, \
                         ~[a-c]?";
    const REQUESTS: &str = "get a1, get r1, get w1, get bx, get z, set a1 v, set w1 v, set w1 v get, set r1 v, mget a1 r1, \
                            mset a1 1 w1 2, exists z w1, del a1 b1, rename a1 w1, copy r1 w1, append w1 v, ttl r1, \
                            expire w1 1, getex a1, getdel w1, dump r1, object encoding r1, object help, \
                            memory usage w1, memory help, config get x, config set x y, config help, client id, \
                            client list, client no-evict on, select 0, select 1, ping, ping x, ping X, auth x, hello, \
                            quit, reset, eval s 1 a1, eval s 2 a1 r1, eval_ro s 1 r1, evalsha s 0, script load x, multi, \
                            exec, watch r1 w1, keys *, scan 0, dbsize, flushall, info, role, time, command, \
                            command count, acl whoami, acl list, wait 0 0, randomkey, lcs a1 bx, shutdown";
    let (all_rules, requests): (Vec<&str>, Vec<&str>) =
        (RULES.split(", ").collect(), REQUESTS.split(", ").collect());
    let Some((server, redis)) = both() else { return };
    let (mut ours, mut theirs) = (server.client(), redis.client());
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..150 {
        let count = random.usize(1..9);
        let rules: Vec<&str> = (0..count).map(|_| all_rules[random.usize(..all_rules.len())]).collect();
        let user = format!("u{round}");
        let mut words = vec![&b"ACL"[..], b"SETUSER", user.as_bytes()];
        words.extend(rules.iter().map(|rule| rule.as_bytes()));
        let wire = request_of(&words);
        ours.send(&wire);
        theirs.send(&wire);
        let (reply, expected) = (ours.receive(), theirs.receive());
        assert_eq!(reply.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{rules:?}");
        for line in &requests {
            let line = format!("ACL DRYRUN {user} {line}");
            let (reply, expected) = (ours.ask(&line), theirs.ask(&line));
            assert_eq!(
                reply.escape_ascii().to_string(),
                expected.escape_ascii().to_string(),
                "{line} under {rules:?}"
            );
        }
    }
}

/// What `ACL LIST` shows makes the same user again.
#[test]
fn acl_list_can_be_given_to_setuser() {
    let server = Server::start(&[]);
    let mut client = server.client();
    client.check(
        "ACL SETUSER u on >p ~a* %R~b &c +@read -@dangerous +config|get +select|0 (~d +set) ()",
        b"+OK\r\n",
    );
    let line = |client: &mut Client, name: &str| {
        let reply = client.ask("ACL LIST");
        let lines = String::from_utf8(reply).unwrap();
        let begin = format!("user {name} ");
        lines.split("\r\n").find_map(|line| line.strip_prefix(&begin).map(str::to_owned)).unwrap()
    };
    let rules = line(&mut client, "u");
    client.check(&format!("ACL SETUSER v {rules}"), b"+OK\r\n");
    assert_eq!(line(&mut client, "v"), rules);
}

#[test]
fn acl_deluser_closes_connections_on_all_threads() {
    let server = Server::start(&["--io-threads", "2"]);
    let mut admin = server.client();
    admin.check("ACL SETUSER u on nopass ~* +@all", b"+OK\r\n");
    let mut clients: Vec<Client> = (0..8).map(|_| server.client()).collect();
    for client in &mut clients {
        client.check("AUTH u x", b"+OK\r\n");
    }
    let mut other = server.client();
    admin.check("ACL DELUSER u", b":1\r\n");
    admin.check("ACL SETUSER u on nopass ~* +@all", b"+OK\r\n");
    for client in &mut clients {
        let (reply, is_closed) = client.receive_to_end(Duration::from_secs(5));
        assert!(is_closed && reply.is_empty(), "{}", reply.escape_ascii());
    }
    eventually("they are let go", || admin.info("connected_clients") == 2);
    other.check("AUTH u x", b"+OK\r\n");
}

#[test]
fn acl_changes_hold_for_the_next_request_of_every_connection() {
    let server = Server::start(&["--io-threads", "2"]);
    let mut admin = server.client();
    admin.check("ACL SETUSER u on nopass ~* +get", b"+OK\r\n");
    let mut clients: Vec<Client> = (0..6).map(|_| server.client()).collect();
    for client in &mut clients {
        client.check("AUTH u x", b"+OK\r\n");
    }
    for round in 0..100 {
        let (rule, expected): (_, &[u8]) = match round % 2 {
            0 => ("-get", b"-NOPERM this user has no permissions to run the 'get' command\r\n"),
            _ => ("+get", b"$-1\r\n"),
        };
        admin.check(&format!("ACL SETUSER u {rule}"), b"+OK\r\n");
        clients.iter_mut().for_each(|client| client.check("GET k", expected));
    }
}

/// Workers of a durable server execute scripts, transactions and long requests.
#[test]
fn acl_holds_for_requests_that_a_worker_executes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&["--data", folder.path().to_str().unwrap()]);
    let (mut admin, mut client) = (server.client(), server.client());
    admin.check("ACL SETUSER u on >pw ~a* +mget +get +set +eval +multi +exec +auth", b"+OK\r\n");
    client.check("AUTH u pw", b"+OK\r\n");
    let keys: String = (0..200).map(|number| format!(" a{number}")).collect();
    assert!(client.ask(&format!("MGET{keys}")).starts_with(b"*200\r\n$-1\r\n"));
    let no_key = b"-NOPERM this user has no permissions to access one of the keys used as arguments\r\n";
    client.check(&format!("MGET{keys} b"), no_key);
    client.check("EVAL \"return redis.call('set', KEYS[1], '1')\" 1 a", b"+OK\r\n");
    client.check("EVAL \"return 1\" 1 b", no_key);
    client.check(
        "EVAL \"return redis.pcall('get', 'b')\" 0",
        b"-ERR The user executing the script can't access at least one of the keys mentioned in the command \
          arguments\r\n",
    );
    client.check("EVALSHA abc 0", b"-NOPERM this user has no permissions to run the 'evalsha' command\r\n");
    client.check("MULTI", b"+OK\r\n");
    client.check("SET a 2", b"+QUEUED\r\n");
    admin.check("ACL SETUSER u -set", b"+OK\r\n");
    let reply = client.ask("EXEC");
    assert!(reply.starts_with(b"*1\r\n-NOPERM ACLs rules changed"), "{}", reply.escape_ascii());
    admin.check("GET a", b"$1\r\n1\r\n");
    // A login within a transaction lasts.
    client.check("MULTI", b"+OK\r\n");
    client.check("AUTH default x", b"+QUEUED\r\n");
    client.check("EXEC", b"*1\r\n+OK\r\n");
    client.check("ACL WHOAMI", b"$7\r\ndefault\r\n");
    client.check("GET b", b"$-1\r\n");
    // So does the end of a user there.
    client.check("AUTH u pw", b"+OK\r\n");
    admin.check("ACL SETUSER u +acl", b"+OK\r\n");
    client.check("MULTI", b"+OK\r\n");
    client.check("ACL DELUSER u", b"+QUEUED\r\n");
    client.check("EXEC", b"*1\r\n:1\r\n");
    assert_eq!(client.receive_if_open(), None);
}
