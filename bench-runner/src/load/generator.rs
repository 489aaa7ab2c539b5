//! The closed-loop load: connections shared out among threads, each thread with its own poll and histograms.
//!
//! One system call writes a connection's whole batch and one reads its replies. The input buffer belongs to the
//! thread, not to the connection, so that a thousand connections do not push each other out of the cache.

use super::client::{Address, Client, ClientError};
use super::recorder::Recorder;
use super::reply::{Answer, judge};
use super::request::{Asked, Draw, Source, Workload};
use super::values::Values;
use mio::{Events, Interest, Poll, Token};
use std::io::{ErrorKind, Read, Write};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// No more requests per second than this, of all threads together; None: as fast as replies come.
    pub per_second: Option<f64>,
    /// It is given up at this time.
    pub deadline: Instant,
    /// Seed of its random sequences.
    pub seed: u64,
    /// First place taken in the order of [`Draw::Once`].
    pub first: u64,
}

/// What a stretch of load came to.
#[derive(Debug, Default)]
pub struct Stretched {
    /// Everything seen, of all threads.
    pub recorder: Recorder,
    /// From the first send to the last reply, ns.
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
    /// Busiest thread's CPU time over its time.
    pub busy_max: f64,
}

/// Open connections, ready for stretches of load.
#[derive(Debug)]
pub struct Generator {
    shards: Vec<Shard>,
}

#[derive(Debug)]
struct Shard {
    poll: Poll,
    connections: Vec<Connection>,
}

#[derive(Debug)]
struct Connection {
    stream: mio::net::TcpStream,
    batch: Vec<Asked>,
    answered: usize,
    sent_ns: u64,
    /// The beginning of a reply that has not arrived whole.
    partial: Vec<u8>,
    /// The end of a batch that the socket did not take.
    unsent: Vec<u8>,
}

impl Generator {
    /// Opens `clients` connections one after the other, each authenticated and answered once, and shares them
    /// out among `threads`.
    ///
    /// # Errors
    /// A connection fails.
    pub fn connect(address: &Address, clients: u32, threads: usize) -> Result<Self, ClientError> {
        let failed = |error| ClientError::Io { what: "registering a connection".to_owned(), error };
        let threads = threads.clamp(1, clients.max(1) as usize);
        let mut shards = Vec::new();
        for _ in 0..threads {
            shards.push(Shard { poll: Poll::new().map_err(failed)?, connections: Vec::new() });
        }
        for client in 0..clients as usize {
            let stream = Client::connect(address, Duration::from_secs(10))?.into_stream();
            stream.set_nonblocking(true).map_err(failed)?;
            let mut stream = mio::net::TcpStream::from_std(stream);
            let shard = &mut shards[client % threads];
            let token = Token(shard.connections.len());
            shard.poll.registry().register(&mut stream, token, Interest::READABLE).map_err(failed)?;
            shard.connections.push(Connection {
                stream,
                batch: Vec::new(),
                answered: 0,
                sent_ns: 0,
                partial: Vec::new(),
                unsent: Vec::new(),
            });
        }
        Ok(Self { shards })
    }

    /// Runs one stretch of load to its end; every request is answered before it returns, unless it says why not.
    pub fn run(
        &mut self,
        workload: &Workload,
        values: &Values,
        stretch: &Stretch,
        stop: &AtomicBool,
    ) -> Stretched {
        let threads = self.shards.len() as u64;
        let barrier = Barrier::new(self.shards.len());
        let mut first = stretch.first;
        let parts: Vec<Part> = std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for (number, shard) in self.shards.iter_mut().enumerate() {
                let number = number as u64;
                let limit = stretch.limit.map(|all| share(all, number, threads));
                let own = Stretch {
                    min_operations: share(stretch.min_operations, number, threads),
                    limit,
                    per_second: stretch.per_second.map(|all| all / threads as f64),
                    seed: stretch.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                    first,
                    ..*stretch
                };
                first += limit.unwrap_or(0);
                let source =
                    Source::new(workload, values, own.seed, values_order(workload, stretch), own.first);
                let barrier = &barrier;
                handles.push(scope.spawn(move || {
                    barrier.wait();
                    Part::run(shard, workload, values, source, &own, stop)
                }));
            }
            handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| Part::died())).collect()
        });
        merge(parts)
    }
}

/// The order of [`Draw::Once`] must not change between the rounds that share it.
fn values_order(workload: &Workload, stretch: &Stretch) -> u64 {
    if workload.draw == Draw::Once { workload.keys } else { stretch.seed }
}

fn share(all: u64, number: u64, of: u64) -> u64 {
    all / of + u64::from(number < all % of)
}

fn merge(parts: Vec<Part>) -> Stretched {
    let mut whole = Stretched::default();
    for part in parts {
        whole.recorder.merge(&part.recorder);
        whole.elapsed_ns = whole.elapsed_ns.max(part.last_reply_ns);
        whole.sent += part.sent;
        whole.timed_out |= part.timed_out;
        whole.stopped |= part.stopped;
        whole.cpu_ns += part.cpu_ns;
        whole.busy_max = whole.busy_max.max(part.busy);
        whole.lost = whole.lost.or(part.lost);
    }
    whole
}

/// What one thread came to.
#[derive(Debug, Default)]
struct Part {
    recorder: Recorder,
    last_reply_ns: u64,
    sent: u64,
    timed_out: bool,
    stopped: bool,
    lost: Option<String>,
    cpu_ns: u64,
    busy: f64,
}

/// Large enough for the replies of a deep pipeline, small enough to stay in the second-level cache.
const INPUT_BYTES: usize = 128 * 1024;

impl Part {
    fn died() -> Self {
        Self { lost: Some("a generator thread died".to_owned()), ..Self::default() }
    }

    fn run(
        shard: &mut Shard,
        workload: &Workload,
        values: &Values,
        source: Source<'_>,
        stretch: &Stretch,
        stop: &AtomicBool,
    ) -> Self {
        let cpu_before = thread_cpu_ns();
        let start = Instant::now();
        let mut thread = Thread {
            start,
            workload,
            values,
            source,
            stretch,
            stopping: false,
            in_flight: 0,
            output: Vec::new(),
            part: Self::default(),
        };
        if let Err(lost) = thread.drive(shard, stop) {
            thread.part.lost = Some(lost);
        }
        let mut part = thread.part;
        part.cpu_ns = thread_cpu_ns().saturating_sub(cpu_before);
        part.busy = part.cpu_ns as f64 / (start.elapsed().as_nanos().max(1) as f64);
        part
    }
}

struct Thread<'a> {
    start: Instant,
    workload: &'a Workload,
    values: &'a Values,
    source: Source<'a>,
    stretch: &'a Stretch,
    stopping: bool,
    in_flight: u64,
    output: Vec<u8>,
    part: Part,
}

impl Thread<'_> {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn drive(&mut self, shard: &mut Shard, stop: &AtomicBool) -> Result<(), String> {
        let mut input = vec![0; INPUT_BYTES];
        let mut events = Events::with_capacity(1024);
        let Shard { poll, connections } = shard;
        for (token, connection) in connections.iter_mut().enumerate() {
            self.send_batch(connection, poll, token)?;
        }
        while self.in_flight > 0 {
            match poll.poll(&mut events, Some(Duration::from_millis(100))) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("waiting for replies: {error}")),
            }
            for event in &events {
                let token = event.token().0;
                let Some(connection) = connections.get_mut(token) else { continue };
                if event.is_writable() && !connection.unsent.is_empty() {
                    self.send_rest(connection, poll, token)?;
                }
                if event.is_readable() || event.is_read_closed() || event.is_error() {
                    self.receive(connection, &mut input, poll, token)?;
                }
            }
            if stop.load(Ordering::Relaxed) {
                self.part.stopped = true;
                return Ok(());
            }
            if Instant::now() >= self.stretch.deadline {
                self.part.timed_out = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn receive(
        &mut self,
        connection: &mut Connection,
        input: &mut [u8],
        poll: &Poll,
        token: usize,
    ) -> Result<(), String> {
        loop {
            let count = match connection.stream.read(input) {
                Ok(0) => return Err("the target closed a connection under load".to_owned()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(format!("a connection was lost under load: {error}")),
            };
            let now = self.now_ns();
            if connection.partial.is_empty() {
                let used = self.judge_all(connection, &input[..count], now)?;
                connection.partial.extend_from_slice(&input[used..count]);
            } else {
                let mut partial = std::mem::take(&mut connection.partial);
                partial.extend_from_slice(&input[..count]);
                let used = self.judge_all(connection, &partial, now)?;
                partial.drain(..used);
                connection.partial = partial;
            }
            if connection.answered == connection.batch.len() && !connection.batch.is_empty() {
                if !connection.partial.is_empty() {
                    return Err("the target sent more replies than it was asked for".to_owned());
                }
                self.send_batch(connection, poll, token)?;
            }
            // A short read has emptied the socket; what comes later raises a new event.
            if count < input.len() {
                return Ok(());
            }
        }
    }

    /// Judges the replies in `bytes` and returns how many bytes of it they took.
    fn judge_all(&mut self, connection: &mut Connection, bytes: &[u8], now: u64) -> Result<usize, String> {
        let mut used = 0;
        while connection.answered < connection.batch.len() {
            let asked = connection.batch[connection.answered];
            let recorder = &mut self.part.recorder;
            match judge(&bytes[used..], &asked, self.values, self.workload.shape_only) {
                Answer::Right(consumed) => {
                    used += consumed;
                    recorder.counts.hits += u64::from(asked.operation == crate::plan::Operation::Get);
                }
                Answer::Refused(consumed, text) if self.workload.refusals_are_right => {
                    used += consumed;
                    recorder.refusals += 1;
                    recorder.first_refusal.get_or_insert(text);
                }
                Answer::Refused(consumed, text) => {
                    used += consumed;
                    recorder.error(|| format!("SET of key {} was refused: {text}", asked.index));
                }
                Answer::Missed(consumed) => {
                    used += consumed;
                    recorder.counts.misses += 1;
                    recorder
                        .error(|| format!("GET of key {} found nothing, though it was loaded", asked.index));
                }
                Answer::Wrong(consumed, text) => {
                    used += consumed;
                    recorder.error(|| text);
                }
                Answer::Broken(text) => return Err(text),
                Answer::Incomplete => break,
            }
            self.part.recorder.record(asked.operation, now.saturating_sub(connection.sent_ns), now);
            connection.answered += 1;
            self.in_flight -= 1;
            self.part.last_reply_ns = now;
        }
        Ok(used)
    }

    fn send_batch(&mut self, connection: &mut Connection, poll: &Poll, token: usize) -> Result<(), String> {
        connection.batch.clear();
        connection.answered = 0;
        let now = self.now_ns();
        let done = self.part.recorder.counts.operations;
        self.stopping |= now >= self.stretch.min_ns && done >= self.stretch.min_operations;
        if self.stopping {
            return Ok(());
        }
        let left = self.stretch.limit.map_or(u64::MAX, |limit| limit - self.part.sent);
        let count = u64::from(self.workload.pipeline.max(1)).min(left);
        if count == 0 {
            return Ok(());
        }
        self.pace();
        self.output.clear();
        for _ in 0..count {
            connection.batch.push(self.source.ask(now, &mut self.output));
        }
        self.part.sent += count;
        self.in_flight += count;
        connection.sent_ns = self.now_ns();
        let written = write_some(&mut connection.stream, &self.output)?;
        if written < self.output.len() {
            connection.unsent.extend_from_slice(&self.output[written..]);
            rearm(connection, poll, token, Interest::READABLE | Interest::WRITABLE)?;
        }
        Ok(())
    }

    /// Waits until the next request is due. Spins: a sleep is far longer than the time between two requests,
    /// and would send them in bursts that a server answers more cheaply.
    fn pace(&self) {
        let Some(per_second) = self.stretch.per_second else { return };
        let due_ns = (self.part.sent as f64 / per_second * 1e9) as u64;
        while self.now_ns() < due_ns {
            std::hint::spin_loop();
        }
    }

    fn send_rest(&mut self, connection: &mut Connection, poll: &Poll, token: usize) -> Result<(), String> {
        let written = write_some(&mut connection.stream, &connection.unsent)?;
        connection.unsent.drain(..written);
        if connection.unsent.is_empty() {
            rearm(connection, poll, token, Interest::READABLE)?;
        }
        Ok(())
    }
}

fn rearm(connection: &mut Connection, poll: &Poll, token: usize, interest: Interest) -> Result<(), String> {
    poll.registry()
        .reregister(&mut connection.stream, Token(token), interest)
        .map_err(|error| format!("waiting for a socket to take more: {error}"))
}

fn write_some(stream: &mut mio::net::TcpStream, mut bytes: &[u8]) -> Result<usize, String> {
    let all = bytes.len();
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("a connection was lost under load: {error}")),
        }
    }
    Ok(all - bytes.len())
}

/// CPU time of the calling thread, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
