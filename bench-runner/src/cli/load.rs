//! `bench-runner load`: one stretch of load against a server that is already running.
//!
//! For cross-checks against other people's load generators, which have no notion of a trial. It writes under a random prefix
//! and deletes what it wrote, as `run` does with a server that it did not start.

use super::{EXIT_FINE, EXIT_TOOL_ERROR, EXIT_USAGE, Format, Global};
use crate::load::arrivals::{Arrival, Open, Sender};
use crate::load::client::{Address, Client, Endpoint, TlsEndpoint};
use crate::load::generator::{Connections, Generator, Held, Pace, Stretch, Stretched, raise_open_files};
use crate::load::http;
use crate::load::recorder::Times;
use crate::load::request::{Draw, Length, Protocol, Workload};
use crate::load::values::Values;
use crate::output::document;
use crate::plan::Operation;
use crate::target::external::{Consent, External, draw_prefix, remote};
use crate::target::{Documents, write_documents};
use anyhow::Context;
use clap::value_parser;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Send one stretch of load to a running server, without storing a run
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bench-runner load --server 127.0.0.1:6379 --operation set --requests 100000
  bench-runner load --server 127.0.0.1:6379 --operation get --preload --keys 10000 --pipeline 16
  bench-runner load --server 127.0.0.1:6379 --operation set --open --rate 5000 --seconds 2 --format json

Keys are written under a random prefix and deleted at the end, so GET and DEL take --preload. A server that holds keys is refused without \
--allow-non-empty. Ctrl-C deletes them as well; after a kill, bench-runner clean lists and deletes what is left on a Redis-protocol server.")]
pub(super) struct Args {
    /// The server, on this machine unless --allow-remote
    #[arg(long, value_name = "HOST:PORT", required_unless_present_any = ["unix", "write_documents"], conflicts_with = "unix")]
    server: Option<SocketAddr>,
    /// The server on another machine is mine, or its owner has agreed to a load test
    #[arg(long, requires = "server")]
    allow_remote: bool,
    /// Send load even if the server contains keys; over HTTP, even if documents are written or deleted
    #[arg(long)]
    allow_non_empty: bool,
    /// Use the keys key:000000000000 and so on without a prefix, and leave them, as other load generators do
    #[arg(long)]
    plain_keys: bool,
    /// The server's Unix socket
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// Speak TLS; the server's certificate must be for this name
    #[arg(long, value_name = "NAME", requires = "server")]
    tls: Option<String>,
    /// PEM file of the certificates to believe instead of the system's
    #[arg(long, value_name = "FILE", requires = "tls")]
    tls_roots: Option<PathBuf>,
    /// Password, if the server wants one
    #[arg(long, env = "PLUMBKV_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// What is spoken
    #[arg(long, value_enum, default_value = "resp2")]
    protocol: ProtocolFlag,
    /// Path of a document before its key, over HTTP
    #[arg(long, value_name = "PATH", default_value = "/")]
    http_path: String,
    /// What is asked
    #[arg(long, value_enum)]
    operation: OperationFlag,
    /// Connections
    #[arg(long, default_value_t = 50, value_parser = value_parser!(u32).range(1..=CLIENTS_MAX))]
    clients: u32,
    /// Generator threads
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u16).range(1..))]
    threads: u16,
    /// CPUs the threads are pinned to, in turn: `1,2`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Requests in flight per connection, in a closed loop
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    pipeline: u32,
    /// Key space
    #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..))]
    keys: u64,
    /// How keys are drawn: uniform, zipf, zipf:THETA, latest, sequential, hot
    #[arg(long, value_name = "LAW", default_value = "uniform", value_parser = draw)]
    draw: Draw,
    /// Value size
    #[arg(long, default_value_t = 64)]
    value_bytes: u32,
    /// Replies are checked for shape and length only: the server is a ceiling, not a store
    #[arg(long)]
    shape_only: bool,
    /// Requests in all
    #[arg(long, default_value_t = 3_000_000, value_parser = value_parser!(u64).range(1..))]
    requests: u64,
    /// Run for this long instead of counting requests
    #[arg(long, value_name = "SECONDS", conflicts_with = "requests", value_parser = above_zero, allow_hyphen_values = true)]
    seconds: Option<f64>,
    /// Requests per second: the most a closed loop sends, or what an open loop offers
    #[arg(long, value_name = "PER_SECOND", alias = "per-second", value_parser = above_zero, allow_hyphen_values = true)]
    rate: Option<f64>,
    /// Closed loop: be a client that spends at least so much CPU time on a request
    #[arg(long, value_name = "NS", conflicts_with = "rate", value_parser = above_zero, allow_hyphen_values = true)]
    client_cpu_ns: Option<f64>,
    /// Open loop: requests start when they are due; latency is from the intended start
    #[arg(long, requires = "rate")]
    open: bool,
    /// Open loop: how intended starts are spaced
    #[arg(long, value_enum, default_value = "poisson")]
    arrival: ArrivalFlag,
    /// Open loop: most requests under way or waiting; more are skipped and counted
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = value_parser!(u64).range(1..))]
    in_flight_bound: u64,
    /// Seed of keys and arrivals; absent: another one every time
    #[arg(long)]
    seed: Option<u64>,
    /// Write what every key holds into a file of its name in this folder, for a server of files, and end
    #[arg(long, value_name = "DIR")]
    write_documents: Option<PathBuf>,
    /// Load every key before (reads check the values they find)
    #[arg(long)]
    preload: bool,
    /// Give up after this many seconds
    #[arg(long, default_value_t = 300.0, value_parser = above_zero, allow_hyphen_values = true)]
    timeout_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OperationFlag {
    Set,
    Get,
    Del,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ProtocolFlag {
    Resp2,
    Resp3,
    Memcached,
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ArrivalFlag {
    Fixed,
    Poisson,
}

/// Connections of one call: more would need more than one address of the loopback device.
const CLIENTS_MAX: i64 = 60_000;

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

/// The exponent where none is said: what YCSB uses.
const USUAL_THETA: f64 = 0.99;

fn draw(text: &str) -> Result<Draw, String> {
    let (law, theta) = match text.split_once(':') {
        None => (text, USUAL_THETA),
        Some((law, theta)) => match theta.parse::<f64>() {
            Ok(theta) if (0.0..=10.0).contains(&theta) => (law, theta),
            _ => return Err(format!("'{theta}' is no exponent from 0 to 10")),
        },
    };
    match law {
        "uniform" => Ok(Draw::Uniform),
        "zipf" => Ok(Draw::Zipf(theta)),
        "latest" => Ok(Draw::Latest(theta)),
        "sequential" => Ok(Draw::Sequential),
        "hot" => Ok(Draw::Hot),
        _ => Err("one of uniform, zipf, zipf:THETA, latest, latest:THETA, sequential, hot".to_owned()),
    }
}

/// Seed of the values: the same in every call, so that one call reads what another has written.
const VALUES_SEED: u64 = 1;

impl Args {
    fn address(&self) -> Option<Address> {
        let endpoint = match (&self.unix, self.server, &self.tls) {
            (Some(path), ..) => Endpoint::Unix(path.clone()),
            (None, Some(socket), Some(name)) => {
                let roots = self.tls_roots.clone();
                Endpoint::Tls(TlsEndpoint { socket, server_name: name.clone(), roots })
            }
            (None, Some(socket), None) => Endpoint::Tcp(socket),
            (None, None, _) => return None,
        };
        Some(Address::of(endpoint).with_password(self.password.clone()))
    }

    fn workload(&self) -> Workload {
        let operation = match self.operation {
            OperationFlag::Set => Operation::Set,
            OperationFlag::Get => Operation::Get,
            OperationFlag::Del => Operation::Del,
        };
        let host = self.server.map_or_else(|| "localhost".to_owned(), |socket| socket.to_string());
        Workload {
            mix: vec![(operation, 1)],
            keys: self.keys,
            // A key can be deleted once.
            draw: if operation == Operation::Del { Draw::Once } else { self.draw },
            length: Length::Fixed(self.value_bytes),
            pipeline: self.pipeline,
            shape_only: self.shape_only,
            protocol: match self.protocol {
                ProtocolFlag::Resp2 => Protocol::Resp2,
                ProtocolFlag::Resp3 => Protocol::Resp3,
                ProtocolFlag::Memcached => Protocol::Memcached,
                ProtocolFlag::Http => {
                    Protocol::Http(http::Target { host, path_prefix: self.http_path.clone(), close: false })
                }
            },
            ..Workload::default()
        }
    }

    /// The server, once it has been asked what it holds; an error says why nothing is sent to it.
    fn admitted(&self, address: Address) -> Result<Guest, String> {
        let shown = match (&self.unix, self.server) {
            (Some(path), _) => format!("unix://{}", path.display()),
            (None, socket) => socket.map(|one| one.to_string()).unwrap_or_default(),
        };
        let writes = self.preload || matches!(self.operation, OperationFlag::Set);
        let server = External {
            address,
            shown,
            keys_max: self.keys,
            page: None,
            is_memcached: matches!(self.protocol, ProtocolFlag::Memcached),
        };
        if matches!(self.protocol, ProtocolFlag::Http) {
            // Nothing tells what it holds, and a path cannot be kept apart from others.
            if !matches!(self.operation, OperationFlag::Get) && !self.allow_non_empty {
                return Err(format!(
                    "documents of {} would be overwritten or deleted, and nothing was sent: if that may be, add \
                     --allow-non-empty",
                    server.shown
                ));
            }
            return Ok(Guest { server, writes: false });
        }
        if self.plain_keys && self.allow_non_empty {
            return Ok(Guest { server, writes: false });
        }
        let server = if self.plain_keys { server } else { server.under(&draw_prefix()) };
        // The keys of an empty one cannot be evicted by these.
        let written =
            if self.seconds.is_some() || self.preload { self.keys } else { self.keys.min(self.requests) };
        let bytes = if self.allow_non_empty && writes {
            written.saturating_mul(u64::from(self.value_bytes) + 100)
        } else {
            0
        };
        server.admit(Consent { remote: self.allow_remote, non_empty: self.allow_non_empty }, bytes)?;
        Ok(Guest { server, writes: writes && !self.plain_keys })
    }

    fn stretch(&self) -> Stretch {
        let pace = match self.rate {
            None => self.client_cpu_ns.map_or(Pace::Closed, |ns| Pace::Held(Held::CpuNs(ns))),
            Some(per_second) if self.open => Pace::Open(Open {
                per_second,
                arrival: match self.arrival {
                    ArrivalFlag::Fixed => Arrival::Fixed,
                    ArrivalFlag::Poisson => Arrival::Poisson,
                },
                in_flight_bound: self.in_flight_bound,
                sender: Sender::Wakes,
            }),
            Some(per_second) => Pace::Held(Held::PerSecond(per_second)),
        };
        Stretch {
            min_ns: self.seconds.map_or(u64::MAX, |seconds| (seconds * 1e9) as u64),
            min_operations: if self.seconds.is_some() { 0 } else { u64::MAX },
            limit: self.seconds.is_none().then_some(self.requests),
            pace,
            deadline: Instant::now() + Duration::from_secs_f64(self.timeout_s.clamp(0.1, 3600.0)),
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..)),
            first: 0,
            window_percentiles: false,
        }
    }
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let refuse = |text: &str| {
        eprintln!("bench-runner: {text}");
        Ok(EXIT_USAGE)
    };
    if let Some(folder) = &args.write_documents {
        let documents = Documents { keys: args.keys, value_bytes: args.value_bytes, seed: VALUES_SEED };
        std::fs::create_dir_all(folder)
            .and_then(|()| write_documents(folder, documents))
            .with_context(|| format!("cannot write the documents into {}", folder.display()))?;
        return Ok(EXIT_FINE);
    }
    let Some(address) = args.address() else { return refuse("--server or --unix says where the server is") };
    if let Some(server) = args.server.filter(|server| !server.ip().is_loopback() && !args.allow_remote) {
        return refuse(&remote(server));
    }
    let workload = args.workload();
    let resp = matches!(workload.protocol, Protocol::Resp2 | Protocol::Resp3);
    if args.preload && !resp {
        return refuse(
            "--preload is for RESP; load the keys by --plain-keys --operation set --draw sequential, then pass --plain-keys --allow-non-empty",
        );
    }
    // Before anything is written: what a signal interrupts must be removed again.
    let stop = super::raised_by_signals()?;
    let guest = args.admitted(address).map_err(anyhow::Error::msg)?;
    let address = &guest.server.address;
    raise_open_files();
    let values = Values::new(VALUES_SEED, args.value_bytes as usize);
    if args.preload {
        Client::connect(address, Duration::from_secs(10))?.fill(0..args.keys, &workload.length, &values)?;
    }
    let connections = Connections {
        clients: args.clients,
        threads: args.threads.into(),
        cpus: &args.cpus,
        protocol: &workload.protocol,
    };
    let mut generator = Generator::connect(address, &connections)?;
    let stretch = args.stretch();
    let done = generator.run(&workload, &values, &stretch, &stop);
    drop(generator);
    let code = if stop.load(Ordering::Relaxed) {
        eprintln!("bench-runner: stopped by a signal");
        EXIT_TOOL_ERROR
    } else {
        print(&done, global.format)?
    };
    Ok(if guest.leave() { code } else { EXIT_TOOL_ERROR })
}

/// Keys up to which each is deleted by its name; a larger space is looked through for those that are there.
const BY_NAME_MAX: u64 = 10_000_000;

/// A server that is left as it was found, whatever happens meanwhile.
struct Guest {
    server: External,
    /// Whether keys that this call wrote may be there.
    writes: bool,
}

impl Guest {
    /// Deletes what was written; whether nothing is left.
    fn leave(mut self) -> bool {
        self.clean()
    }

    fn clean(&mut self) -> bool {
        if !std::mem::take(&mut self.writes) {
            return true;
        }
        let by_name = self.server.is_memcached || self.server.keys_max <= BY_NAME_MAX;
        let done = if by_name { self.server.clean() } else { self.server.remove_left_behind() };
        done.inspect_err(|reason| eprintln!("bench-runner: {reason}")).is_ok()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.clean();
    }
}

fn print(done: &Stretched, format: Format) -> anyhow::Result<u8> {
    let counts = done.recorder.counts;
    let seconds = done.elapsed_ns as f64 / 1e9;
    let rate = counts.operations as f64 / seconds.max(1e-9);
    let mut all = Times::new();
    for operation in [Operation::Set, Operation::Get, Operation::Del] {
        done.recorder.times(operation).into_iter().for_each(|times| all.merge(times));
    }
    if format == Format::Json {
        let mut figures = document(
            "load",
            serde_json::json!({
                "operations": counts.operations, "hits": counts.hits, "misses": counts.misses, "errors": counts.errors,
                "elapsed_s": seconds, "ops_per_second": rate, "generator_busy": done.busy_max,
                "generator_cpu_ns": done.cpu_ns,
                "latency_ns_mean": all.mean_ns(), "latency_ns_p50": all.percentile_ns(50.0),
                "latency_ns_p90": all.percentile_ns(90.0), "latency_ns_p99": all.percentile_ns(99.0),
                "latency_ns_p999": all.percentile_ns(99.9), "latency_ns_max": all.max_ns(),
                "timed_out": done.timed_out,
            }),
        );
        if let Some(open) = &done.open {
            let late_ns_p99 = done.send_delays.as_ref().map_or(0, |delays| delays.percentile_ns(99.0));
            figures["send_delay_ns_p99"] = late_ns_p99.into();
            figures["open_loop"] = serde_json::to_value(open)?;
        }
        println!("{figures}");
    } else {
        println!(
            "{:.0} ops/s: {} operations in {seconds:.2} s, {} p50 {:.1} µs, p99 {:.1} µs; generator {:.0} % busy",
            rate,
            counts.operations,
            if done.open.is_some() { "latency from the intended start" } else { "response time" },
            all.percentile_ns(50.0) as f64 / 1e3,
            all.percentile_ns(99.0) as f64 / 1e3,
            done.busy_max * 100.0,
        );
        if let Some(open) = &done.open {
            println!(
                "offered {:.0}/s ({}), achieved {:.0}/s: {} due, {} skipped, at most {} in flight; sent {:.1} µs late at most",
                open.offered_per_second,
                open.arrival,
                open.achieved_per_second,
                open.due,
                open.skipped,
                open.in_flight_max,
                open.send_delay_ns_max as f64 / 1e3,
            );
        }
    }
    let wrong = done
        .lost
        .clone()
        .or_else(|| done.timed_out.then(|| "it took longer than --timeout-s".to_owned()))
        .or_else(|| {
            (counts.errors > 0).then(|| {
                let first = done.recorder.first_error.clone().unwrap_or_default();
                format!("{} replies were wrong; the first: {first}", counts.errors)
            })
        });
    if let Some(wrong) = wrong {
        eprintln!("bench-runner: {wrong}");
        return Ok(EXIT_TOOL_ERROR);
    }
    Ok(EXIT_FINE)
}
