//! The load: connections shared out among threads, each thread with its own poll and histograms.
//!
//! What a thread does is in `worker` (closed loop) and `open` (open loop); here it is begun, and what the threads
//! came to is put together.

use super::arrivals::Open;
use super::client::{Address, Client, ClientError};
use super::connection::Connection;
use super::draw::Draw;
use super::fresh::Opener;
pub use super::held::Held;
use super::poller::Poller;
use super::recorder::{Recorder, Times};
use super::request::{Protocol, Source, Workload};
use super::stream::{Connector, Stream};
use super::values::Values;
use super::worker::{Part, Turn};
use super::written::Written;
use crate::model::OpenLoop;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

/// How long a stretch of load lasts.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// At least this long, ns.
    pub min_ns: u64,
    /// At least this many operations.
    pub min_operations: u64,
    /// Never more than this many operations: it ends when they are done, whatever the two above say.
    pub limit: Option<u64>,
    /// When requests are sent.
    pub pace: Pace,
    /// It is given up at this time.
    pub deadline: Instant,
    /// Seed of its random sequences.
    pub seed: u64,
    /// First place taken in the order of [`Draw::Once`].
    pub first: u64,
    /// Every one-second window gets percentiles of its own; they do anyway from [`LONG_NS`] on.
    pub window_percentiles: bool,
}

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// The next ones of a connection when all of its last ones are answered.
    Closed,
    /// As [`Pace::Closed`], but by clients who work more slowly.
    Held(Held),
    /// When they are due, answered or not.
    Open(Open),
}

/// A stretch that is meant to last as long as this shows how it changes: its windows get percentiles, ns.
pub const LONG_NS: u64 = 5_000_000_000;

/// What a stretch of load came to.
#[derive(Debug, Default)]
pub struct Stretched {
    /// Everything seen, of all threads.
    pub recorder: Recorder,
    /// Writes that were acknowledged.
    pub written: Written,
    /// From the first send to the last reply, of an open loop at least to the end of its schedule, ns.
    pub elapsed_ns: u64,
    /// Requests sent, of which the last ones may be unanswered after a loss or a timeout.
    pub sent: u64,
    /// The deadline came first.
    pub timed_out: bool,
    /// It was told to stop.
    pub stopped: bool,
    /// A connection was lost, or broke the protocol.
    pub lost: Option<String>,
    /// CPU time of all generator threads, ns.
    pub cpu_ns: u64,
    /// The largest share of its time that a thread worked, or could have but had to wait for a CPU.
    pub ready_max: f64,
    /// Busiest thread's CPU time over its time. Time that it span while nothing was to be done is left out.
    pub busy_max: f64,
    /// What was offered and what came of it, in an open loop.
    pub open: Option<OpenLoop>,
    /// How late requests were sent that did not have to wait for a connection: the generator's own doing.
    pub send_delays: Option<Times>,
}

/// How the connections of a generator are opened.
#[derive(Debug, Clone)]
pub struct Connections<'a> {
    /// How many.
    pub clients: u32,
    /// Threads that share them.
    pub threads: usize,
    /// CPUs that the threads are pinned to, in turn; empty: where the caller is.
    pub cpus: &'a [usize],
    /// What is spoken.
    pub protocol: &'a Protocol,
}

/// Open connections, ready for stretches of load.
#[derive(Debug)]
pub struct Generator {
    shards: Vec<Shard>,
    key_prefix: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) poller: Poller,
    pub(super) connections: Vec<Connection>,
    /// Every request opens a connection of its own; there are none of longer life.
    pub(super) opener: Option<Opener>,
    cpu: Option<usize>,
}

/// How long opening one connection may take.
const PATIENCE: Duration = Duration::from_secs(10);

impl Generator {
    /// Opens connections one after the other, each authenticated and answered once where the protocol has a way,
    /// and shares them out among threads. Where every request has a connection of its own, none is opened yet.
    ///
    /// # Errors
    /// A connection fails, or there is to be one per request and the server is not reached over plain TCP.
    pub fn connect(address: &Address, wanted: &Connections<'_>) -> Result<Self, ClientError> {
        let failed = |error| ClientError::Io { what: "registering a connection".to_owned(), error };
        let connecting =
            |error| ClientError::Io { what: format!("connecting to {}", address.endpoint), error };
        let threads = wanted.threads.clamp(1, wanted.clients.max(1) as usize);
        let mut shards = Vec::new();
        for thread in 0..threads {
            let cpu = wanted.cpus.get(thread % wanted.cpus.len().max(1)).copied();
            let clients = share(u64::from(wanted.clients), thread as u64, threads as u64) as usize;
            let opener = match wanted.protocol.keeps_connections() {
                true => None,
                false => {
                    let why = "a connection per request is opened over plain TCP only";
                    let opener = Opener::new(address, clients);
                    Some(opener.ok_or_else(|| connecting(std::io::Error::other(why)))?)
                }
            };
            let poller = Poller::new().map_err(failed)?;
            shards.push(Shard { poller, connections: Vec::new(), opener, cpu });
        }
        if !wanted.protocol.keeps_connections() {
            return Ok(Self { shards, key_prefix: address.key_prefix.clone() });
        }
        let connector = Connector::new(address).map_err(connecting)?;
        for client in 0..wanted.clients as usize {
            let stream = open_stream(&connector, address, wanted.protocol)?;
            let shard = &mut shards[client % threads];
            let connection = Connection::new(stream).map_err(failed)?;
            connection.listen(&shard.poller, shard.connections.len()).map_err(failed)?;
            shard.connections.push(connection);
        }
        Ok(Self { shards, key_prefix: address.key_prefix.clone() })
    }

    /// Runs one stretch of load to its end; every request is answered before it returns, unless it says why not.
    pub fn run(
        &mut self,
        workload: &Workload,
        values: &Values,
        stretch: &Stretch,
        stop: &AtomicBool,
    ) -> Stretched {
        let prefixed;
        let workload = if self.key_prefix.is_empty() {
            workload
        } else {
            prefixed = Workload { key_prefix: self.key_prefix.clone(), ..workload.clone() };
            &prefixed
        };
        let threads = self.shards.len() as u64;
        let barrier = Barrier::new(self.shards.len());
        let turning = AtomicU64::new(threads);
        let mut first = stretch.first;
        let parts: Vec<Part> = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for (number, shard) in self.shards.iter_mut().enumerate() {
                let number = number as u64;
                let limit = stretch.limit.map(|all| share(all, number, threads));
                let own = Stretch {
                    min_operations: share(stretch.min_operations, number, threads),
                    limit,
                    seed: stretch.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                    ..*stretch
                };
                let begins = match workload.draw {
                    // Without a count to share, threads begin at even distances.
                    Draw::Sequential | Draw::Latest(_) if limit.is_none() => {
                        stretch.first + workload.keys / threads * number
                    }
                    _ => first,
                };
                first += limit.unwrap_or(0);
                let source = Source::new(workload, values, own.seed, begins);
                let turn = Turn { number, of: threads };
                let (barrier, cpu, turning) = (&barrier, shard.cpu, &turning);
                handles.push(scope.spawn(move || {
                    pin(cpu);
                    barrier.wait();
                    Part::run(shard, workload, values, source, &own, (turn, turning), stop)
                }));
            }
            handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| Part::died())).collect()
        });
        merge(parts, stretch)
    }
}

/// A connection that speaks a protocol, authenticated and answered once where the protocol has a way.
pub(crate) fn open_stream(
    connector: &Connector,
    address: &Address,
    protocol: &Protocol,
) -> Result<Stream, ClientError> {
    match protocol {
        Protocol::Resp2 => Ok(Client::connect_by(connector, address, PATIENCE)?.into_stream()),
        Protocol::Resp3 => {
            let mut client = Client::connect_by(connector, address, PATIENCE)?;
            client.hello3()?;
            Ok(client.into_stream())
        }
        Protocol::Memcached | Protocol::Http(_) | Protocol::Page(_) => {
            let what = || format!("connecting to {}", address.endpoint);
            connector.connect(PATIENCE).map_err(|error| ClientError::Io { what: what(), error })
        }
    }
}

/// Refused pinning is no error: the record says where the threads were allowed to run.
fn pin(cpu: Option<usize>) {
    let Some(cpu) = cpu else { return };
    let mut set = rustix::thread::CpuSet::new();
    if cpu < rustix::thread::CpuSet::MAX_CPU {
        set.set(cpu);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

pub(super) fn share(all: u64, number: u64, of: u64) -> u64 {
    all / of + u64::from(number < all % of)
}

fn merge(parts: Vec<Part>, stretch: &Stretch) -> Stretched {
    let mut whole = Stretched::default();
    for part in &parts {
        whole.recorder.merge(&part.recorder);
        whole.written.merge(&part.written);
        whole.elapsed_ns = whole.elapsed_ns.max(part.last_reply_ns).max(part.schedule_ns);
        whole.sent += part.sent;
        whole.timed_out |= part.timed_out;
        whole.stopped |= part.stopped;
        whole.cpu_ns += part.cpu_ns;
        whole.ready_max = whole.ready_max.max(part.ready);
        whole.busy_max = whole.busy_max.max(part.busy);
        whole.lost = whole.lost.or_else(|| part.lost.clone());
        if let Some(delays) = &part.send_delays {
            whole.send_delays.get_or_insert_with(Times::new).merge(delays);
        }
    }
    if let Pace::Open(open) = stretch.pace {
        let seconds = (whole.elapsed_ns as f64 / 1e9).max(1e-9);
        whole.open = Some(OpenLoop {
            arrival: open.arrival.name().to_owned(),
            offered_per_second: open.per_second,
            achieved_per_second: whole.recorder.counts.operations as f64 / seconds,
            due: parts.iter().map(|part| part.due).sum(),
            skipped: parts.iter().map(|part| part.skipped).sum(),
            in_flight_bound: open.in_flight_bound,
            in_flight_max: parts.iter().map(|part| part.in_flight_max).sum(),
            send_delay_ns_max: whole.send_delays.as_ref().map_or(0, Times::max_ns),
        });
    }
    whole
}

/// CPU time of the calling thread, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How long this thread has waited for a CPU while it could have run, ns: 0 where the kernel does not say.
pub(crate) fn thread_waited_ns() -> u64 {
    schedstat_ns(Path::new("/proc/thread-self/schedstat")).1
}

/// What a `schedstat` file says of a thread: how long it ran, and how long it waited for a CPU, ns.
#[must_use]
pub fn schedstat_ns(file: &Path) -> (u64, u64) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut numbers = text.split_whitespace().map(|word| word.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Ten thousand connections need as many files, here and in the targets that inherit the limit.
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
