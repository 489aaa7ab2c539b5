//! Delivery of events: they wait in a queue, and a thread of their own hands them to the program, so that
//! its function runs under no lock of the store and holds up neither writers nor flushes.

use crate::error::Result;
use crate::event::{Event, OnEvent};
use crate::lsm::sync::{Condvar, Instant, JoinHandle, Mutex, spawn};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Events that may wait for a function that is slow; later ones are dropped.
const LONGEST: usize = 4096;

/// Where events go: nowhere, if the program does not want them.
#[derive(Clone, Default)]
pub(crate) struct Events(Option<Arc<Delivery>>);

struct Delivery {
    on_event: OnEvent,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    is_over: bool,
}

impl Events {
    pub(crate) fn new(on_event: Option<OnEvent>) -> Self {
        let delivery = |on_event| Delivery { on_event, queue: Mutex::default(), changed: Condvar::new() };
        Self(on_event.map(|on_event| Arc::new(delivery(on_event))))
    }

    /// Queues an event. Under any lock: that of the queue is held for a moment, and no other is taken.
    pub(super) fn send(&self, event: impl FnOnce() -> Event) {
        let Some(delivery) = &self.0 else { return };
        let mut queue = delivery.queue.lock();
        if !queue.is_over && queue.events.len() < LONGEST {
            queue.events.push_back(event());
            delivery.changed.notify_one();
        }
    }

    /// Carries out a merge between two levels, of so many tables and bytes, and tells of it. The work adds up
    /// the bytes that it writes.
    pub(super) fn merge(
        &self,
        (level, target): (usize, usize),
        (tables, bytes): (usize, u64),
        work: impl FnOnce(&mut u64) -> Result<()>,
    ) -> Result<()> {
        let begin = Instant::now();
        self.send(|| Event::MergeBegun { level, target, tables, bytes });
        let mut written = 0;
        let done = work(&mut written);
        self.send(|| Event::MergeEnded {
            level,
            target,
            bytes_read: bytes,
            bytes_written: written,
            duration: begin.elapsed(),
            error: done.as_ref().err().cloned(),
        });
        done
    }

    /// Starts the thread that delivers.
    pub(super) fn start(&self) -> std::io::Result<Option<JoinHandle<()>>> {
        let start = |delivery: Arc<Delivery>| spawn("plumbkv-events", move || delivery.run());
        self.0.clone().map(start).transpose()
    }

    /// Lets the thread end when it has delivered what waits.
    pub(super) fn end(&self) {
        if let Some(delivery) = &self.0 {
            delivery.queue.lock().is_over = true;
            delivery.changed.notify_one();
        }
    }
}

impl Delivery {
    fn run(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some(event) = queue.events.pop_front() {
                drop(queue);
                // A panic of the program's function ends that call alone.
                let _ = catch_unwind(AssertUnwindSafe(|| (self.on_event)(&event)));
                queue = self.queue.lock();
            } else if queue.is_over {
                return;
            } else {
                self.changed.wait(&mut queue);
            }
        }
    }
}
