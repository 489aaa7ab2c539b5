//! Who waits for the disk? Threads that do nothing else, so that those that serve connections never do.
//!
//! An I/O thread tries each request of a durable store itself, without waiting (`plumbkv::NonBlocking`). One that would have to wait, for a block that is in no cache,
//! for a sync, for a flush, is handed over whole: a worker executes it again, waits as long as it takes, and hands the reply back to the I/O thread, which it wakes by
//! its bell. A script that takes long is handed over in the same way, with a store in memory too. A connection has one request here at a time, and its later ones wait for it, so replies keep their order; and the queue is no longer than there are connections.
//!
//! Writers that wait for one sync each sit in a worker: that many can share it, and so there may be many. A worker is begun by another one that
//! has just found that nobody is left to take the next request, and goes when it has had nothing to do for a while.

mod job;

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use crate::reactor::Placement;
use crate::shared::Shared;
use job::Desk;
pub(crate) use job::{Done, Job, Reply, Ticket, Work};

/// Workers at most. As many writes share a sync.
const MOST: usize = 64;

/// How long a worker waits for something to do before it goes.
const IDLE: Duration = Duration::from_secs(10);

/// The workers of a server.
pub(crate) struct Workers {
    // std Mutex: held to put in or take out one request, never while it is executed.
    queue: Mutex<Queue>,
    /// There is something to do, or the end has come.
    work: Condvar,
    /// A worker has gone.
    gone: Condvar,
    /// What is done, for each I/O thread.
    done: Box<[Mutex<Vec<Done>>]>,
    placement: Arc<Placement>,
    /// Of a store in memory: for the first worker, which is begun when there is something to do.
    shared: OnceLock<Weak<Shared>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(Ticket, Job)>,
    /// Handed over so far, and not yet handed back.
    begun: u64,
    waiting: u64,
    threads: usize,
    idle: usize,
    is_ending: bool,
}

/// What a worker is to do next.
struct Next {
    ticket: Ticket,
    job: Job,
    /// Nobody is left for the request after this one: begin another worker first.
    is_last: bool,
}

impl Workers {
    /// None works yet: [`begin`](Self::begin) or [`begin_later`](Self::begin_later) has to be called before requests are handed over.
    pub(crate) fn new(placement: Arc<Placement>) -> Self {
        let done = (0..placement.threads()).map(|_| Mutex::default()).collect();
        Self {
            queue: Mutex::default(),
            work: Condvar::new(),
            gone: Condvar::new(),
            done,
            placement,
            shared: OnceLock::new(),
        }
    }

    /// Has the first worker begun once there is something to do.
    pub(crate) fn begin_later(&self, shared: &Arc<Shared>) {
        let _ = self.shared.set(Arc::downgrade(shared));
    }

    /// Begins the first worker.
    pub(crate) fn begin(self: &Arc<Self>, shared: &Arc<Shared>) -> io::Result<()> {
        self.queue().threads += 1;
        self.spawn(shared)
    }

    fn begin_first(self: &Arc<Self>) {
        let Some(shared) = self.shared.get().and_then(Weak::upgrade) else { return };
        let mut queue = self.queue();
        if queue.threads > 0 || queue.is_ending {
            return;
        }
        queue.threads += 1;
        drop(queue);
        shared.turns.share();
        if let Err(error) = self.spawn(&shared) {
            tracing::warn!("no worker thread for a long script: {error}");
        }
    }

    /// Hands a request over. With a store in memory the first one begins the first worker.
    pub(crate) fn submit(self: &Arc<Self>, ticket: Ticket, job: Job) {
        self.begin_first();
        let mut queue = self.queue();
        (queue.begun, queue.waiting) = (queue.begun + 1, queue.waiting + 1);
        queue.jobs.push_back((ticket, job));
        let is_awaited = queue.idle > 0;
        drop(queue);
        if is_awaited {
            self.work.notify_one();
        }
    }

    /// What is done for I/O thread `own`; to be asked when its bell has rung.
    pub(crate) fn done(&self, own: usize) -> Vec<Done> {
        self.done.get(own).map_or_else(Vec::new, |done| std::mem::take(&mut *lock(done)))
    }

    /// Ends them all, once no I/O thread is left: what was begun is carried out, the rest is forgotten.
    pub(crate) fn end(&self) {
        let mut queue = self.queue();
        queue.is_ending = true;
        queue.jobs.clear();
        self.work.notify_all();
        while queue.threads > 0 {
            queue = self.gone.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Requests that were handed over so far, and those of them that are not done yet.
    pub(crate) fn figures(&self) -> (u64, u64) {
        let queue = self.queue();
        (queue.begun, queue.waiting)
    }

    /// Workers there are, and requests that wait for one.
    #[cfg(test)]
    fn counts(&self) -> (usize, usize) {
        let queue = self.queue();
        (queue.threads, queue.jobs.len())
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// Begins a worker that is counted already.
    fn spawn(self: &Arc<Self>, shared: &Arc<Shared>) -> io::Result<()> {
        let (workers, shared) = (Arc::clone(self), Arc::clone(shared));
        let body = move || {
            let guard = Gone { workers: &workers };
            work(&workers, &shared);
            // Whoever waits for the workers' end takes the store apart then.
            drop(shared);
            drop(guard);
        };
        let spawned = std::thread::Builder::new().name("worker".to_owned()).spawn(body);
        spawned.map(drop).inspect_err(|_| self.leave())
    }

    fn leave(&self) {
        self.queue().threads -= 1;
        self.gone.notify_all();
    }

    /// The next request; `None` at the end, and where there is none for long and another worker waits for it, too.
    fn next(&self) -> Option<Next> {
        let mut queue = self.queue();
        let (ticket, job) = loop {
            if let Some(next) = queue.jobs.pop_front() {
                break next;
            }
            if queue.is_ending {
                return None;
            }
            queue.idle += 1;
            let (locked, waited) =
                self.work.wait_timeout(queue, IDLE).unwrap_or_else(PoisonError::into_inner);
            queue = locked;
            queue.idle -= 1;
            if waited.timed_out() && queue.jobs.is_empty() && queue.idle > 0 {
                return None;
            }
        };
        let is_last = queue.idle == 0 && queue.threads < MOST && !queue.is_ending;
        queue.threads += usize::from(is_last);
        Some(Next { ticket, job, is_last })
    }

    fn hand_back(&self, done: Done) {
        self.queue().waiting -= 1;
        let thread = done.ticket.thread;
        let Some(place) = self.done.get(thread) else { return };
        let mut waiting = lock(place);
        waiting.push(done);
        let is_first = waiting.len() == 1;
        drop(waiting);
        if is_first {
            self.placement.ring(thread);
        }
    }
}

fn work(workers: &Arc<Workers>, shared: &Arc<Shared>) {
    let mut desk = Desk::new();
    while let Some(Next { ticket, job, is_last }) = workers.next() {
        if is_last && let Err(error) = workers.spawn(shared) {
            tracing::debug!("no further worker: {error}");
        }
        workers.hand_back(job.execute(shared, ticket, &mut desk));
    }
}

/// Counts a worker that goes; one that panics would leave its client without a reply for ever.
struct Gone<'a> {
    workers: &'a Workers,
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
        self.workers.leave();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "workers_test.rs"]
mod tests;
