//! The order of threads in a simulation: drawn from a seed, with a bias towards the running thread and
//! towards some threads over others, so that in one run the flush thread hardly runs and in another one
//! the clients wait for it.

use crate::lsm::sync::TimeKeeper;
use shuttle::current::TaskId;
use shuttle::scheduler::{Schedule, Scheduler, Task};

/// One execution.
pub(super) struct Biased {
    seed: u64,
    random: fastrand::Rng,
    has_begun: bool,
    /// At one of so many locks another thread goes on.
    switches: u32,
    /// In one of so many changes of threads time moves on.
    ticks: u32,
    /// How likely each thread is drawn, by its number.
    weights: [u32; 8],
}

impl Biased {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed_0f0d_e7ea_d500);
        let mut weight = |weights: [u32; 4]| weights[random.usize(..4)];
        let weights = std::array::from_fn(|_| weight([1, 4, 4, 16]));
        let switches = weight([1, 3, 10, 30]);
        let ticks = weight([30, 100, 300, 1_000]);
        Self { seed, random, has_begun: false, switches, ticks, weights }
    }

    fn weight(&self, task: TaskId) -> u32 {
        self.weights[usize::from(task) % self.weights.len()]
    }
}

impl Scheduler for Biased {
    fn new_execution(&mut self) -> Option<Schedule> {
        (!std::mem::replace(&mut self.has_begun, true)).then(|| Schedule::new(self.seed))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let keeper = TimeKeeper::task();
        let is_there = |task: TaskId| runnable.iter().any(|other| other.id() == task);
        if let Some(current) = current
            && !is_yielding
            && Some(current) != keeper
            && is_there(current)
            && self.random.u32(..self.switches) != 0
        {
            return Some(current);
        }
        let keeper = keeper.filter(|keeper| is_there(*keeper));
        if keeper.is_some() && (runnable.len() == 1 || self.random.u32(..self.ticks) == 0) {
            return keeper;
        }
        let tasks = || runnable.iter().map(|task| task.id()).filter(|task| Some(*task) != keeper);
        let sum: u32 = tasks().map(|task| self.weight(task)).sum();
        let mut drawn = self.random.u32(..sum);
        for task in tasks() {
            match drawn.checked_sub(self.weight(task)) {
                Some(rest) => drawn = rest,
                None => return Some(task),
            }
        }
        None
    }

    fn next_u64(&mut self) -> u64 {
        self.random.u64(..)
    }
}
