//! The commands that random requests are drawn from, each with how often it is drawn and how its
//! replies are compared.
//!
//! # What is left out
//!
//! Where this server differs from Redis 7.0.15 on purpose, the README of the server says so. Such
//! requests are not drawn, or their replies are compared by kind alone:
//!
//! - `HELLO`, `INFO`, `COMMAND` with its descriptions, `CLIENT ID`, `INFO` and `LIST`, `TIME` and
//!   texts of help name the server, the moment or the commands that there are. `MEMORY USAGE`
//!   counts another layout, and in Redis expired keys, too.
//! - `RANDOMKEY` answers any key. `DBSIZE` counts expired keys until a server removes them.
//! - `ACL` is compared elsewhere, with random users (`acl.rs`).
//! - `OBJECT ENCODING` says how Redis would hold the value after `SET`, so it is compared exactly
//!   behind `SET` alone. `OBJECT REFCOUNT` counts Redis's own references in a transaction. `FREQ`
//!   and `IDLETIME` of `OBJECT` are not served.
//! - `CLIENT SETINFO` is of Redis 7.2.
//! - `SCAN` answers keys in another order, and its cursors are its own: it is drawn with a `COUNT`
//!   above all keys, and whole walks are compared between pipelines.
//! - Names of connections beyond 256 bytes, keys beyond 64 KiB, error texts beyond 4 KiB: limits of
//!   this server.
//! - `DUMP` compresses long values: Redis's compressor reads memory that it has not written, so its
//!   bytes do not depend on the value alone. What is compressed is compared.
//! - A value near 512 MiB does not fit under the cap of a test.
//! - `SHUTDOWN`, `WAIT` for replicas and `CLIENT KILL` of connections that are there end a test or
//!   make it wait.
//! - `SCRIPT DEBUG` looks whether other requests were sent with it.
//!
//! Redis itself is wrong here, so that nothing can be compared:
//!
//! - A script that raises a table without `err` ends it: `error({})`.
//! - A sum in `EXPIRETIME` overflows for ends less than half a second before 2^63 milliseconds.
//! - `CLIENT REPLY OFF` in a transaction cuts the reply of `EXEC` in the middle.
//! - Names of options end at a NUL byte, and names of commands sometimes do.

use super::scripts;
use super::words::{self, Word, Words};

/// How the two replies to a request are compared. Errors are always the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    Exactly,
    /// Integers may differ by so much, because the time of the request is in them.
    Nearly {
        within: i64,
        /// For ends: how many units are one second. Those that were given as moments are the same.
        in_second: Option<i64>,
    },
    /// Values of DUMP, which may be compressed in other ways.
    Dumps,
    /// Elements are in no order.
    Unordered,
    /// The type of the reply alone, and whether it is null.
    ByKind,
    /// Whether the reply is an error.
    IfErrors,
}

use Compared::{ByKind, Dumps, Exactly, IfErrors, Unordered};

/// Seconds or milliseconds that are left.
const LEFT_S: Compared = Compared::Nearly { within: 5, in_second: None };
const LEFT_MS: Compared = Compared::Nearly { within: 5_000, in_second: None };
/// The second or millisecond at which a key ends.
const END_S: Compared = Compared::Nearly { within: 5, in_second: Some(1) };
pub(super) const END_MS: Compared = Compared::Nearly { within: 5_000, in_second: Some(1_000) };

/// Whole commands that are not drawn.
pub(super) const NOT_DRAWN: &[&str] = &["client|setinfo", "script|debug"];

/// Bytes of a word that an error may quote: 4 KiB of its text are sent.
const MOST_QUOTED: usize = 1000;

/// A request, and how its replies are compared.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) words: Vec<Word>,
    pub(super) compared: Compared,
}

/// One command: how often it is drawn beside the others.
type Row = (u32, Compared, fn(&mut Generator) -> Vec<Word>);

/// The words of a name, and those behind it: single ones, and lists after `..`.
macro_rules! words {
    ($generator:ident, $name:literal $(, $word:expr)* $(; $list:expr)?) => {{
        #[allow(unused_mut, reason = "of a name alone")]
        let mut words = $generator.words.name($name);
        $( words.push($word); )*
        $( words.extend($list); )?
        words
    }};
}

const COMMANDS: &[Row] = &[
    (10, Exactly, |g| words!(g, "GET", g.words.key())),
    (16, Exactly, |g| words!(g, "SET", g.words.key(), g.words.value(); g.set_options())),
    (3, Exactly, |g| words!(g, "SETNX", g.words.key(), g.words.value())),
    (3, Exactly, |g| words!(g, "SETEX", g.words.key(), g.words.seconds(), g.words.value())),
    (3, Exactly, |g| words!(g, "PSETEX", g.words.key(), g.words.milliseconds(), g.words.value())),
    (3, Exactly, |g| words!(g, "GETSET", g.words.key(), g.words.value())),
    (3, Exactly, |g| words!(g, "GETDEL", g.words.key())),
    (8, Exactly, |g| words!(g, "GETEX", g.words.key(); g.getex_options())),
    (3, Exactly, |g| words!(g, "MGET"; g.words.keys())),
    (3, Exactly, |g| words!(g, "MSET"; g.words.pairs())),
    (3, Exactly, |g| words!(g, "MSETNX"; g.words.pairs())),
    (4, Exactly, |g| words!(g, "APPEND", g.words.key(), g.words.part())),
    (3, Exactly, |g| words!(g, "STRLEN", g.words.key())),
    (4, Exactly, |g| words!(g, "GETRANGE", g.words.key(), g.words.integer(), g.words.integer())),
    (1, Exactly, |g| words!(g, "SUBSTR", g.words.key(), g.words.integer(), g.words.integer())),
    (4, Exactly, |g| words!(g, "SETRANGE", g.words.key(), g.words.offset(), g.words.part())),
    (4, Exactly, |g| words!(g, "INCR", g.words.key())),
    (3, Exactly, |g| words!(g, "DECR", g.words.key())),
    (4, Exactly, |g| words!(g, "INCRBY", g.words.key(), g.words.integer())),
    (3, Exactly, |g| words!(g, "DECRBY", g.words.key(), g.words.integer())),
    (8, Exactly, |g| words!(g, "INCRBYFLOAT", g.words.key(), g.words.float())),
    (4, Exactly, |g| words!(g, "LCS", g.words.key(), g.words.key(); g.lcs_options())),
    (5, Exactly, |g| words!(g, "DEL"; g.words.keys())),
    (2, Exactly, |g| words!(g, "UNLINK"; g.words.keys())),
    (4, Exactly, |g| words!(g, "EXISTS"; g.words.keys())),
    (2, Exactly, |g| words!(g, "TOUCH"; g.words.keys())),
    (2, Exactly, |g| words!(g, "TYPE", g.words.key())),
    (3, Exactly, |g| words!(g, "EXPIRE", g.words.key(), g.words.seconds(); g.expire_options())),
    (3, Exactly, |g| words!(g, "PEXPIRE", g.words.key(), g.words.milliseconds(); g.expire_options())),
    (3, Exactly, |g| words!(g, "EXPIREAT", g.words.key(), g.words.moment_s(); g.expire_options())),
    (3, Exactly, |g| words!(g, "PEXPIREAT", g.words.key(), g.words.moment_ms(); g.expire_options())),
    (3, LEFT_S, |g| words!(g, "TTL", g.words.key())),
    (3, LEFT_MS, |g| words!(g, "PTTL", g.words.key())),
    (3, END_S, |g| words!(g, "EXPIRETIME", g.words.key())),
    (3, END_MS, |g| words!(g, "PEXPIRETIME", g.words.key())),
    (3, Exactly, |g| words!(g, "PERSIST", g.words.key())),
    (4, Exactly, |g| words!(g, "RENAME", g.words.key(), g.words.key())),
    (3, Exactly, |g| words!(g, "RENAMENX", g.words.key(), g.words.key())),
    (4, Exactly, |g| words!(g, "COPY", g.words.key(), g.words.key(); g.copy_options())),
    (1, ByKind, |g| words!(g, "RANDOMKEY")),
    (1, ByKind, |g| words!(g, "OBJECT ENCODING", g.words.key())),
    (1, ByKind, |g| words!(g, "OBJECT REFCOUNT", g.words.key())),
    (1, Exactly, |g| words!(g, "OBJECT FREQ", g.words.key())),
    (4, Dumps, |g| words!(g, "DUMP", g.words.key())),
    (4, Exactly, |g| words!(g, "RESTORE", g.words.key(); g.restored())),
    (2, Unordered, |g| words!(g, "KEYS", g.words.pattern())),
    (3, Unordered, |g| words!(g, "SCAN"; g.scanned())),
    (5, Exactly, |g| words!(g, "MULTI")),
    (6, Exactly, |g| words!(g, "EXEC")),
    (2, Exactly, |g| words!(g, "DISCARD")),
    (6, Exactly, |g| words!(g, "WATCH"; g.words.keys())),
    (2, Exactly, |g| words!(g, "UNWATCH")),
    (4, Exactly, |g| words!(g, "PING"; g.perhaps_value())),
    (2, Exactly, |g| words!(g, "ECHO", g.words.value())),
    (2, Exactly, |g| words!(g, "SELECT", g.words.database())),
    (3, Exactly, |g| words!(g, "MOVE", g.words.key(), g.words.database())),
    (1, Exactly, |g| words!(g, "SWAPDB", g.words.database(), g.words.database())),
    (1, Exactly, |g| words!(g, "FLUSHDB")),
    (2, Exactly, |g| words!(g, "CLIENT SETNAME", g.words.connection())),
    (2, Exactly, |g| words!(g, "CLIENT GETNAME")),
    (1, ByKind, |g| words!(g, "HELLO 2 SETNAME", g.words.connection(), g.words.no_option())),
    (1, ByKind, |g| words!(g, "HELLO 2 SETNAME", g.words.connection())),
    (1, ByKind, |g| words!(g, "HELLO 3")),
    (1, ByKind, |g| words!(g, "HELLO 2")),
    (1, ByKind, |g| words!(g, "HELLO")),
    (2, Exactly, |g| words!(g, "COMMAND GETKEYS"; g.inner(|_| true).words)),
    (2, Exactly, |g| words!(g, "COMMAND GETKEYSANDFLAGS"; g.inner(|_| true).words)),
    (1, IfErrors, |g| words!(g, "MEMORY USAGE", g.words.key())),
    (1, Exactly, |g| words!(g, "SCRIPT LOAD", g.script())),
    (2, Exactly, |g| words!(g, "SCRIPT EXISTS", g.script_name(), g.script_name())),
    (1, Exactly, |g| words!(g, "FLUSHALL")),
    (1, ByKind, |g| words!(g, "DBSIZE")),
];

/// Lines that are drawn as they are, separated by `|`. None of them is changed: some would then
/// wait, or end connections.
const LINES: &str = "AUTH|AUTH x|AUTH default x|AUTH nobody x|AUTH a b c|CLIENT|CLIENT NOSUCH|CLIENT ID x|CLIENT GETREDIR|\
    CLIENT TRACKINGINFO|CLIENT TRACKING|CLIENT TRACKING maybe|CLIENT TRACKING OFF|CLIENT TRACKING OFF BCAST NOLOOP|\
    CLIENT TRACKING ON PREFIX a|CLIENT TRACKING ON OPTIN OPTOUT|CLIENT TRACKING ON BCAST OPTIN|CLIENT TRACKING ON FOO|\
    CLIENT TRACKING ON REDIRECT x|CLIENT TRACKING ON REDIRECT 999999|CLIENT TRACKING ON REDIRECT 0 REDIRECT 0|\
    CLIENT TRACKING ON BCAST PREFIX a PREFIX ab|CLIENT CACHING|CLIENT CACHING YES|CLIENT CACHING x|CLIENT NO-EVICT ON|CLIENT NO-EVICT off|CLIENT NO-EVICT x|CLIENT UNBLOCK 999999|CLIENT UNBLOCK x|\
    CLIENT UNBLOCK 999999 FOO|CLIENT UNBLOCK 999999 ERROR|CLIENT KILL 1.2.3.4:5|CLIENT KILL ID 999999|\
    CLIENT KILL FOO bar|CLIENT KILL ID x|CLIENT KILL ID 0|CLIENT KILL TYPE foo|CLIENT KILL TYPE pubsub|\
    CLIENT KILL USER nosuch|CLIENT KILL SKIPME maybe|CLIENT KILL LADDR 1.2.3.4:5|CLIENT KILL ID 5 USER|CLIENT REPLY|\
    CLIENT REPLY FOO|CLIENT REPLY ON|CLIENT LIST ID x|CLIENT LIST TYPE foo|CLIENT LIST FOO|HELLO 4|HELLO 1|HELLO x|\
    HELLO 2x|HELLO 2 FOO|HELLO 3 AUTH|HELLO 3 AUTH default|HELLO 3 SETNAME|HELLO 3 AUTH nobody x|WAIT 0 0|WAIT 0 100|\
    WAIT x 10|WAIT 0 x|WAIT 0 -1|WAIT -1 0|WAIT 0|RESET x|MULTI x|EXEC x|DISCARD x|UNWATCH x|WATCH|COMMAND NOSUCH|\
    COMMAND COUNT x|COMMAND INFO nosuch|COMMAND DOCS nosuch|COMMAND GETKEYS|COMMAND GETKEYS get|\
    COMMAND GETKEYS nosuch k|COMMAND LIST FOO|COMMAND LIST FILTERBY PATTERN nosuch*|COMMAND LIST FILTERBY FOO bar|\
    COMMAND LIST FILTERBY MODULE nosuch|CONFIG|CONFIG NOSUCH|CONFIG GET|CONFIG GET nosuch|CONFIG GET maxmemory|\
    CONFIG GET appendonly|CONFIG SET|CONFIG SET nosuch 1|CONFIG SET maxmemory|CONFIG SET maxmemory 1parsec|\
    CONFIG RESETSTAT|CONFIG RESETSTAT x|CONFIG REWRITE|INFO nosuch|DBSIZE x|FLUSHALL FOO|FLUSHALL SYNC ASYNC|FLUSHDB ASYNC|\
    FLUSHDB SYNC|FLUSHDB FOO|ROLE|ROLE x|SHUTDOWN FOO|SHUTDOWN SAVE NOSAVE|SHUTDOWN ABORT|SHUTDOWN ABORT NOW|TIME x|\
    MEMORY|MEMORY NOSUCH|MEMORY USAGE|MEMORY USAGE nosuch|MEMORY USAGE nosuch SAMPLES|MEMORY USAGE nosuch SAMPLES x|\
    MEMORY USAGE nosuch SAMPLES 5|MEMORY USAGE nosuch SAMPLES -1|MEMORY USAGE nosuch FOO 1|OBJECT|OBJECT NOSUCH a|\
    OBJECT ENCODING|SCRIPT|SCRIPT NOSUCH|SCRIPT KILL|SCRIPT FLUSH|SCRIPT FLUSH ASYNC|SCRIPT FLUSH SYNC|\
    SCRIPT FLUSH FOO|SCRIPT FLUSH SYNC x|SCRIPT EXISTS|SCRIPT LOAD|RANDOMKEY x|KEYS|\
    SCAN|SCAN x|SCAN 99999999999999999999|SCAN 0 COUNT 0|SCAN 0 COUNT -1|SCAN 0 COUNT x|SCAN 0 FOO|SCAN 0 MATCH|\
    SCAN 0 COUNT 1000 FOO bar|ECHO|SELECT|PING a b|SLOWLOG|SLOWLOG NOSUCH|SLOWLOG GET -2|SLOWLOG GET x|SLOWLOG GET 0|\
    SLOWLOG GET 1 2|SLOWLOG RESET|SLOWLOG RESET x|SLOWLOG LEN x|LATENCY|LATENCY NOSUCH|LATENCY LATEST|LATENCY LATEST x|\
    LATENCY HISTORY|LATENCY HISTORY command|LATENCY RESET|LATENCY RESET command nosuch|LATENCY HISTOGRAM nosuch|\
    LASTSAVE x|MEMORY DOCTOR x|MEMORY PURGE|MEMORY PURGE x|OBJECT FREQ|OBJECT FREQ nosuch|OBJECT IDLETIME nosuch|\
    OBJECT IDLETIME|CLIENT PAUSE|CLIENT PAUSE x|CLIENT PAUSE -1|CLIENT PAUSE 10 foo|CLIENT PAUSE 1 WRITE x|CLIENT PAUSE 0|\
    CLIENT PAUSE 0 WRITE|CLIENT UNPAUSE|CLIENT UNPAUSE x|MONITOR x|FUNCTION|FUNCTION NOSUCH|FUNCTION FLUSH|FUNCTION FLUSH ASYNC|FUNCTION FLUSH x|\
    FUNCTION LIST|FUNCTION LIST x|FUNCTION LIST WITHCODE|FUNCTION LIST LIBRARYNAME a*|FUNCTION LIST LIBRARYNAME|\
    FUNCTION STATS|FUNCTION DELETE x|FUNCTION KILL|FUNCTION KILL x|FCALL f 0|FCALL f|FCALL f x|FCALL f -1|FCALL f 5 a|\
    FCALL_RO f 0|FCALL_RO f 1 a";

/// Such lines whose replies are compared by kind.
const LINES_BY_KIND: &str = "CLIENT ID|CLIENT INFO|CLIENT LIST|CLIENT LIST TYPE normal|CLIENT LIST TYPE pubsub|\
    CLIENT LIST ID 999999|CLIENT HELP|COMMAND|COMMAND COUNT|COMMAND DOCS get|COMMAND INFO get set|COMMAND LIST|\
    COMMAND HELP|CONFIG HELP|INFO|INFO server clients|MEMORY HELP|MEMORY DOCTOR|\
    MEMORY STATS|MEMORY MALLOC-STATS|SLOWLOG GET|SLOWLOG GET 3|SLOWLOG LEN|SLOWLOG HELP|LATENCY DOCTOR|LATENCY HELP|FUNCTION HELP|\
    LATENCY HISTOGRAM|LASTSAVE|OBJECT HELP|SCRIPT HELP|TIME|\
    HELLO 3 AUTH default x SETNAME plumb";

/// Names that neither server knows.
const UNKNOWN: &[u8] = b"NOSUCH||nosuch\r\n|\xff\xfe|GETS| GET|\0GET|client-id|line\nbreak";

/// Draws requests. What it draws depends on its seed alone, and on what DUMP has returned.
pub(super) struct Generator {
    pub(super) words: Words,
    /// The protocol version that connections return to.
    hello: &'static str,
    /// Values that DUMP has returned.
    pub(super) dumps: Vec<Word>,
    /// The sum of how often all commands are drawn.
    total: u32,
}

impl Generator {
    pub(super) fn new(seed: u64, hello: &'static str) -> Self {
        let words = Words { random: fastrand::Rng::with_seed(seed) };
        Self { words, hello, dumps: Vec::new(), total: COMMANDS.iter().map(|(often, ..)| often).sum() }
    }

    /// Some requests that are sent together.
    pub(super) fn pipeline(&mut self) -> Vec<Request> {
        let most = match self.words.random.u32(..10) {
            0..=2 => 1,
            3..=7 => self.words.random.usize(2..12),
            _ => self.words.random.usize(12..60),
        };
        let mut requests = Vec::with_capacity(most + 4);
        if self.words.seldom(4) {
            requests.push(self.greeting());
        }
        while requests.len() < most {
            self.draw(&mut requests);
        }
        requests
    }

    fn greeting(&mut self) -> Request {
        Request { words: self.words.name(self.hello), compared: ByKind }
    }

    fn draw(&mut self, requests: &mut Vec<Request>) {
        match self.words.random.u32(..100) {
            0..=3 => {
                requests.push(Request { words: words!(self, "MULTI"), compared: Exactly });
                for _ in 0..self.words.random.u32(..6) {
                    let inner = self.changed();
                    requests.push(inner);
                }
                requests.push(Request { words: words!(self, "EXEC"), compared: Exactly });
            }
            4 => {
                let key = self.words.key();
                let value = self.words.value();
                requests.push(Request { words: words!(self, "SET", key.clone(), value), compared: Exactly });
                requests.push(Request { words: words!(self, "OBJECT ENCODING", key), compared: Exactly });
            }
            5..=10 => requests.push(self.script_request()),
            11..=16 => requests.push(self.line()),
            17 => {
                let mut words = vec![self.words.one_of(UNKNOWN)];
                words.extend(self.words.pairs());
                requests.push(Request { words, compared: Exactly });
            }
            18 => {
                requests.push(Request { words: words!(self, "RESET"), compared: Exactly });
                let greeting = self.greeting();
                requests.push(greeting);
            }
            _ => {
                let request = self.changed();
                requests.push(request);
            }
        }
    }

    fn line(&mut self) -> Request {
        let (lines, compared) = if self.words.seldom(6) { (LINES_BY_KIND, ByKind) } else { (LINES, Exactly) };
        let line = self.words.one_of(lines.as_bytes());
        let mut words: Vec<Word> = line.split(|byte| *byte == b' ').map(<[u8]>::to_vec).collect();
        words[0] = self.words.name(&String::from_utf8_lossy(&words[0])).concat();
        Request { words, compared }
    }

    /// A command of the table, as it is meant.
    fn command(&mut self) -> Request {
        let mut number = self.words.random.u32(..self.total);
        for (often, compared, draw) in COMMANDS {
            match number.checked_sub(*often) {
                Some(rest) => number = rest,
                None => return Request { words: draw(self), compared: *compared },
            }
        }
        unreachable!("the number is below the sum")
    }

    /// A command of the table. Some have one word too few, or one too many.
    fn changed(&mut self) -> Request {
        let mut request = self.command();
        if self.words.seldom(16) {
            let words = &mut request.words;
            match self.words.random.u32(..3) {
                0 if words.len() > 1 => drop(words.remove(self.words.random.usize(1..words.len()))),
                1 => words.extend(words.last().cloned()),
                _ => words.push(self.words.value()),
            }
            words.iter_mut().for_each(|word| word.truncate(MOST_QUOTED));
        }
        request
    }

    /// A command of the table, mostly on this key.
    pub(super) fn about(&mut self, key: &[u8]) -> Request {
        loop {
            let mut request = self.changed();
            let keys = request.words.iter_mut().skip(1).filter(|word| words::is_key(word));
            let mut count = 0;
            for word in keys {
                count += 1;
                if !self.words.seldom(4) {
                    *word = key.to_vec();
                }
            }
            if count > 0 {
                return request;
            }
        }
    }

    /// A command of the table that is a part of another request, if it is compared as that one can
    /// be.
    fn inner(&mut self, fits: impl Fn(Compared) -> bool) -> Request {
        loop {
            let request = self.changed();
            let name = request.words[0].to_ascii_lowercase();
            // Neither in itself.
            if fits(request.compared) && name != b"command" && !name.starts_with(b"eval") {
                return request;
            }
        }
    }

    fn script(&mut self) -> Word {
        scripts::any(&mut self.words.random).to_vec()
    }

    fn script_name(&mut self) -> Word {
        let text = self.script();
        let name = plumbkv_scripts::hex(&plumbkv_scripts::digest(&text));
        match self.words.random.u32(..10) {
            0 => b"abc".to_vec(),
            1 => vec![b'0'; 40],
            2 => [&[b'z'; 39][..], b"\xff"].concat(),
            3 => name.to_ascii_uppercase().into_bytes(),
            _ => name.into_bytes(),
        }
    }

    /// EVAL, EVALSHA, or one of their read-only forms.
    fn script_request(&mut self) -> Request {
        let is_by_name = self.words.seldom(4);
        let is_of_command = self.words.seldom(2);
        let text =
            if is_of_command { scripts::of_command(&mut self.words.random).to_vec() } else { self.script() };
        let name = match (is_by_name, self.words.seldom(5)) {
            (false, false) => "EVAL",
            (false, true) => "EVAL_RO",
            (true, false) => "EVALSHA",
            (true, true) => "EVALSHA_RO",
        };
        let mut words = self.words.name(name);
        words.push(if is_by_name { self.script_name() } else { text });
        let keys = if self.words.seldom(4) { Vec::new() } else { self.words.keys() };
        let count =
            if self.words.seldom(20) { self.words.integer() } else { keys.len().to_string().into_bytes() };
        words.push(count);
        words.extend(keys);
        let mut compared = Exactly;
        if is_of_command || self.words.seldom(10) {
            let inner = self.inner(|compared| !matches!(compared, ByKind | IfErrors | Unordered));
            words.extend(inner.words);
            compared = inner.compared;
        } else {
            words.extend((0..self.words.random.u32(1..4)).map(|_| self.words.value()));
        }
        words.iter_mut().for_each(|word| word.truncate(MOST_QUOTED));
        Request { words, compared }
    }

    /// Options, each of which is one or two words: up to `most` of those that `draw` returns.
    fn options(&mut self, most: u32, draw: fn(&mut Self, u32) -> Vec<Word>) -> Vec<Word> {
        let count = if self.words.seldom(2) { 0 } else { self.words.random.u32(1..=most) };
        let mut words = Vec::new();
        for _ in 0..count {
            let number = self.words.random.u32(..100);
            words.extend(draw(self, number));
        }
        words
    }

    fn set_options(&mut self) -> Vec<Word> {
        self.options(3, |g, number| match number {
            0..=19 => words!(g, "NX"),
            20..=39 => words!(g, "XX"),
            40..=54 => words!(g, "GET"),
            55..=64 => words!(g, "KEEPTTL"),
            65..=96 => g.lifetime(number % 4),
            _ => vec![g.words.no_option()],
        })
    }

    fn getex_options(&mut self) -> Vec<Word> {
        self.options(2, |g, number| match number {
            0..=34 => words!(g, "PERSIST"),
            35..=94 => g.lifetime(number % 4),
            _ => vec![g.words.no_option()],
        })
    }

    fn lifetime(&mut self, number: u32) -> Vec<Word> {
        match number {
            0 => words!(self, "EX", self.words.seconds()),
            1 => words!(self, "PX", self.words.milliseconds()),
            2 => words!(self, "EXAT", self.words.moment_s()),
            _ => words!(self, "PXAT", self.words.moment_ms()),
        }
    }

    fn expire_options(&mut self) -> Vec<Word> {
        self.options(2, |g, number| match number {
            0..=22 => words!(g, "NX"),
            23..=46 => words!(g, "XX"),
            47..=70 => words!(g, "GT"),
            71..=94 => words!(g, "LT"),
            _ => vec![g.words.no_option()],
        })
    }

    fn copy_options(&mut self) -> Vec<Word> {
        self.options(2, |g, number| match number {
            0..=59 => words!(g, "REPLACE"),
            60..=69 => words!(g, "DB 0"),
            70..=89 => words!(g, "DB", g.words.database()),
            _ => vec![g.words.no_option()],
        })
    }

    fn lcs_options(&mut self) -> Vec<Word> {
        self.options(3, |g, number| match number {
            0..=19 => words!(g, "LEN"),
            20..=54 => words!(g, "IDX"),
            55..=74 => words!(g, "WITHMATCHLEN"),
            75..=94 => words!(g, "MINMATCHLEN", g.words.integer()),
            _ => vec![g.words.no_option()],
        })
    }

    /// What RESTORE takes behind its key: what DUMP returned, mostly.
    fn restored(&mut self) -> Vec<Word> {
        let mut payload = match self.dumps.len() {
            0 => self.words.value(),
            count => self.dumps[self.words.random.usize(..count)].clone(),
        };
        match self.words.random.u32(..8) {
            0 => payload = self.words.value(),
            1 if !payload.is_empty() => {
                let place = self.words.random.usize(..payload.len());
                payload[place] ^= 1 << self.words.random.u32(..8);
            }
            2 => drop(payload.pop()),
            _ => {}
        }
        let is_moment = self.words.seldom(4);
        let lifetime = match self.words.random.u32(..2) {
            0 => b"0".to_vec(),
            _ if is_moment => self.words.moment_ms(),
            _ => self.words.milliseconds(),
        };
        let mut words = vec![lifetime, payload];
        if is_moment {
            words.extend(words!(self, "ABSTTL"));
        }
        words.extend(self.options(3, |g, number| match number {
            0..=69 => words!(g, "REPLACE"),
            70..=81 => words!(g, "IDLETIME", g.words.integer()),
            82..=94 => words!(g, "FREQ", g.words.integer()),
            _ => vec![g.words.no_option()],
        }));
        words
    }

    /// A whole walk in one call.
    fn scanned(&mut self) -> Vec<Word> {
        let mut words = vec![self.words.one_of(b"0|0|0|00|-0|+0||0\x0099")];
        words.extend(words!(self, "COUNT"));
        words.push(self.words.one_of(b"1000|100000|9223372036854775807"));
        words.extend(self.options(2, |g, number| match number {
            0..=59 => words!(g, "MATCH", g.words.pattern()),
            60..=79 => words!(g, "TYPE string"),
            _ => words!(g, "TYPE list"),
        }));
        words
    }

    fn perhaps_value(&mut self) -> Option<Word> {
        self.words.random.bool().then(|| self.words.value())
    }
}
