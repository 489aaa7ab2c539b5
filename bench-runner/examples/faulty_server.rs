//! What does the runner find out? A small store that answers rightly but for one fault, for the honesty tests.
//!
//! A thread per connection and one table for all. `--fault` names what is wrong: one reply in two hundred carries a
//! changed byte (`wrong-value`), a miss (`miss`), an error (`error`, `status-429`) or the end of the connection
//! (`close`); every reply is held back by a timer (`timer-5ms`); reads are answered without being looked at (`cheaper`); every connection falls silent for two seconds,
//! once, some time after its first read (`stall-2s`); writes of keys that are there are acknowledged and forgotten (`keeps-first`); all fall silent for 300 ms in every second
//! (`pauses`); reads take half a millisecond of a CPU from some time on (`tires`); each read sleeps for a millisecond, however many
//! come at once (`timer-1ms`); the work of a read is done by a helper that has left the process tree (`helper`); one answer in two hundred
//! gives two lengths (`two-lengths`) or one that is padded (`padded-length`), or comes twice (`twice`); the number of keys is not told (`no-dbsize`); or a key is
//! written with at most two different values (`keeps-second`). Never started outside tests.

use plumbkv_resp::{Limits, Parsed, ReplyWriter, Request, RequestParser, Version};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One reply in so many is faulty.
const EVERY: u64 = 200;
/// A read of a key of 16 bytes, and what it is answered by where nobody looks: 8 bytes.
const GET_BYTES: usize = b"*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n".len();
const CONSTANT: &[u8] = b"$8\r\nxxxxxxxx\r\n";
const TIMER: Duration = Duration::from_millis(5);
/// Of each read, which other reads of the connection wait for.
const TIMER_EACH: Duration = Duration::from_millis(1);
const STALL_AFTER: Duration = Duration::from_millis(1_500);
const STALL: Duration = Duration::from_secs(2);
const PAUSE_MS: u32 = 300;
const TIRED: Duration = Duration::from_micros(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    WrongValue,
    Miss,
    Error,
    Status429,
    Close,
    Timer,
    Stall,
    /// Acknowledges writes of keys that are there, and does not carry them out.
    KeepsFirst,
    /// Carries out two writes of different values to each key, and acknowledges the rest.
    KeepsSecond,
    /// Sleeps for a millisecond in each read.
    TimerEach,
    /// A helper in a session of its own, whose parent has ended, works for each read.
    Helper,
    /// Gives two lengths of a body that differ.
    TwoLengths,
    /// Gives a length that only a lenient reader takes.
    PaddedLength,
    /// Answers twice.
    Twice,
    /// Does not know `DBSIZE`.
    NoDbsize,
    /// Answers nothing for 300 ms of each second.
    Pauses,
    /// Slower after some time.
    Tires,
    /// Costs less than any generator: shows its ceiling.
    Cheaper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Resp,
    Http,
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "--version") {
        println!("faulty-server 1");
        return Ok(());
    }
    if let [flag, address] = &arguments[..]
        && flag == "--help-server"
    {
        return help(address).map_err(|error| error.to_string());
    }
    let value = |flag: &str| {
        let mut pairs = arguments.chunks_exact(2);
        let found = pairs.find(|pair| pair[0] == flag);
        found.map(|pair| pair[1].as_str()).ok_or_else(|| format!("{flag} is missing"))
    };
    let fault = match value("--fault")? {
        "none" => Fault::None,
        "wrong-value" => Fault::WrongValue,
        "miss" => Fault::Miss,
        "error" => Fault::Error,
        "status-429" => Fault::Status429,
        "close" => Fault::Close,
        "timer-5ms" => Fault::Timer,
        "stall-2s" => Fault::Stall,
        "cheaper" => Fault::Cheaper,
        "keeps-second" => Fault::KeepsSecond,
        "timer-1ms" => Fault::TimerEach,
        "twice" => Fault::Twice,
        "two-lengths" => Fault::TwoLengths,
        "padded-length" => Fault::PaddedLength,
        "helper" => Fault::Helper,
        "no-dbsize" => Fault::NoDbsize,
        "keeps-first" => Fault::KeepsFirst,
        "pauses" => Fault::Pauses,
        "tires" => Fault::Tires,
        other => return Err(format!("no fault is called {other}")),
    };
    let protocol = match value("--protocol")? {
        "resp" => Protocol::Resp,
        "http" => Protocol::Http,
        other => return Err(format!("no protocol is called {other}")),
    };
    let listener = TcpListener::bind(value("--listen")?).map_err(|error| error.to_string())?;
    // Lives as long as the process, whose threads all use it.
    let server: &'static Server = Box::leak(Box::new(Server {
        fault,
        protocol,
        table: Mutex::new(HashMap::new()),
        reads: AtomicU64::new(0),
        changes: Mutex::new(HashMap::new()),
        began: Instant::now(),
        helper: (fault == Fault::Helper).then(start_helper).transpose().map_err(|error| error.to_string())?,
    }));
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || server.serve(stream));
    }
    Ok(())
}

struct Server {
    fault: Fault,
    protocol: Protocol,
    table: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    reads: AtomicU64,
    /// How many different values each key was given.
    changes: Mutex<HashMap<Vec<u8>, u32>>,
    began: Instant,
    /// The connection to the helper.
    helper: Option<Mutex<TcpStream>>,
}

/// CPU time that the helper takes for a read.
const HELP: Duration = Duration::from_micros(40);

/// Starts a helper as daemons start: in a session of its own, and its parent ends at once.
fn start_helper() -> std::io::Result<Mutex<TcpStream>> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?.to_string();
    let program = std::env::current_exe()?;
    std::process::Command::new("setsid").arg("-f").arg(program).args(["--help-server", &address]).status()?;
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(Mutex::new(stream))
}

/// The helper: works for each byte, and says when it has. Ends with the connection.
fn help(address: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 {
        let until = Instant::now() + HELP;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        stream.write_all(&byte)?;
    }
    Ok(())
}

/// What a request asks for, in either protocol.
enum Ask<'a> {
    Get(&'a [u8]),
    Set(&'a [u8], &'a [u8]),
    Del(&'a [u8]),
    Other(&'a [u8]),
}

/// What it is answered by, in either protocol.
enum Reply {
    Value(Vec<u8>),
    Missing,
    Done,
    Deleted(bool),
    Refused,
    Pong,
    Count(usize),
}

impl Server {
    /// Ends with the connection.
    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        let (mut input, mut output) = (Vec::new(), Vec::new());
        let mut parser = RequestParser::new(Limits::default());
        let mut piece = vec![0; 64 * 1024];
        let mut constant = Vec::new();
        let mut first_read = None;
        let mut stalled = false;
        loop {
            let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
            input.extend_from_slice(&piece[..count]);
            let mut asked_get = false;
            if self.fault == Fault::Cheaper && input.starts_with(b"*2\r\n$3\r\nGET\r\n") {
                // Its reads are all of one length, so that they need only be counted.
                let whole = input.len() / GET_BYTES;
                let again = whole * CONSTANT.len();
                while constant.len() < again {
                    constant.extend_from_slice(CONSTANT);
                }
                stream.write_all(&constant[..again]).ok()?;
                input.drain(..whole * GET_BYTES);
                continue;
            }
            loop {
                let used = match self.protocol {
                    Protocol::Resp => match parser.parse(&input) {
                        Parsed::Complete { value, consumed } => {
                            let ask = resp_ask(&value);
                            asked_get |= matches!(ask, Ask::Get(_));
                            let reply = self.answer(&ask)?;
                            let from = output.len();
                            (0..self.times(&ask)).for_each(|_| write_resp(&reply, &mut output));
                            self.spoil_length(&ask, &mut output, from);
                            consumed
                        }
                        Parsed::Incomplete { .. } => break,
                        Parsed::Invalid(_) => return None,
                    },
                    Protocol::Http => {
                        let Some((ask, used)) = http_ask(&input) else { break };
                        asked_get |= matches!(ask, Ask::Get(_));
                        let reply = self.answer(&ask)?;
                        let from = output.len();
                        (0..self.times(&ask)).for_each(|_| write_http(&reply, &mut output));
                        self.spoil_length(&ask, &mut output, from);
                        used
                    }
                };
                input.drain(..used);
            }
            if asked_get {
                let first = *first_read.get_or_insert_with(Instant::now);
                if self.fault == Fault::Timer {
                    std::thread::sleep(TIMER);
                }
                if self.fault == Fault::Pauses {
                    let of_second = self.began.elapsed().subsec_millis();
                    let left = PAUSE_MS.saturating_sub(of_second);
                    std::thread::sleep(Duration::from_millis(u64::from(left)));
                }
                if self.fault == Fault::Tires && first.elapsed() >= STALL_AFTER {
                    let until = Instant::now() + TIRED;
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                }
                if self.fault == Fault::Stall && !stalled && first.elapsed() >= STALL_AFTER {
                    stalled = true;
                    std::thread::sleep(STALL);
                }
            }
            stream.write_all(&output).ok()?;
            output.clear();
        }
    }

    /// How often a request is answered.
    fn times(&self, ask: &Ask<'_>) -> u32 {
        let is_read = matches!(ask, Ask::Get(_));
        let again =
            self.fault == Fault::Twice && is_read && self.reads.load(Ordering::Relaxed) % EVERY == EVERY - 1;
        if self.fault == Fault::TimerEach && is_read {
            std::thread::sleep(TIMER_EACH);
        }
        1 + u32::from(again)
    }

    /// Writes one answer in two hundred anew, with lengths that two readers understand differently.
    fn spoil_length(&self, ask: &Ask<'_>, output: &mut Vec<u8>, from: usize) {
        let is_chosen = matches!(ask, Ask::Get(_)) && self.reads.load(Ordering::Relaxed) % EVERY == EVERY - 1;
        let (before, after) = match (self.fault, self.protocol) {
            (Fault::TwoLengths, Protocol::Http) => {
                ("Content-Length: ", "Content-Length: 1\r\nContent-Length: ")
            }
            (Fault::PaddedLength, Protocol::Http) => ("Content-Length: ", "Content-Length: +"),
            (Fault::PaddedLength, Protocol::Resp) => ("$", "$0"),
            _ => return,
        };
        if !is_chosen {
            return;
        }
        let found = output[from..].windows(before.len()).position(|window| window == before.as_bytes());
        if let Some(place) = found.map(|place| from + place) {
            output.splice(place..place + before.len(), after.bytes());
        }
    }

    /// Whether a key would be given its third value, or a later one.
    fn is_third(&self, key: &[u8], before: Option<&Vec<u8>>, value: &[u8]) -> bool {
        if before.is_some_and(|before| before == value) {
            return false;
        }
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let count = changes.entry(key.to_vec()).or_insert(0);
        *count += 1;
        *count > 2
    }

    /// None: the connection is to be closed.
    fn answer(&self, ask: &Ask<'_>) -> Option<Reply> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = match ask {
            Ask::Set(key, _) if self.fault == Fault::KeepsFirst && table.contains_key(*key) => Reply::Done,
            Ask::Set(key, value)
                if self.fault == Fault::KeepsSecond && self.is_third(key, table.get(*key), value) =>
            {
                Reply::Done
            }
            Ask::Set(key, value) => {
                table.insert(key.to_vec(), value.to_vec());
                Reply::Done
            }
            Ask::Del(key) => Reply::Deleted(table.remove(*key).is_some()),
            Ask::Other(name) if name.eq_ignore_ascii_case(b"PING") => Reply::Pong,
            Ask::Other(name) if self.fault == Fault::NoDbsize && name.eq_ignore_ascii_case(b"DBSIZE") => {
                Reply::Refused
            }
            Ask::Other(name) if name.eq_ignore_ascii_case(b"DBSIZE") => Reply::Count(table.len()),
            Ask::Other(name) if name.eq_ignore_ascii_case(b"FLUSHALL") => {
                table.clear();
                Reply::Done
            }
            Ask::Other(_) => Reply::Done,
            Ask::Get(key) => match table.get(*key) {
                None => Reply::Missing,
                Some(value) => return self.faulty(value.clone()),
            },
        };
        Some(reply)
    }

    fn faulty(&self, mut value: Vec<u8>) -> Option<Reply> {
        let now = self.reads.fetch_add(1, Ordering::Relaxed) % EVERY == EVERY - 1;
        if let Some(helper) = &self.helper {
            let mut helper = helper.lock().unwrap_or_else(PoisonError::into_inner);
            helper.write_all(b"x").and_then(|()| helper.read_exact(&mut [0])).ok()?;
        }
        match self.fault {
            Fault::WrongValue if now => {
                let middle = value.len() / 2;
                value[middle] ^= 1;
                Some(Reply::Value(value))
            }
            Fault::Miss if now => Some(Reply::Missing),
            Fault::Error | Fault::Status429 if now => Some(Reply::Refused),
            Fault::Close if now => None,
            _ => Some(Reply::Value(value)),
        }
    }
}

fn resp_ask<'a>(request: &Request<'a>) -> Ask<'a> {
    let word = |place| request.get(place).unwrap_or_default();
    match word(0) {
        b"GET" => Ask::Get(word(1)),
        b"SET" => Ask::Set(word(1), word(2)),
        b"DEL" => Ask::Del(word(1)),
        other => Ask::Other(other),
    }
}

fn write_resp(reply: &Reply, out: &mut Vec<u8>) {
    let mut writer = ReplyWriter::new(out, Version::Resp2);
    match reply {
        Reply::Value(value) => writer.bulk(value),
        Reply::Missing => writer.null(),
        Reply::Done => writer.simple("OK"),
        Reply::Deleted(there) => writer.integer(i64::from(*there)),
        Reply::Refused => writer.error("ERR the fault of this server"),
        Reply::Pong => writer.simple("PONG"),
        Reply::Count(count) => writer.integer(i64::try_from(*count).unwrap_or(i64::MAX)),
    };
}

/// A whole request at the head of `bytes`, and how long it is.
fn http_ask(bytes: &[u8]) -> Option<(Ask<'_>, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let Ok(httparse::Status::Complete(head)) = request.parse(bytes) else { return None };
    let length = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length = match length {
        Some(header) => std::str::from_utf8(header.value).ok()?.parse().ok()?,
        None => 0,
    };
    let body = bytes.get(head..head + length)?;
    let path = request.path?.as_bytes();
    let ask = match request.method? {
        "GET" => Ask::Get(path),
        "PUT" => Ask::Set(path, body),
        "DELETE" => Ask::Del(path),
        _ => Ask::Other(b""),
    };
    Some((ask, head + length))
}

fn write_http(reply: &Reply, out: &mut Vec<u8>) {
    let (status, body) = match reply {
        Reply::Value(value) => ("200 OK", value.as_slice()),
        Reply::Missing | Reply::Deleted(false) => ("404 Not Found", b"".as_slice()),
        Reply::Refused => ("429 Too Many Requests", b"".as_slice()),
        Reply::Done | Reply::Deleted(true) | Reply::Pong | Reply::Count(_) => ("200 OK", b"".as_slice()),
    };
    out.extend_from_slice(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes());
    out.extend_from_slice(body);
}
