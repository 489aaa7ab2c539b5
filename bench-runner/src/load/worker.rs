//! What does one generator thread do? Here: what both loops share, and the closed loop.
//!
//! One system call writes a connection's whole batch and one reads its replies. The input buffer belongs to the
//! thread, not to the connection, so that a thousand connections do not push each other out of the cache.

use super::arrivals::Sender;
use super::connection::Connection;
use super::generator::{LONG_NS, Pace, Shard, Stretch, thread_cpu_ns, thread_waited_ns};
use super::http;
use super::poller::{Events, Poller};
use super::recorder::{Recorder, Times};
use super::reply::{Answer, judge};
use super::request::{Age, Asked, Protocol, Source, Workload};
use super::turning::Turning;
use super::values::Values;
use super::written::Written;
use crate::plan::Operation;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Which of how many threads this is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) number: u64,
    pub(super) of: u64,
}

/// What one thread came to.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) recorder: Recorder,
    pub(super) written: Written,
    pub(super) last_reply_ns: u64,
    pub(super) sent: u64,
    pub(super) timed_out: bool,
    pub(super) stopped: bool,
    pub(super) lost: Option<String>,
    pub(super) cpu_ns: u64,
    pub(super) busy: f64,
    /// As `busy`, with the time it could have run but had to wait for a CPU.
    pub(super) ready: f64,
    /// CPU time spent looking at the clock and at sockets that had nothing to say, ns.
    pub(super) spun_ns: u64,
    /// Open loop: end of the schedule, requests due, skipped, most in flight, and how late they were sent.
    pub(super) schedule_ns: u64,
    pub(super) due: u64,
    pub(super) skipped: u64,
    pub(super) in_flight_max: u64,
    pub(super) send_delays: Option<Times>,
}

impl Part {
    pub(super) fn died() -> Self {
        Self { lost: Some("a generator thread died".to_owned()), ..Self::default() }
    }

    pub(super) fn run(
        shard: &mut Shard,
        workload: &Workload,
        values: &Values,
        source: Source<'_>,
        stretch: &Stretch,
        (turn, turning): (Turn, &AtomicU64),
        stop: &AtomicBool,
    ) -> Self {
        let (cpu_before, waited_before) = (thread_cpu_ns(), thread_waited_ns());
        let start = Instant::now();
        let open = matches!(stretch.pace, Pace::Open(_));
        let mut part = Self::default();
        part.recorder.from_intended_start = open;
        let long = stretch.min_ns >= LONG_NS && stretch.min_ns != u64::MAX;
        part.recorder.window_percentiles = stretch.window_percentiles || long;
        let deadline_ns = stretch.deadline.saturating_duration_since(start).as_nanos() as u64;
        let mut worker = Worker {
            start,
            workload,
            values,
            source,
            stretch,
            deadline_ns,
            stop,
            open,
            stopping: false,
            in_flight: 0,
            spins_since: None,
            turning: Turning::new(stretch, turning),
            input: vec![0; INPUT_BYTES],
            output: Vec::new(),
            part,
        };
        let driven = match (&shard.opener, stretch.pace) {
            (Some(opener), _) => super::fresh::drive(&mut worker, &shard.poller, opener),
            (None, Pace::Closed) => worker.drive_closed(shard),
            (None, Pace::Held(held)) => super::held::drive(&mut worker, shard, held.share(turn.of)),
            (None, Pace::Open(open)) => super::open::drive(&mut worker, shard, &open, turn),
        };
        worker.works();
        let mut part = worker.part;
        part.lost = driven.err();
        part.cpu_ns = thread_cpu_ns().saturating_sub(cpu_before);
        let waited_ns = thread_waited_ns().saturating_sub(waited_before);
        let worked_ns = part.cpu_ns.saturating_sub(part.spun_ns);
        let elapsed_ns = start.elapsed().as_nanos().max(1) as f64;
        part.busy = worked_ns as f64 / elapsed_ns;
        part.ready = (worked_ns + waited_ns) as f64 / elapsed_ns;
        part
    }
}

/// Replies of one read that were judged.
#[derive(Debug, Default)]
struct Tally {
    /// By operation.
    answered: [u64; 3],
    /// Reads among them that did not find their value, or found something else.
    without_hit: u64,
}

impl Part {
    /// Counts an answer that is not simply right. How many bytes it took.
    #[cold]
    fn note(&mut self, asked: &Asked, answer: Answer, workload: &Workload, tally: &mut Tally) -> usize {
        tally.without_hit += u64::from(asked.operation == Operation::Get);
        let recorder = &mut self.recorder;
        match answer {
            Answer::Refused(consumed, text) if workload.refusals_are_right => {
                recorder.refusals += 1;
                recorder.first_refusal.get_or_insert(text);
                consumed
            }
            Answer::Refused(consumed, text) => {
                recorder.error(|| format!("SET of key {} was refused: {text}", asked.index));
                consumed
            }
            Answer::Missed(consumed) => {
                recorder.counts.misses += 1;
                recorder.error(|| format!("GET of key {} found nothing, though it was loaded", asked.index));
                consumed
            }
            Answer::Wrong(consumed, text) => {
                recorder.error(|| text);
                consumed
            }
            Answer::Right(consumed) => consumed,
            Answer::Incomplete | Answer::Broken(_) => 0,
        }
    }
}

/// Large enough for the replies of a deep pipeline, small enough to stay in the second-level cache.
const INPUT_BYTES: usize = 128 * 1024;

/// How often a thread without events looks whether it should end.
pub(super) const LOOK_UP: Duration = Duration::from_millis(100);

/// One thread at work.
pub(super) struct Worker<'a> {
    start: Instant,
    workload: &'a Workload,
    values: &'a Values,
    pub(super) source: Source<'a>,
    pub(super) stretch: &'a Stretch,
    deadline_ns: u64,
    stop: &'a AtomicBool,
    open: bool,
    stopping: bool,
    pub(super) in_flight: u64,
    /// CPU time of this thread when it began to spin, while it does.
    spins_since: Option<u64>,
    pub(super) turning: Turning<'a>,
    input: Vec<u8>,
    output: Vec<u8>,
    pub(super) part: Part,
}

impl Worker<'_> {
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Whether it has to end before its time.
    pub(super) fn must_end(&mut self, now: u64) -> bool {
        self.part.stopped = self.stop.load(Ordering::Relaxed);
        self.part.timed_out = !self.part.stopped && now >= self.deadline_ns;
        self.part.stopped || self.part.timed_out
    }

    /// Requests that a connection sends at once.
    pub(super) fn pipeline(&self) -> u32 {
        self.workload.pipeline.max(1)
    }

    fn drive_closed(&mut self, shard: &mut Shard) -> Result<(), String> {
        let Shard { poller, connections, .. } = shard;
        // Those whose turn to send has come: all that was there to be read is read.
        let mut answered: Vec<usize> = (0..connections.len()).collect();
        let mut events = Events::default();
        loop {
            for token in answered.drain(..) {
                let now = self.now_ns();
                if let Some(connection) = connections.get_mut(token) {
                    self.send_batch(connection, poller, token, now)?;
                }
            }
            if self.in_flight == 0 {
                return Ok(());
            }
            wait(poller, &mut events, LOOK_UP)?;
            for ready in events.iter() {
                let Some(connection) = connections.get_mut(ready.token) else { continue };
                if ready.writable && connection.is_blocked() {
                    connection.send_rest(poller, ready.token)?;
                }
                if ready.readable && self.receive(connection)? > 0 && connection.pending.is_empty() {
                    answered.push(ready.token);
                }
            }
            let now = self.now_ns();
            if self.must_end(now) {
                return Ok(());
            }
        }
    }

    /// Spins for so long, or until it has to end. How long it was.
    pub(super) fn spin(&mut self, ns: u64) -> u64 {
        let began = self.now_ns();
        let mut now = began;
        while now - began < ns && !self.must_end(now) {
            std::hint::spin_loop();
            now = self.now_ns();
        }
        // By the clock: asking for CPU time twice would take as long as most spins.
        self.part.spun_ns += now - began;
        now - began
    }

    /// From here on it only looks whether there is something to do.
    pub(super) fn spins(&mut self) {
        self.spins_since.get_or_insert_with(thread_cpu_ns);
    }

    /// There is something to do.
    pub(super) fn works(&mut self) {
        if let Some(since) = self.spins_since.take() {
            self.part.spun_ns += thread_cpu_ns().saturating_sub(since);
        }
    }

    /// Reads and judges all that a connection has to say. How many replies that were.
    pub(super) fn receive(&mut self, connection: &mut Connection) -> Result<usize, String> {
        let before = connection.pending.len();
        let mut input = std::mem::take(&mut self.input);
        let outcome = self.receive_into(connection, &mut input);
        self.input = input;
        outcome?;
        if connection.pending.is_empty() && !connection.partial.is_empty() {
            return Err("the target sent more replies than it was asked for".to_owned());
        }
        Ok(before - connection.pending.len())
    }

    fn receive_into(&mut self, connection: &mut Connection, input: &mut [u8]) -> Result<(), String> {
        while let Some((count, is_all)) = connection.read(input)? {
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
            // What comes later raises a new event.
            if is_all {
                break;
            }
        }
        Ok(())
    }

    /// Judges the replies in `bytes` and returns how many bytes of it they took.
    pub(super) fn judge_all(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        now: u64,
    ) -> Result<usize, String> {
        let mut used = 0;
        let mut broken = None;
        // What came in one read has come at one time: right answers are counted here and recorded together.
        let (mut judged, mut tally) = (0, Tally::default());
        // Sent one after the other, they lie in one piece, or in two where the queue wraps round.
        let (one, other) = connection.pending.as_slices();
        for asked in one.iter().chain(other) {
            let begin = used;
            match judge(&bytes[used..], asked, self.values, self.workload) {
                Answer::Right(consumed) => {
                    used += consumed;
                    if asked.operation == Operation::Set && asked.age == Age::Newest {
                        self.part.written.add(*asked);
                    }
                }
                Answer::Incomplete => break,
                Answer::Broken(text) => {
                    broken = Some(text);
                    break;
                }
                answer => used += self.part.note(asked, answer, self.workload, &mut tally),
            }
            if matches!(self.workload.protocol, Protocol::Http(_) | Protocol::Page(_)) {
                let recorder = &mut self.part.recorder;
                http::status(&bytes[begin..]).into_iter().for_each(|code| recorder.status(code));
            }
            tally.answered[asked.operation as usize] += 1;
            if self.open {
                let began = connection.starts.pop_front().unwrap_or(now);
                self.part.recorder.record(asked.operation, now.saturating_sub(began), now);
            }
            judged += 1;
        }
        self.note_early(&connection.pending, judged);
        connection.pending.drain(..judged);
        self.in_flight -= judged as u64;
        if judged > 0 {
            self.part.last_reply_ns = now;
        }
        for operation in [Operation::Set, Operation::Get, Operation::Del] {
            let count = tally.answered[operation as usize];
            if count > 0 && !self.open {
                let ns = now.saturating_sub(connection.sent_ns);
                self.part.recorder.record_many(operation, ns, now, count);
            }
        }
        self.part.recorder.counts.hits += tally.answered[Operation::Get as usize] - tally.without_hit;
        broken.map_or(Ok(used), Err)
    }

    /// Sends the next requests of a connection. Their response time counts from `now`, right before they are
    /// written: what the generator did between the last replies and these requests is not the target's.
    pub(super) fn send_batch(
        &mut self,
        connection: &mut Connection,
        poller: &Poller,
        token: usize,
        now: u64,
    ) -> Result<(), String> {
        let done = self.part.recorder.counts.operations;
        self.stopping |= now >= self.stretch.min_ns && done >= self.stretch.min_operations;
        if self.stopping {
            return Ok(());
        }
        let left = self.stretch.limit.map_or(u64::MAX, |limit| limit - self.part.sent);
        let count = u64::from(self.pipeline()).min(left);
        if count == 0 {
            return Ok(());
        }
        self.look_at_turn(now);
        connection.sent_ns = now;
        self.output.clear();
        for _ in 0..count {
            connection.pending.push_back(self.source.ask(now, &mut self.output));
        }
        self.part.sent += count;
        self.in_flight += count;
        connection.send(&self.output, poller, token)
    }
}

/// The kernel ends a sleep this much too late at times (timer slack and waking up), ns: the rest is spun.
const SPIN_NS: u64 = 120_000;

/// How much of the time until something is due can be slept.
pub(super) fn sleepable(gap_ns: u64, sender: Sender) -> Duration {
    let spin_ns = match sender {
        Sender::Sleeps => 0,
        Sender::Wakes => SPIN_NS,
        Sender::Spins => u64::MAX,
    };
    Duration::from_nanos(gap_ns.saturating_sub(spin_ns)).min(LOOK_UP)
}

pub(super) fn wait(poller: &Poller, events: &mut Events, timeout: Duration) -> Result<(), String> {
    poller.wait(events, timeout).map_err(|error| format!("waiting for replies: {error}"))
}
