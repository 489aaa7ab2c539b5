//! Whose cache finds more of what is asked for, in the same memory? Replays the trace of `hit_ratio.rs` against servers, each given as much memory as makes
//! its process grow by as much as ours (Linux only).
//!
//! ```text
//! cargo run --release -p plumbkv --example hit_ratio_servers -- CAP_MIB PLUMBKV [REDIS-SERVER VALKEY-SERVER MEMCACHED …]
//! ```
//!
//! A server is a program, known by its name. PLUMBKV is started with the cap and its growth noted: resident bytes after the trace, less
//! those before its first request. The others are started with other limits until they grow by the same, within two percent; one whose limit is too
//! coarse for that is shown as near as it came. Redis and Valkey run with each of their policies for all keys that order them. Requests go
//! sixteen at a time: reads, then writes of what was missed.

mod trace;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trace::{Trace, key, value_len};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const AT_ONCE: usize = 16;
const PORT: u16 = 7391;
const MIB: u64 = 1 << 20;
/// How much the growth of two processes may differ.
const TOLERANCE: f64 = 0.02;
const MOST_ATTEMPTS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plumbkv,
    Redis,
    Memcached,
}

/// A server and how it chooses what goes.
struct Target<'a> {
    program: &'a str,
    kind: Kind,
    policy: &'a str,
}

impl Target<'_> {
    fn start(&self, limit: u64) -> Result<Running> {
        let port = PORT.to_string();
        let mut command = Command::new(self.program);
        match self.kind {
            Kind::Plumbkv => {
                let (address, limit) = (format!("127.0.0.1:{port}"), limit.to_string());
                command.args(["serve", "--listen", &address, "--memory-limit", &limit])
            }
            Kind::Redis => command.args(["--port", &port, "--maxmemory", &limit.to_string(), "--save", ""]),
            Kind::Memcached => {
                command.args(["-p", &port, "-U", "0", "-u", "root", "-m", &(limit / MIB).to_string()])
            }
        };
        if self.kind != Kind::Memcached {
            command.args(["--maxmemory-policy", self.policy]);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut running = Running { child, stream: None };
        let until = Instant::now() + Duration::from_secs(10);
        let stream = loop {
            match TcpStream::connect(("127.0.0.1", PORT)) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > until => return Err(error.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        stream.set_nodelay(true)?;
        running.stream = Some(BufReader::with_capacity(256 * 1024, stream));
        std::thread::sleep(Duration::from_millis(300));
        Ok(running)
    }
}

struct Running {
    child: Child,
    stream: Option<BufReader<TcpStream>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn resident_bytes(&self) -> Result<u64> {
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        Ok(kib.ok_or("the kernel does not say how large the process is")? * 1024)
    }

    fn stream(&mut self) -> Result<&mut BufReader<TcpStream>> {
        self.stream.as_mut().ok_or_else(|| "not connected".into())
    }

    /// Which of the keys are there.
    fn read(&mut self, kind: Kind, keys: &[u32]) -> Result<Vec<bool>> {
        let mut request = Vec::new();
        for &number in keys {
            match kind {
                Kind::Memcached => write!(request, "get {}\r\n", String::from_utf8_lossy(&key(number)))?,
                _ => write!(
                    request,
                    "*2\r\n$3\r\nGET\r\n$16\r\n{}\r\n",
                    String::from_utf8_lossy(&key(number))
                )?,
            }
        }
        let stream = self.stream()?;
        stream.get_mut().write_all(&request)?;
        let mut skipped = vec![0; 8192];
        let mut is_there = Vec::with_capacity(keys.len());
        for _ in keys {
            let line = line(stream)?;
            let len: Option<usize> = match kind {
                Kind::Memcached => {
                    line.strip_prefix("VALUE ").and_then(|line| line.split(' ').nth(2)?.parse().ok())
                }
                _ => line.strip_prefix('$').and_then(|len| len.parse().ok()),
            };
            if let Some(len) = len {
                // And what ends it.
                let end = if kind == Kind::Memcached { "\r\nEND\r\n".len() } else { 2 };
                stream.read_exact(&mut skipped[..len + end])?;
            } else if !matches!(&*line, "END" | "$-1") {
                return Err(format!("a read was answered with `{line}`").into());
            }
            is_there.push(len.is_some());
        }
        Ok(is_there)
    }

    fn write(&mut self, kind: Kind, keys: &[u32]) -> Result<()> {
        let mut request = Vec::new();
        for &number in keys {
            let (name, len) = (key(number), value_len(number));
            let name = String::from_utf8_lossy(&name).into_owned();
            match kind {
                Kind::Memcached => write!(request, "set {name} 0 0 {len}\r\n")?,
                _ => write!(request, "*3\r\n$3\r\nSET\r\n$16\r\n{name}\r\n${len}\r\n")?,
            }
            request.resize(request.len() + len, b'v');
            request.extend(b"\r\n");
        }
        let stream = self.stream()?;
        stream.get_mut().write_all(&request)?;
        for _ in keys {
            // What a server has no room for it refuses: then the next read misses again.
            line(stream)?;
        }
        Ok(())
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err("the server has closed the connection".into());
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}

struct Outcome {
    hit_ratio: f64,
    grown: u64,
    limit: u64,
}

fn replay(target: &Target<'_>, cap: u64, limit: u64) -> Result<Outcome> {
    let mut server = target.start(limit)?;
    let before = server.resident_bytes()?;
    let mut trace = Trace::new(cap);
    let (warm_up, counted) = trace.requests();
    let (mut hits, mut reads) = (0usize, 0usize);
    for batch in 0..(warm_up + counted) / AT_ONCE {
        let keys: Vec<u32> = (0..AT_ONCE).map(|_| trace.next()).collect();
        let is_there = server.read(target.kind, &keys)?;
        let missed: Vec<u32> =
            keys.iter().zip(&is_there).filter(|(_, is_there)| !**is_there).map(|(key, _)| *key).collect();
        if !missed.is_empty() {
            server.write(target.kind, &missed)?;
        }
        if batch * AT_ONCE >= warm_up {
            hits += is_there.iter().filter(|is_there| **is_there).count();
            reads += AT_ONCE;
        }
    }
    let grown = server.resident_bytes()?.saturating_sub(before);
    Ok(Outcome { hit_ratio: hits as f64 / reads as f64, grown, limit })
}

/// The outcome with a limit that makes the process grow by `wanted`, or as near as it came.
fn replay_at(target: &Target<'_>, cap: u64, wanted: u64) -> Result<Outcome> {
    // memcached takes whole MiB, two at least.
    let (step, least) = if target.kind == Kind::Memcached { (MIB, 2.0) } else { (1, 1.0) };
    let distance = |outcome: &Outcome| (outcome.grown as f64 / wanted as f64 - 1.0).abs();
    let mut tried: Vec<Outcome> = Vec::new();
    let mut limit = cap;
    for _ in 0..MOST_ATTEMPTS {
        let outcome = replay(target, cap, limit)?;
        // Growth is nearly a straight line over the limit, so the next try is a step along it.
        let missing = wanted as f64 - outcome.grown as f64;
        let is_near = distance(&outcome) <= TOLERANCE;
        tried.push(outcome);
        if is_near {
            break;
        }
        let next = ((limit as f64 + missing) / step as f64).round().max(least) as u64 * step;
        if tried.iter().any(|outcome| outcome.limit == next) {
            break;
        }
        limit = next;
    }
    tried
        .into_iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .ok_or_else(|| "nothing was tried".into())
}

fn print(target: &Target<'_>, outcome: &Outcome, ours: u64) {
    let name = Path::new(target.program).file_name().unwrap_or_default().to_string_lossy();
    println!(
        "| {name:<14} | {:<14} | {:>12} | {:>12} | {:>14.1} % | {:>9.4} |",
        target.policy,
        outcome.limit,
        outcome.grown,
        outcome.grown as f64 * 100.0 / ours as f64,
        outcome.hit_ratio
    );
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(mib), [ours, others @ ..]) =
        (arguments.first().and_then(|text| text.parse::<u64>().ok()), arguments.get(1..).unwrap_or_default())
    else {
        eprintln!("usage: hit_ratio_servers CAP_MIB PLUMBKV [REDIS-SERVER VALKEY-SERVER MEMCACHED …]");
        std::process::exit(64);
    };
    let cap = mib * MIB;
    println!(
        "| server         | policy         |     limit, B | grown by, B | of what ours grew | hit ratio |"
    );
    println!(
        "| :------------- | :------------- | -----------: | ----------: | ---------------: | --------: |"
    );
    let (mut wanted, mut lowest, mut best) = (0, 1f64, 0f64);
    for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-s3fifo"] {
        let target = Target { program: ours, kind: Kind::Plumbkv, policy };
        let outcome = replay(&target, cap, cap)?;
        // All are compared with the default policy's process.
        wanted = if wanted == 0 { outcome.grown } else { wanted };
        (lowest, best) = (lowest.min(outcome.hit_ratio), best.max(outcome.hit_ratio));
        print(&target, &outcome, wanted);
    }
    let mut best_rival = 0f64;
    for program in others {
        let kind = if program.ends_with("memcached") { Kind::Memcached } else { Kind::Redis };
        let policies: &[&str] =
            if kind == Kind::Memcached { &["its own"] } else { &["allkeys-lru", "allkeys-lfu"] };
        for policy in policies {
            let target = Target { program, kind, policy };
            let outcome = replay_at(&target, cap, wanted)?;
            if outcome.grown as f64 <= wanted as f64 * (1.0 + TOLERANCE) {
                best_rival = best_rival.max(outcome.hit_ratio);
            }
            print(&target, &outcome, wanted);
        }
    }
    println!("ours: {lowest:.4} to {best:.4}; the best of the others in no more memory: {best_rival:.4}");
    Ok(())
}
