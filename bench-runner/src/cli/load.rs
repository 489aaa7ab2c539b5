//! `bench-runner load`: one stretch of closed-loop load against a server that is already running.
//!
//! For cross-checks against other people's load generators, which have no notion of a trial. It writes keys
//! `key:000000000000 …`, so point it at a server of your own only.

use super::{EXIT_FINE, EXIT_TOOL_ERROR, Format, Global};
use crate::load::client::{Address, Client};
use crate::load::generator::{Generator, Stretch, Stretched};
use crate::load::request::{Draw, Length, Workload};
use crate::load::values::Values;
use crate::plan::Operation;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// One stretch of closed-loop load against a running server
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The server; keys that begin with `key:` are overwritten
    #[arg(long, value_name = "HOST:PORT")]
    server: SocketAddr,
    /// Password, if the server wants one
    #[arg(long, env = "PLUMBKV_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// What is asked
    #[arg(long, value_enum)]
    operation: OperationFlag,
    /// Connections
    #[arg(long, default_value_t = 50)]
    clients: u32,
    /// Requests in flight per connection
    #[arg(long, default_value_t = 1)]
    pipeline: u32,
    /// Key space
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Value size
    #[arg(long, default_value_t = 64)]
    value_bytes: u32,
    /// Requests in all
    #[arg(long, default_value_t = 3_000_000)]
    requests: u64,
    /// No more requests per second than this
    #[arg(long, value_name = "RATE")]
    per_second: Option<f64>,
    /// Load every key before (reads check the values they find)
    #[arg(long)]
    preload: bool,
    /// Give up after this many seconds
    #[arg(long, default_value_t = 300.0)]
    timeout_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OperationFlag {
    Set,
    Get,
}

/// Seed of the values: the same in every call, so that one call reads what another has written.
const VALUES_SEED: u64 = 1;

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    let address = Address { socket: args.server, password: args.password.clone() };
    let values = Values::new(VALUES_SEED, args.value_bytes as usize);
    if args.preload {
        Client::connect(&address, Duration::from_secs(10))?.fill(0..args.keys, args.value_bytes, &values)?;
    }
    let operation = match args.operation {
        OperationFlag::Set => Operation::Set,
        OperationFlag::Get => Operation::Get,
    };
    let workload = Workload {
        mix: vec![(operation, 1)],
        keys: args.keys,
        draw: Draw::Uniform,
        length: Length::Fixed(args.value_bytes),
        expiry_ms: None,
        pipeline: args.pipeline,
        refusals_are_right: false,
        shape_only: false,
    };
    let mut generator = Generator::connect(&address, args.clients, 1)?;
    let stretch = Stretch {
        min_ns: u64::MAX,
        min_operations: u64::MAX,
        limit: Some(args.requests),
        per_second: args.per_second,
        deadline: Instant::now() + Duration::from_secs_f64(args.timeout_s.clamp(0.1, 3600.0)),
        seed: fastrand::u64(..),
        first: 0,
    };
    let done = generator.run(&workload, &values, &stretch, &AtomicBool::new(false));
    print(&done, operation, global.format)
}

fn print(done: &Stretched, operation: Operation, format: Format) -> anyhow::Result<u8> {
    let counts = done.recorder.counts;
    let seconds = done.elapsed_ns as f64 / 1e9;
    let rate = counts.operations as f64 / seconds.max(1e-9);
    let at = |percentile| done.recorder.times(operation).map_or(0, |times| times.percentile_ns(percentile));
    if format == Format::Json {
        let figures = serde_json::json!({
            "operations": counts.operations, "hits": counts.hits, "misses": counts.misses, "errors": counts.errors,
            "elapsed_s": seconds, "ops_per_second": rate, "generator_busy": done.busy_max,
            "latency_ns_p50": at(50.0), "latency_ns_p99": at(99.0), "timed_out": done.timed_out,
        });
        println!("{figures}");
    } else {
        println!(
            "{:.0} ops/s: {} operations in {seconds:.2} s, response time p50 {:.1} µs, p99 {:.1} µs; generator {:.0} % busy",
            rate,
            counts.operations,
            at(50.0) as f64 / 1e3,
            at(99.0) as f64 / 1e3,
            done.busy_max * 100.0,
        );
    }
    let wrong = done
        .lost
        .clone()
        .or_else(|| done.timed_out.then(|| "it took longer than --timeout-s".to_owned()))
        .or_else(|| (counts.errors > 0).then(|| format!("{} replies were wrong", counts.errors)));
    if let Some(wrong) = wrong {
        eprintln!("bench-runner: {wrong}");
        return Ok(EXIT_TOOL_ERROR);
    }
    Ok(EXIT_FINE)
}
