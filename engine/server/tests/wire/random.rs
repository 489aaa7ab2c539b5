//! Random commands beside redis-server 7.0.15: each reply is compared to the byte.
//!
//! Two connections to each server send pipelines of random length in random pieces, so that
//! transactions, watches and scripts of one meet the writes of the other. A seed decides all of it.
//! `PLUMBKV_RANDOM_COMMANDS=1000000` says how many commands each test sends, `PLUMBKV_RANDOM_SEED`
//! with which seed. `random/commands.rs` lists what is left out, and why.

mod commands;
mod compare;
mod scripts;
mod words;

use std::collections::VecDeque;
use std::fmt::Write as _;

use plumbkv_resp::{Limits, Parsed, Reply, parse_reply};

use crate::client::{Client, request_of};
use crate::server::{Redis, Server};
use commands::{Compared, END_MS, Generator, NOT_DRAWN, Request};
use words::Word;

/// Commands of a test unless the environment says otherwise.
const COMMANDS: u64 = 20_000;

/// Requests that a failing test prints.
const PRINTED: usize = 60;

/// Values of DUMP that are kept to be restored.
const DUMPS: usize = 16;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// The last requests, which a failing test prints.
struct Journal {
    seed: u64,
    count: u64,
    lines: VecDeque<String>,
}

impl Journal {
    fn note(&mut self, connection: usize, words: &[Word]) {
        self.count += 1;
        let mut line = format!("{connection}>");
        for word in words {
            let (part, rest) = word.split_at(word.len().min(160));
            let _ = write!(line, " \"{}\"", part.escape_ascii());
            if !rest.is_empty() {
                let _ = write!(line, "+{} bytes", rest.len());
            }
        }
        if self.lines.len() == PRINTED {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let lines = self.lines.make_contiguous().join("\n");
            eprintln!("seed {}, up to command {}:\n{lines}", self.seed, self.count);
        }
    }
}

/// One connection to each server.
struct Pair {
    ours: Client,
    theirs: Client,
    /// How the replies of queued requests will be compared.
    queued: Vec<Compared>,
}

impl Pair {
    fn connect(server: &Server, redis: &Redis, hello: &str) -> Self {
        let mut pair = Self { ours: server.client(), theirs: redis.client(), queued: Vec::new() };
        pair.ours.ask(hello);
        pair.theirs.ask(hello);
        pair
    }

    /// Sends the same bytes to both, in pieces. A server that closes in between is found out when
    /// its replies are read.
    fn send(&mut self, bytes: &[u8], random: &mut fastrand::Rng) {
        let mut cuts: Vec<usize> = (0..random.usize(..4)).map(|_| random.usize(..=bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        for client in [&mut self.ours, &mut self.theirs] {
            for piece in cuts.windows(2) {
                let _ = client.try_send(&bytes[piece[0]..piece[1]]);
            }
        }
    }

    fn receive(&mut self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (self.ours.receive_if_open(), self.theirs.receive_if_open())
    }

    /// Whether the replies to a request are the same, which may be an EXEC.
    fn agree(&mut self, request: &Request, ours: &[u8], theirs: &[u8]) -> bool {
        let is = |name: &[u8]| request.words[0].eq_ignore_ascii_case(name);
        if is(b"exec") {
            let queued = std::mem::take(&mut self.queued);
            return compare::are_same_all(&queued, ours, theirs);
        }
        if is(b"multi") || is(b"discard") || is(b"reset") {
            if ours.starts_with(b"+OK") || ours.starts_with(b"+RESET") {
                self.queued.clear();
            }
        } else if ours == b"+QUEUED\r\n" {
            self.queued.push(request.compared);
        }
        compare::are_same(request.compared, ours, theirs)
    }
}

/// Both servers, and what was done to them.
struct Test {
    // Dropped first, so that it is printed before servers end.
    journal: Journal,
    pairs: [Pair; 2],
    /// Looks at the state of both between pipelines, outside of transactions.
    observer: Pair,
    random: fastrand::Rng,
    generator: Generator,
    hello: &'static str,
    server: Server,
    redis: Redis,
}

impl Test {
    fn begin(seed: u64, hello: &'static str) -> Option<Self> {
        let settings = ["--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lru"];
        let redis = Redis::start(&settings)?;
        let server = Server::start(&[
            "--memory-limit",
            "1gb",
            "--maxmemory-policy",
            "allkeys-lru",
            "--log-level",
            "debug",
        ]);
        let connect = || Pair::connect(&server, &redis, hello);
        Some(Self {
            journal: Journal { seed, count: 0, lines: VecDeque::new() },
            pairs: [connect(), connect()],
            observer: connect(),
            random: fastrand::Rng::with_seed(seed),
            generator: Generator::new(seed, hello),
            hello,
            server,
            redis,
        })
    }

    fn run(&mut self, count: u64) {
        while self.journal.count < count {
            let connection = self.random.usize(..2);
            match self.random.u32(..100) {
                0 => self.quit(connection),
                1 => self.mute(connection),
                2..=9 => self.observe(),
                10..=29 => self.watch(connection),
                _ => {
                    let requests = self.generator.pipeline();
                    self.exchange(connection, &requests);
                }
            }
        }
        self.observe();
    }

    fn exchange(&mut self, connection: usize, requests: &[Request]) {
        self.send(connection, requests, &[]);
        self.compare(connection, requests);
    }

    fn send(&mut self, connection: usize, requests: &[Request], behind: &[u8]) {
        let mut bytes = Vec::new();
        for Request { words, .. } in requests {
            self.journal.note(connection, words);
            if self.random.u32(..16) == 0 && can_be_inline(words) {
                bytes.extend_from_slice(&words.join(&b' '));
                bytes.extend_from_slice(b"\r\n");
            } else {
                bytes.extend_from_slice(&composed(words));
            }
        }
        bytes.extend_from_slice(behind);
        self.pairs[connection].send(&bytes, &mut self.random);
    }

    fn compare(&mut self, connection: usize, requests: &[Request]) {
        let before = self.journal.count - requests.len() as u64;
        for (place, request) in requests.iter().enumerate() {
            let pair = &mut self.pairs[connection];
            let (ours, theirs) = pair.receive();
            let are_same = match (&ours, &theirs) {
                (Some(ours), Some(theirs)) => pair.agree(request, ours, theirs),
                _ => false,
            };
            if !are_same {
                let later = requests.len() - place - 1;
                let mut text = |reply: Option<Vec<u8>>| match reply {
                    Some(reply) => reply[..reply.len().min(4_000)].escape_ascii().to_string(),
                    None => format!("closed the connection; {}", self.server.last_words()),
                };
                panic!(
                    "seed {}, command {}, {later} requests before the last printed one: {}\n  ours  {}\n  redis {}",
                    self.journal.seed,
                    before + place as u64 + 1,
                    request
                        .words
                        .iter()
                        .map(|word| format!("\"{}\" ", word.escape_ascii()))
                        .collect::<String>(),
                    text(ours),
                    text(theirs),
                );
            }
            if let Some(ours) = ours.filter(|_| request.words[0].eq_ignore_ascii_case(b"dump")) {
                self.keep_dump(&ours);
            }
        }
    }

    fn keep_dump(&mut self, reply: &[u8]) {
        let Parsed::Complete { value: Reply::Bulk(payload), .. } = parse_reply(reply, &Limits::default())
        else {
            return;
        };
        let dumps = &mut self.generator.dumps;
        if dumps.len() == DUMPS {
            dumps.swap_remove(self.random.usize(..DUMPS));
        }
        dumps.push(payload.to_vec());
    }

    /// A watch, few commands on its key, mostly of the other connection, and a transaction: which of
    /// them fail it?
    fn watch(&mut self, connection: usize) {
        let key = self.generator.words.key();
        let watching = vec![
            exactly(&["DISCARD"]),
            Request { words: vec![b"WATCH".to_vec(), key.clone()], ..exactly(&[]) },
        ];
        self.exchange(connection, &watching);
        let is_own = self.random.u32(..8) == 0;
        // In a transaction of its own it would change nothing.
        let mut changes = if is_own { Vec::new() } else { vec![exactly(&["DISCARD"])] };
        for _ in 0..self.random.u32(1..3) {
            changes.push(self.generator.about(&key));
        }
        self.exchange(if is_own { connection } else { 1 - connection }, &changes);
        self.exchange(connection, &[exactly(&["MULTI"]), exactly(&["PING"]), exactly(&["EXEC"])]);
    }

    /// A pipeline that ends with QUIT, and a new connection.
    fn quit(&mut self, connection: usize) {
        let mut requests = self.generator.pipeline();
        requests.push(exactly(&["qUit"]));
        self.exchange(connection, &requests);
        let end = self.pairs[connection].receive();
        assert_eq!(end, (None, None), "after QUIT");
        self.pairs[connection] = Pair::connect(&self.server, &self.redis, self.hello);
    }

    /// A pipeline in which replies are turned off and on: all bytes until the last reply are the
    /// same.
    fn mute(&mut self, connection: usize) {
        const LAST: &str = "the last reply of all";
        let mut requests = vec![exactly(&["RESET"])];
        for request in self.generator.pipeline() {
            if self.random.u32(..4) == 0 {
                requests.push(exactly(&["CLIENT", "REPLY", ["OFF", "SKIP", "ON"][self.random.usize(..3)]]));
            }
            // In a transaction Redis would cut the reply of EXEC.
            if request.compared == Compared::Exactly && !request.words[0].eq_ignore_ascii_case(b"multi") {
                requests.push(request);
            }
        }
        requests.extend([exactly(&["RESET"]), exactly(&["CLIENT", "REPLY", "ON"])]);
        let last = exactly(&["ECHO", LAST]);
        self.send(connection, &requests, &composed(&last.words));
        let expected = format!("${}\r\n{LAST}\r\n", LAST.len());
        let pair = &mut self.pairs[connection];
        let replies = [&mut pair.ours, &mut pair.theirs].map(|client| {
            let mut replies = String::new();
            loop {
                let reply = client.receive();
                let _ = writeln!(replies, "{}", reply.escape_ascii());
                if reply == expected.as_bytes() {
                    return replies;
                }
            }
        });
        assert_eq!(
            replies[0], replies[1],
            "replies that are turned off and on, with seed {}",
            self.journal.seed
        );
        pair.queued.clear();
        pair.ours.ask(self.hello);
        pair.theirs.ask(self.hello);
    }

    /// Compares all keys, their values and their ends.
    fn observe(&mut self) {
        let mut options = format!("COUNT {}", self.random.u32(1..30));
        options += ["", " TYPE string", " MATCH *", " MATCH *e*", " MATCH [a-c]"][self.random.usize(..5)];
        let database = ["0", "0", "1", "15"][self.random.usize(..4)];
        let Pair { ours, theirs, .. } = &mut self.observer;
        ours.check(&format!("SELECT {database}"), b"+OK\r\n");
        theirs.check(&format!("SELECT {database}"), b"+OK\r\n");
        let [found, keys] = [ours, theirs].map(|client| {
            let mut keys = client.scan(&options);
            keys.sort_unstable();
            keys.dedup();
            keys
        });
        let seed = self.journal.seed;
        assert_eq!(escaped(&found), escaped(&keys), "SCAN {options} with seed {seed}");
        for key in keys {
            for (name, compared) in [("GET", Compared::Exactly), ("PEXPIRETIME", END_MS)] {
                let request = request_of(&[name.as_bytes(), &key]);
                self.observer.send(&request, &mut self.random);
                let (Some(ours), Some(theirs)) = self.observer.receive() else {
                    panic!("closed, seed {seed}")
                };
                assert!(
                    compare::are_same(compared, &ours, &theirs),
                    "{name} \"{}\" with seed {seed}\n  ours  {}\n  redis {}",
                    key.escape_ascii(),
                    ours.escape_ascii(),
                    theirs.escape_ascii()
                );
            }
        }
    }
}

fn exactly(words: &[&str]) -> Request {
    let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    Request { words, compared: Compared::Exactly }
}

fn composed(words: &[Word]) -> Vec<u8> {
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    request_of(&words)
}

fn escaped(keys: &[Vec<u8>]) -> Vec<String> {
    keys.iter().map(|key| key.escape_ascii().to_string()).collect()
}

/// Whether a request can be a line as it is.
fn can_be_inline(words: &[Word]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"\"'\\".contains(byte);
    let are_plain =
        words.iter().all(|word| !word.is_empty() && word.len() < 100 && word.iter().all(is_plain));
    are_plain && words[0][0].is_ascii_alphabetic()
}

fn compare_random_commands(hello: &'static str) {
    let seed = setting("PLUMBKV_RANDOM_SEED").unwrap_or(1);
    let count = setting("PLUMBKV_RANDOM_COMMANDS").unwrap_or(COMMANDS);
    let Some(mut test) = Test::begin(seed, hello) else { return };
    test.run(count);
    println!("{} random commands are answered the same after {hello}, seed {seed}", test.journal.count);
}

#[test]
fn random_commands_are_answered_as_redis_does_in_resp2() {
    compare_random_commands("HELLO 2");
}

#[test]
fn random_commands_are_answered_as_redis_does_in_resp3() {
    compare_random_commands("HELLO 3");
}

/// What is never drawn is never compared.
#[test]
fn every_command_is_drawn() {
    let server = Server::start(&[]);
    let reply = server.client().ask("COMMAND LIST");
    let Parsed::Complete { value: Reply::Array(names), .. } = parse_reply(&reply, &Limits::default()) else {
        panic!("{}", reply.escape_ascii())
    };
    let mut missing: Vec<String> = names
        .iter()
        .map(|name| match name {
            Reply::Bulk(name) => String::from_utf8_lossy(name).into_owned(),
            other => panic!("{other:?}"),
        })
        .filter(|name| name != "quit" && !name.starts_with("acl") && !NOT_DRAWN.contains(&name.as_str()))
        .collect();
    let mut generator = Generator::new(1, "HELLO 2");
    for _ in 0..20_000 {
        for Request { words, .. } in generator.pipeline() {
            let word =
                |place: usize| words.get(place).map(|word| String::from_utf8_lossy(word).to_lowercase());
            let name = word(0).unwrap_or_default();
            let full = format!("{name}|{}", word(1).unwrap_or_default());
            missing.retain(|missing| *missing != name && *missing != full);
        }
        if missing.is_empty() {
            return;
        }
    }
    panic!("never drawn: {missing:?}");
}
