//! What do all connections share? The database, the settings that can change, the counters, the list of clients.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use plumbkv::{Clock as _, Database, Stats};

use crate::acl::Acl;
use crate::client_limits::{Limits, Values};
use crate::client_memory::ClientMemory;
use crate::clients::Clients;
use crate::clock::TurnClock;
use crate::databases::Databases;
use crate::latency::Latency;
use crate::monitor::Monitors;
use crate::pause::Pause;
use crate::process;
use crate::pushes::Pushes;
use crate::scripts::Scripts;
use crate::session::SpareQueues;
use crate::storage::Storage;
use crate::stripe::Counter;
use crate::tally::CommandStats;
use crate::tls::Tls;
use crate::tracking::{self, Tracking};
use crate::turns::Turns;
use crate::watches::Watches;
use crate::workers::Workers;

/// Everything the connections share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) databases: Databases,
    pub(crate) clock: Arc<TurnClock>,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) command_stats: CommandStats,
    pub(crate) latency: Latency,
    pub(crate) state: State,
    /// `None`: no listener is for TLS.
    pub(crate) tls: Option<Tls>,
    pub(crate) clients: Clients,
    pub(crate) acl: Acl,
    pub(crate) client_memory: ClientMemory,
    pub(crate) turns: Turns,
    pub(crate) watches: Watches,
    pub(crate) tracking: Tracking,
    pub(crate) monitors: Monitors,
    pub(crate) pause: Pause,
    pub(crate) pushes: Pushes,
    pub(crate) scripts: Scripts,
    pub(crate) spare_queues: SpareQueues,
    pub(crate) facts: Facts,
    /// For requests that wait for the disk, and for scripts that take long.
    pub(crate) workers: Option<Arc<Workers>>,
}

impl Shared {
    /// Unix time of this turn, in milliseconds.
    pub(crate) fn clock_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Looks at what changes all the time; called by the reactor's tick.
    pub(crate) fn sample(&self) {
        self.counters.sample_rates(self.command_stats.total_calls());
        tracking::look(self);
        if let Some(tls) = &self.tls {
            tls.refresh();
        }
        self.peak_bytes();
    }

    /// The most memory that was accounted for so far, as far as the ticks have seen it, in bytes.
    pub(crate) fn peak_bytes(&self) -> u64 {
        let now = self.database.used();
        now.max(self.counters.peak_bytes.fetch_max(now, Ordering::Relaxed))
    }

    /// CONFIG SET requirepass: the only password of the default user; `None` for no password.
    pub(crate) fn set_password(&self, password: Option<String>) {
        self.acl.users.set_password(password.as_deref());
        self.settings.set_password(password);
        self.settings.limits.announce();
    }

    /// CONFIG RESETSTAT.
    pub(crate) fn reset_counters(&self) {
        self.counters.reset(self.database.stats());
        self.command_stats.reset();
    }
}

/// What is fixed once the server runs.
pub(crate) struct Facts {
    pub(crate) started: Instant,
    /// As INFO's `io_backend` names it.
    pub(crate) io_backend: &'static str,
    pub(crate) io_threads: usize,
    /// Addresses listened on, with the ports that were really taken.
    pub(crate) addresses: Vec<String>,
    /// Port of the first of them, 0 without any.
    pub(crate) tcp_port: u16,
    /// Of the first address with TLS, 0 without any.
    pub(crate) tls_port: u16,
    pub(crate) unix_socket: Option<String>,
    /// `None`: keys are in memory alone.
    pub(crate) storage: Option<Storage>,
    /// `None`: no file was read.
    pub(crate) config_file: Option<PathBuf>,
    pub(crate) executable: String,
    pub(crate) system: String,
    /// Forty hexadecimal digits, new at each start.
    pub(crate) run_id: String,
    /// Whether HTTP has TLS, too.
    pub(crate) has_https: bool,
    /// Where `/metrics` is: `127.0.0.1:8379`, or `off`.
    pub(crate) http_address: String,
}

/// How far the server has come.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Nothing before connections are served.
    startup: OnceLock<Startup>,
    /// It was asked to stop.
    stopping: Arc<AtomicBool>,
    /// A byte asks it to.
    ask: Option<UnixStream>,
}

/// Memory when connections were first served, in bytes.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Startup {
    pub(crate) resident_bytes: u64,
    pub(crate) accounted_bytes: u64,
}

impl State {
    pub(crate) fn new(stopping: Arc<AtomicBool>, ask: UnixStream) -> Self {
        Self { startup: OnceLock::new(), stopping, ask: Some(ask) }
    }

    /// Asks the server to stop, as SIGTERM does.
    pub(crate) fn stop(&self) -> io::Result<()> {
        self.stopping.store(true, Ordering::Relaxed);
        self.ask.as_ref().map_or(Ok(()), |mut ask| ask.write_all(b"s"))
    }

    /// From now on connections are served.
    pub(crate) fn set_ready(&self, database: &Database) {
        self.startup.get_or_init(|| Startup {
            resident_bytes: process::resident_bytes().unwrap_or(0),
            accounted_bytes: database.used(),
        });
    }

    /// Whether connections are served: not before the start is over, nor once the server was asked to stop.
    pub(crate) fn is_ready(&self) -> bool {
        self.startup.get().is_some() && !self.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn startup(&self) -> Startup {
        self.startup.get().copied().unwrap_or_default()
    }
}

/// Settings that CONFIG SET can change. Read on every connection or tick, never on every command.
pub(crate) struct Settings {
    /// `requirepass` as CONFIG GET shows it. Clients are checked by the users ([`Acl`]).
    // std Mutex: held for one copy of a short string.
    password: Mutex<Option<String>>,
    protected_mode: AtomicBool,
    max_clients: AtomicU64,
    timeout_seconds: AtomicU64,
    samples: AtomicU32,
    pub(crate) limits: Limits,
    /// Parameters that CONFIG SET has changed since the start.
    changed: Mutex<BTreeSet<&'static str>>,
}

impl Settings {
    pub(crate) fn new(
        password: Option<String>,
        protected_mode: bool,
        max_clients: u64,
        timeout_seconds: u64,
        samples: u32,
        limits: Values,
    ) -> Self {
        Self {
            password: Mutex::new(password),
            protected_mode: AtomicBool::new(protected_mode),
            max_clients: AtomicU64::new(max_clients),
            timeout_seconds: AtomicU64::new(timeout_seconds),
            samples: AtomicU32::new(samples),
            limits: Limits::new(limits),
            changed: Mutex::default(),
        }
    }

    /// Remembers that CONFIG SET has changed a parameter.
    pub(crate) fn note_change(&self, parameter: &'static str) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(parameter);
    }

    /// Whether CONFIG SET has changed a parameter.
    pub(crate) fn is_changed(&self, parameter: &str) -> bool {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).contains(parameter)
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        // Nothing that can panic runs under this lock; a poisoned one still holds a whole value.
        self.password.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn password(&self) -> Option<String> {
        self.lock().clone()
    }

    fn set_password(&self, password: Option<String>) {
        *self.lock() = password;
    }

    pub(crate) fn protected_mode(&self) -> bool {
        self.protected_mode.load(Ordering::Relaxed)
    }

    pub(crate) fn set_protected_mode(&self, on: bool) {
        self.protected_mode.store(on, Ordering::Relaxed);
    }

    pub(crate) fn max_clients(&self) -> u64 {
        self.max_clients.load(Ordering::Relaxed)
    }

    pub(crate) fn set_max_clients(&self, count: u64) {
        self.max_clients.store(count, Ordering::Relaxed);
    }

    pub(crate) fn timeout_seconds(&self) -> u64 {
        self.timeout_seconds.load(Ordering::Relaxed)
    }

    pub(crate) fn set_timeout_seconds(&self, seconds: u64) {
        self.timeout_seconds.store(seconds, Ordering::Relaxed);
    }

    pub(crate) fn samples(&self) -> u32 {
        self.samples.load(Ordering::Relaxed)
    }

    pub(crate) fn set_samples(&self, samples: u32) {
        self.samples.store(samples, Ordering::Relaxed);
    }
}

/// What INFO's Stats section counts. Added to once a batch, not once a command.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: Counter,
    pub(crate) rejected: Counter,
    pub(crate) input_bytes: Counter,
    pub(crate) output_bytes: Counter,
    /// The longest time that a few requests in a row have taken, in nanoseconds: no command took longer.
    slowest_ns: AtomicU64,
    /// The store's counters at the last CONFIG RESETSTAT; they never fall by themselves.
    baseline: Mutex<Baseline>,
    rates: Mutex<Rates>,
    /// Not set back by CONFIG RESETSTAT, as in Redis.
    peak_bytes: AtomicU64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Baseline {
    evicted: u64,
    expired: u64,
    refused: u64,
    hits: u64,
    misses: u64,
}

/// What happens in a second.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct PerSecond {
    pub(crate) commands: u64,
    pub(crate) input_bytes: u64,
    pub(crate) output_bytes: u64,
}

/// Sixteen samples a tick apart, as Redis smooths `instantaneous_ops_per_sec`.
#[derive(Debug, Default)]
struct Rates {
    last: Option<(Instant, PerSecond)>,
    samples: [PerSecond; 16],
    next: usize,
}

impl Counters {
    /// CONFIG RESETSTAT.
    pub(crate) fn reset(&self, stats: Stats) {
        for counter in [&self.connections, &self.rejected, &self.input_bytes, &self.output_bytes] {
            counter.reset();
        }
        self.slowest_ns.store(0, Ordering::Relaxed);
        *self.baseline.lock().unwrap_or_else(PoisonError::into_inner) = Baseline {
            evicted: stats.evicted,
            expired: stats.expired,
            refused: stats.refused,
            hits: stats.hits,
            misses: stats.misses,
        };
        *self.rates.lock().unwrap_or_else(PoisonError::into_inner) = Rates::default();
    }

    /// Notes how long a few requests have taken.
    pub(crate) fn note_duration(&self, duration: Duration) {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        if ns > self.slowest_ns.load(Ordering::Relaxed) {
            self.slowest_ns.fetch_max(ns, Ordering::Relaxed);
        }
    }

    /// An upper bound of what the slowest command has taken, in microseconds, rounded up.
    pub(crate) fn slowest_us(&self) -> u64 {
        self.slowest_ns.load(Ordering::Relaxed).div_ceil(1000)
    }

    /// The store's counters since the last reset.
    pub(crate) fn since_reset(&self, mut stats: Stats) -> Stats {
        let base = *self.baseline.lock().unwrap_or_else(PoisonError::into_inner);
        stats.evicted = stats.evicted.saturating_sub(base.evicted);
        stats.expired = stats.expired.saturating_sub(base.expired);
        stats.refused = stats.refused.saturating_sub(base.refused);
        stats.hits = stats.hits.saturating_sub(base.hits);
        stats.misses = stats.misses.saturating_sub(base.misses);
        stats
    }

    /// Takes one sample of what happens in a second.
    fn sample_rates(&self, commands: u64) {
        let now = Instant::now();
        let totals = PerSecond {
            commands,
            input_bytes: self.input_bytes.get(),
            output_bytes: self.output_bytes.get(),
        };
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, then)) = rates.last {
            let micros = now.duration_since(before).as_micros().max(1);
            let per_second = |now: u64, then: u64| {
                u64::try_from(u128::from(now.saturating_sub(then)) * 1_000_000 / micros).unwrap_or(u64::MAX)
            };
            let next = rates.next;
            rates.samples[next] = PerSecond {
                commands: per_second(totals.commands, then.commands),
                input_bytes: per_second(totals.input_bytes, then.input_bytes),
                output_bytes: per_second(totals.output_bytes, then.output_bytes),
            };
            rates.next = (next + 1) % rates.samples.len();
        }
        rates.last = Some((now, totals));
    }

    /// What happens in a second, over the last 16 ticks.
    pub(crate) fn per_second(&self) -> PerSecond {
        let rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let mean = |of: fn(&PerSecond) -> u64| {
            rates.samples.iter().map(of).sum::<u64>() / rates.samples.len() as u64
        };
        PerSecond {
            commands: mean(|sample| sample.commands),
            input_bytes: mean(|sample| sample.input_bytes),
            output_bytes: mean(|sample| sample.output_bytes),
        }
    }
}
