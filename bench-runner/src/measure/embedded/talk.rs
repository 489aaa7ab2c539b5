//! What is said between the runner and a driver, and what does the kernel tell of the target meanwhile?

use super::End;
use crate::measure::lab::Bench;
use crate::measure::os_stat::Reading;
use crate::measure::progress::Stage;
use crate::model::{ProcessFacts, Status, Window};
use crate::plan::EmbeddedPart;
use crate::target::memory::forget_rss_peak;
use crate::target::{DriverStart, RunningDriver, Silence, cgroup, cpu_time};
use plumbkv_bench_driver::protocol::{EngineWork, Message, Phase, PhaseResult, Ready};
use std::time::{Duration, Instant};

/// Opening and closing a store may take so long: one that was killed reads its log, one that was loaded merges.
const OPEN_WITHIN: Duration = Duration::from_secs(120);
/// How often memory is looked at during a load.
const WINDOW: Duration = Duration::from_secs(1);

/// Whose counters are read around the measured phases.
pub(super) struct Watched {
    pub(super) pid: u32,
    pub(super) cpu: cpu_time::Source,
}

/// What a driver told of the phases of a cell, and what the kernel told of the target meanwhile.
pub(super) struct Told {
    /// One per phase; none where only the opening is measured.
    pub(super) results: Vec<PhaseResult>,
    pub(super) before: Reading,
    pub(super) after: Reading,
    pub(super) windows: Vec<Window>,
}

impl Told {
    /// From the first operation to the end of the last, phase by phase, ns.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.results.iter().map(|result| result.elapsed_ns).sum()
    }

    pub(super) fn cpu_ns(&self) -> u64 {
        self.results.iter().map(|result| result.cpu_ns).sum()
    }

    /// What the engine says that it did.
    pub(super) fn work(&self) -> EngineWork {
        self.results.iter().fold(EngineWork::default(), |sum, result| sum.and(result.work))
    }
}

/// A driver whose store is open.
pub(super) struct Talk {
    driver: RunningDriver,
    pub(super) ready: Ready,
    /// Resident memory when it was, bytes.
    pub(super) rss_bytes_start: u64,
    /// The next phase.
    number: usize,
    /// It has said that it waits for that.
    waiting: bool,
    patience: Duration,
    memory_limit_bytes: Option<u64>,
}

impl Talk {
    /// Starts a driver and waits until it has opened its store.
    pub(super) fn begin(bench: &Bench<'_>, start: &DriverStart<'_>, timeout_s: f64) -> Result<Self, End> {
        let mut driver = RunningDriver::start(start)?;
        let limit = start.memory_limit_bytes;
        let ready = match say(bench, &mut driver, limit, OPEN_WITHIN, "opening the store")? {
            Message::Ready(ready) => ready,
            other => return Err(out_of_turn(&other)),
        };
        Ok(Self {
            rss_bytes_start: driver.rss_bytes(),
            driver,
            ready,
            number: 0,
            waiting: false,
            patience: Duration::try_from_secs_f64(timeout_s).unwrap_or(OPEN_WITHIN),
            memory_limit_bytes: limit,
        })
    }

    /// The driver itself, as what is watched.
    pub(super) fn watched(&self) -> Watched {
        Watched { pid: self.driver.pid, cpu: self.driver.cpu.clone() }
    }

    /// What the kernel says of the driver.
    pub(super) fn facts(&self) -> ProcessFacts {
        self.driver.facts(self.rss_bytes_start, "the driver's own".to_owned())
    }

    /// Goes through phases that are not counted: they must be without fault.
    pub(super) fn prepare(
        &mut self,
        bench: &mut Bench<'_>,
        phases: &[Phase],
        label: &str,
    ) -> Result<(), End> {
        for phase in phases {
            let stage = if matches!(phase, Phase::Load { .. }) { Stage::Loading } else { Stage::WarmingUp };
            bench.tell(label, stage);
            self.turn(bench)?;
            self.go_on()?;
            let message = say(bench, &mut self.driver, self.memory_limit_bytes, self.patience, stage.name())?;
            let result = self.result(message)?;
            match (&result.not_supported, phase) {
                // An engine that never merges has nothing to wait for.
                (Some(_), Phase::Settle) => continue,
                (Some(missing), _) => {
                    return Err(End::Broken(Status::Skipped, format!("not supported: {missing}")));
                }
                (None, _) => {}
            }
            if let Some(reason) = fault(&result) {
                return Err(End::Broken(Status::Invalid, format!("while {}: {reason}", stage.name())));
            }
        }
        Ok(())
    }

    /// Has the phases of a cell done.
    pub(super) fn measure(
        &mut self,
        bench: &mut Bench<'_>,
        part: &EmbeddedPart,
        watched: &Watched,
    ) -> Result<Told, End> {
        self.prepare(bench, &part.before, &part.cell.label)?;
        bench.tell(&part.cell.label, Stage::Measuring);
        self.turn(bench)?;
        forget_rss_peak(watched.pid);
        let before = Reading::take(watched.pid, &watched.cpu);
        let mut watch = Windows::new(watched.pid);
        let mut results = Vec::new();
        for phase in &part.measured {
            self.turn(bench)?;
            self.go_on()?;
            let message = match phase {
                Phase::Load { .. } | Phase::Settle => self.watched_message(bench, &mut watch)?,
                _ => say(
                    bench,
                    &mut self.driver,
                    self.memory_limit_bytes,
                    self.patience,
                    Stage::Measuring.name(),
                )?,
            };
            results.push(self.result(message)?);
        }
        // It waits before what follows: nothing but the phases lies between the readings.
        self.turn(bench)?;
        let after = Reading::take(watched.pid, &watched.cpu);
        Ok(Told { results, before, after, windows: watch.windows })
    }

    /// Kills the driver while its store is open.
    pub(super) fn kill(self) {
        self.driver.kill();
    }

    /// Closes the store and sees the driver end well.
    pub(super) fn finish(mut self, bench: &Bench<'_>) -> Result<(), End> {
        self.turn(bench)?;
        self.driver.go_on()?;
        match say(bench, &mut self.driver, self.memory_limit_bytes, OPEN_WITHIN, "closing the store")? {
            Message::Done => Ok(()),
            other => Err(out_of_turn(&other)),
        }
    }

    fn turn(&mut self, bench: &Bench<'_>) -> Result<(), End> {
        if self.waiting {
            return Ok(());
        }
        match say(bench, &mut self.driver, self.memory_limit_bytes, self.patience, "waiting for its turn")? {
            Message::Waiting { phase } if phase == self.number => self.waiting = true,
            other => return Err(out_of_turn(&other)),
        }
        Ok(())
    }

    fn go_on(&mut self) -> Result<(), End> {
        self.waiting = false;
        Ok(self.driver.go_on()?)
    }

    fn result(&mut self, message: Message) -> Result<PhaseResult, End> {
        match message {
            Message::Phase(result) if result.phase == self.number => {
                self.number += 1;
                Ok(*result)
            }
            other => Err(out_of_turn(&other)),
        }
    }

    /// Waits for a message, and looks at the target's memory every second meanwhile.
    fn watched_message(&mut self, bench: &Bench<'_>, watch: &mut Windows) -> Result<Message, End> {
        let end = Instant::now() + self.patience;
        loop {
            let next = watch.due().min(end);
            match self.driver.next(next, bench.stop) {
                Err(Silence::TimedOut) if Instant::now() < end => watch.look(),
                other => {
                    let doing = Stage::Measuring.name();
                    return other
                        .map_err(|silence| heard(silence, self.patience, self.memory_limit_bytes, doing));
                }
            }
        }
    }
}

/// Memory by the second.
struct Windows {
    pid: u32,
    begin: Instant,
    windows: Vec<Window>,
}

impl Windows {
    fn new(pid: u32) -> Self {
        Self { pid, begin: Instant::now(), windows: Vec::new() }
    }

    fn due(&self) -> Instant {
        self.begin + WINDOW * (u32::try_from(self.windows.len()).unwrap_or(u32::MAX) + 1)
    }

    fn look(&mut self) {
        let kib = cgroup::status_field(self.pid, "VmRSS");
        let kib = kib.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        let start_ms = self.windows.last().map_or(0.0, |window| window.start_ms + window.length_ms);
        let length_ms = self.begin.elapsed().as_secs_f64() * 1e3 - start_ms;
        self.windows.push(Window {
            start_ms,
            length_ms,
            rss_bytes: kib.map(|kib| kib * 1024),
            ..Window::default()
        });
    }
}

fn say(
    bench: &Bench<'_>,
    driver: &mut RunningDriver,
    memory_limit_bytes: Option<u64>,
    patience: Duration,
    doing: &str,
) -> Result<Message, End> {
    let heard_of = |silence| heard(silence, patience, memory_limit_bytes, doing);
    driver.next(Instant::now() + patience, bench.stop).map_err(heard_of)
}

fn heard(silence: Silence, patience: Duration, memory_limit_bytes: Option<u64>, doing: &str) -> End {
    match silence {
        Silence::Stopped => End::Stopped,
        Silence::TimedOut => {
            let reason = format!("timed out after {:.0} s while {doing}", patience.as_secs_f64());
            End::Broken(Status::Timeout, reason)
        }
        Silence::Broken(words) => {
            let under = memory_limit_bytes.map_or_else(String::new, |bytes| {
                format!(" under a limit of {} MiB, past which the kernel ends a process", bytes >> 20)
            });
            End::from(format!("the driver gave up while {doing}{under}: {words}"))
        }
    }
}

fn out_of_turn(message: &Message) -> End {
    let kind = match message {
        Message::Ready(_) => "ready",
        Message::Waiting { .. } => "waiting",
        Message::Phase(_) => "phase",
        Message::Done => "done",
    };
    End::Broken(Status::Failed, format!("the driver said `{kind}` out of turn"))
}

/// Why a phase is not what was planned.
pub(super) fn fault(result: &PhaseResult) -> Option<String> {
    let first = result.first_error.as_deref().unwrap_or("no reason was given");
    match (result.errors, result.misses) {
        (0, 0) if result.operations == 0 => Some("nothing was done".to_owned()),
        (0, 0) => None,
        (errors, misses) => Some(format!(
            "{errors} errors and {misses} misses in {} operations; the first: {first}",
            result.operations
        )),
    }
}
