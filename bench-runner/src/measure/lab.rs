//! The one door to measuring: starts the target of a step, has its cells measured, ends it.

use super::progress::{Progress, Stage};
use super::shelf::Shelf;
use super::trial::broken;
use super::{embedded, keyspace, memory_cap, startup, wire};
use crate::load::generator::raise_open_files;
use crate::model::{Mode, Status, Trial};
use crate::plan::{Offer, Step, StepOutcome, WirePhase, Work};
use crate::target::{
    Catalogue, Definition, Documents, Placed, RunningTarget, Setup, Start, own_cgroup, start,
};
use rustix::thread::CpuSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Carries out steps on this machine.
#[derive(Debug)]
pub struct Lab {
    catalogue: Catalogue,
    setup: Setup,
    stop: Arc<AtomicBool>,
    /// Directories that were loaded for several steps.
    shelf: Shelf,
}

/// What the measuring of one step needs.
pub(crate) struct Bench<'a> {
    pub(crate) step: &'a Step,
    pub(crate) setup: &'a Setup,
    pub(crate) definition: &'a Definition,
    pub(crate) binary_override: Option<&'a std::path::Path>,
    pub(crate) placed: Placed,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) shelf: &'a Shelf,
    pub(crate) progress: &'a mut dyn FnMut(Progress),
}

impl Lab {
    /// A lab; `stop` ends a running step early, whose unfinished trials are then absent.
    #[must_use]
    pub fn new(catalogue: Catalogue, setup: Setup, stop: Arc<AtomicBool>) -> Self {
        raise_open_files();
        own_cgroup::remove_left_behind();
        Self { catalogue, setup, stop, shelf: Shelf::default() }
    }

    /// The targets it knows.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Where and with what it starts them.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Carries out one step. A target that breaks gives trials with a status and a reason; only the stop flag
    /// leaves trials out.
    pub fn run_step(&self, step: &Step, progress: &mut dyn FnMut(Progress)) -> StepOutcome {
        self.shelf.begin(step.position);
        let trials = match self.catalogue.get(&step.target) {
            None => {
                fail_all(step, 0, Status::Failed, &format!("no target '{}' in targets.toml", step.target))
            }
            Some(definition) => {
                let mut bench = self.bench(step, definition, progress);
                let _pinned = Pinned::to(bench.placed.generator, &self.setup);
                bench.run()
            }
        };
        StepOutcome { position: step.position, trials }
    }

    fn bench<'a>(
        &'a self,
        step: &'a Step,
        definition: &'a Definition,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Bench<'a> {
        Bench {
            step,
            setup: &self.setup,
            definition,
            binary_override: self.catalogue.overridden(&step.target),
            placed: Placed::of(step.placement, self.setup.cpus),
            stop: &self.stop,
            shelf: &self.shelf,
            progress,
        }
    }

    /// Measures the loads of a step, one after the other, on the targets of two labs, which run at the same time; `order` says whose turn it
    /// is. Behind a load that broke both targets are started again, so that it says nothing of the next one.
    ///
    /// # Errors
    /// [`NoTurns`]; then nothing was measured.
    pub fn in_turns(labs: [&Self; 2], step: &Step, order: &[usize]) -> Result<Vec<Turns>, NoTurns> {
        let phases = match &step.work {
            Work::Wire { phases } if phases.iter().all(goes_on) => phases,
            _ => return Err(NoTurns::Refused("the load cannot pause".to_owned())),
        };
        let mut all = Vec::with_capacity(phases.len());
        while all.len() < phases.len() {
            let left = &phases[all.len()..];
            Self::until_one_breaks(labs, step, left, order, &mut all)?;
        }
        Ok(all)
    }

    /// Starts both targets and measures loads until one of them breaks: one at least.
    fn until_one_breaks(
        labs: [&Self; 2],
        step: &Step,
        phases: &[WirePhase],
        order: &[usize],
        all: &mut Vec<Turns>,
    ) -> Result<(), NoTurns> {
        let mut quiet: [fn(Progress); 2] = [|_| {}, |_| {}];
        let mut sides = Vec::with_capacity(2);
        let mut pinned = None;
        for (lab, quiet) in labs.into_iter().zip(&mut quiet) {
            let unknown = || NoTurns::Refused(format!("no target '{}' in targets.toml", step.target));
            let definition = lab.catalogue.get(&step.target).ok_or_else(unknown)?;
            lab.shelf.begin(step.position);
            let bench = lab.bench(step, definition, quiet);
            pinned.get_or_insert_with(|| Pinned::to(bench.placed.generator, &lab.setup));
            let target = bench.start().map_err(|reason| {
                if bench.stopped() { NoTurns::Stopped } else { NoTurns::Refused(reason) }
            })?;
            sides.push(wire::Side::new(bench, target));
        }
        let Ok(mut sides) = <[wire::Side<'_>; 2]>::try_from(sides) else { return Err(NoTurns::Stopped) };
        for phase in phases {
            let others_cores = wire::in_turns(&mut sides, phase, order).ok_or(NoTurns::Stopped)?;
            let trials = [sides[0].take_trials(), sides[1].take_trials()];
            let has_broken = trials.iter().flatten().any(|trial| trial.status != Status::Ok);
            all.push(Turns { cell: phase.cell.key.clone(), trials, others_cores });
            if has_broken {
                break;
            }
        }
        for side in sides {
            side.target.stop();
        }
        Ok(())
    }
}

/// What two targets did under the same load, in turns.
#[derive(Debug)]
pub struct Turns {
    /// The cell of the load.
    pub cell: String,
    /// The trials of each, in the order of its turns.
    pub trials: [Vec<Trial>; 2],
    /// Cores that others used meanwhile, the hypervisor among them.
    pub others_cores: f64,
}

/// Why two targets were not measured in turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoTurns {
    /// The runner was told to stop.
    Stopped,
    /// One of them does not start beside the other, or the load cannot pause.
    Refused(String),
}

/// Whether a load can pause and go on: one that uses up its keys cannot, nor one that another program sends.
fn goes_on(phase: &WirePhase) -> bool {
    let rests = matches!(phase.offer, Offer::Replies | Offer::PerSecond { .. });
    let uses_up = phase.ttl_ms.is_some() || wire::deletes(phase);
    rests && !uses_up && phase.client_program.is_none()
}

impl Bench<'_> {
    fn run(&mut self) -> Vec<(String, Trial)> {
        let step = self.step;
        if step.mode == Mode::External && !matches!(step.work, Work::Wire { .. }) {
            let reason =
                "this work fills, caps or restarts a server, which is not done to one that is not ours";
            return fail_all(step, 0, Status::Skipped, reason);
        }
        if let Work::Startup { cell, starts } = &step.work {
            return startup::measure(self, cell, *starts)
                .into_iter()
                .map(|trial| (cell.key.clone(), trial))
                .collect();
        }
        match &step.work {
            Work::Embedded { work } => return embedded::measure(self, work),
            Work::Stock { stock } => return embedded::stock(self, stock),
            _ => {}
        }
        self.tell("", Stage::Starting);
        let mut target = match self.start() {
            Ok(target) => target,
            Err(_) if self.stopped() => return Vec::new(),
            Err(reason) => return fail_all(step, 0, Status::Failed, &reason),
        };
        let trials = match &step.work {
            Work::Wire { phases } => wire::measure(self, &mut target, phases),
            Work::MemoryCap { phase } => memory_cap::measure(self, &mut target, phase)
                .into_iter()
                .map(|trial| (phase.cell.key.clone(), trial))
                .collect(),
            Work::Startup { .. } | Work::Embedded { .. } | Work::Stock { .. } => Vec::new(),
            Work::MemoryPerKey { phase } => keyspace::per_key(self, &mut target, phase)
                .into_iter()
                .map(|trial| (phase.cell.key.clone(), trial))
                .collect(),
            Work::Tail { phase } => keyspace::tail(self, &mut target, phase),
            Work::Expiry { phase } => keyspace::expiry(self, &mut target, phase)
                .into_iter()
                .map(|trial| (phase.cell.key.clone(), trial))
                .collect(),
        };
        self.tell("", Stage::Stopping);
        target.stop();
        trials
    }

    pub(crate) fn start(&self) -> Result<RunningTarget, String> {
        start(&Start {
            definition: self.definition,
            binary_override: self.binary_override,
            setup: self.setup,
            mode: self.step.mode,
            placed: self.placed,
            cap_bytes: self.step.cap_bytes,
            memory_limit_bytes: self.step.memory_limit_bytes,
            variant: self.step.variant.as_deref(),
            documents: documents(self.step),
        })
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn tell(&mut self, cell: &str, stage: Stage) {
        (self.progress)(Progress {
            position: self.step.position,
            target: self.step.target.clone(),
            mode: self.step.mode,
            cell: cell.to_owned(),
            stage,
        });
    }

    /// CPUs the load runs on, as the record lists them.
    pub(crate) fn generator_cpus(&self) -> String {
        // Of this thread: the pinning is not of the whole process.
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        list.map(|list| list.trim().to_owned()).unwrap_or_default()
    }
}

/// The files that the loads of a step ask for.
fn documents(step: &Step) -> Option<Documents> {
    let Work::Wire { phases } = &step.work else { return None };
    let keys = phases.iter().map(|phase| phase.keys).max()?;
    let value_bytes = phases.iter().map(|phase| phase.value_bytes).max()?;
    Some(Documents { keys, value_bytes, seed: step.seed })
}

/// The same end for the cells from `first` on.
pub(crate) fn fail_all(step: &Step, first: usize, status: Status, reason: &str) -> Vec<(String, Trial)> {
    step.work
        .cells()
        .into_iter()
        .skip(first)
        .map(|cell| (cell.key.clone(), broken(step.trial, step.position, status, reason.to_owned())))
        .collect()
}

/// Holds the calling thread, and the threads and programs it starts, on one CPU while it lives.
struct Pinned(Option<CpuSet>);

impl Pinned {
    fn to(cpu: Option<u32>, setup: &Setup) -> Self {
        let Some(cpu) = cpu else { return Self(None) };
        let before = rustix::thread::sched_getaffinity(None).ok();
        let mut set = CpuSet::new();
        match before {
            // Several generator threads share all CPUs but the target's.
            Some(all) if setup.generator_threads > 1 => {
                set = all;
                if let Some((server, _)) = setup.cpus {
                    set.unset(server as usize);
                }
            }
            _ => set.set(cpu as usize),
        }
        let pinned = rustix::thread::sched_setaffinity(None, &set).is_ok();
        Self(before.filter(|_| pinned))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}
