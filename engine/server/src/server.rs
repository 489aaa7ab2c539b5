//! How does a server come to life? From settings to a running reactor, in the order in which things can fail.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use plumbkv::{Clock, Database, Options};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::acl::Acl;
use crate::client_memory::ClientMemory;
use crate::clients::Clients;
use crate::clock::TurnClock;
use crate::config::Config;
use crate::databases::Databases;
use crate::http;
use crate::latency::Latency;
use crate::limits;
use crate::listener::Listener;
use crate::log;
use crate::monitor::Monitors;
use crate::pause::Pause;
use crate::process;
use crate::pushes::Pushes;
use crate::reactor::{self, Io, Placement, Share};
use crate::scripts::Scripts;
use crate::session::SpareQueues;
use crate::shared::{Counters, Facts, Settings, Shared, State};
use crate::shutdown;
use crate::storage::{profile_name, sync_name};
use crate::tally::CommandStats;
use crate::tls::Tls;
use crate::tracking::Tracking;
use crate::turns::Turns;
use crate::units::show_bytes;
use crate::warm;
use crate::watches::Watches;
use crate::workers::Workers;

/// File descriptors the server needs besides its connections: its own, and those of a few over HTTP.
const OWN_DESCRIPTORS: u64 = 48;

/// Serves until SIGTERM or SIGINT.
pub(crate) fn serve(config: Config) -> anyhow::Result<()> {
    let started = Instant::now();
    if config.storage.is_none() {
        // What a durable store allocates lies beside the cap, and its threads need not wait for each other there.
        warm::settle_allocator();
    }
    log::start(config.log_level, config.log_format);
    let stop = shutdown::stop().context("cannot catch SIGTERM and SIGINT")?;
    let tls = config.tls.clone().map(Tls::load).transpose().context("cannot serve TLS")?;
    let listeners = listen(&config)?;
    let http = http::listen(config.http).context("no /metrics (--http HOST:PORT, or off)")?;
    let (cap_bytes, cap_origin) = memory_cap(&config)?;
    plumbkv::keep_high_water_true(cap_bytes, process::online_cpus());
    let clock = Arc::new(TurnClock::new());
    let database = open(&config, cap_bytes, Arc::clone(&clock) as Arc<dyn Clock>)?;
    let max_clients = affordable_clients(config.max_clients);
    announce(&config, cap_bytes, &cap_origin, &database);

    let addresses: Vec<String> = listeners.iter().map(|listener| listener.address.clone()).collect();
    let addresses_of = |is_encrypted| -> Vec<_> {
        let of = listeners.iter().filter(|listener| listener.is_encrypted == is_encrypted);
        of.filter_map(Listener::tcp_address).collect()
    };
    let (tcp, encrypted) = (addresses_of(false), addresses_of(true));
    let threads = config.io_threads.unwrap_or_else(default_io_threads);
    let (mut shares, placement) = shares(threads, listeners, stop.signal, config.busy_poll)
        .context("cannot set up input and output")?;
    let first = shares.remove(0);
    let (mut reactor, io_backend, why_not) =
        reactor::open(config.io, first).context("cannot set up input and output")?;
    let why_not = why_not.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let plural = if threads == 1 { "" } else { "s" };
    tracing::info!("input and output by {io_backend}, {threads} thread{plural}{why_not}");
    // What the probe has found holds for all of them.
    let io = if io_backend == "epoll" { Io::Epoll } else { Io::Uring };
    let others = Others::start(io, shares).context("cannot start the I/O threads")?;
    let http_address = http.as_ref().and_then(Listener::tcp_address);
    if config.storage.is_none() {
        warm::warm();
    }
    let workers = Arc::new(Workers::new(Arc::clone(&placement)));
    let databases = Databases::load(&database).context("cannot read the store")?;
    let shared = Arc::new(Shared {
        client_memory: ClientMemory::new(),
        // Workers execute requests of a durable store, too.
        turns: Turns::new(threads + usize::from(database.is_durable())),
        watches: Watches::default(),
        tracking: Tracking::default(),
        monitors: Monitors::default(),
        pause: Pause::default(),
        pushes: Pushes::new(Some(Arc::clone(&placement))),
        scripts: Scripts::default(),
        spare_queues: SpareQueues::default(),
        database,
        databases,
        clock,
        acl: Acl::new(config.password.as_deref()),
        settings: Settings::new(
            config.password,
            config.protected_mode,
            max_clients,
            config.timeout_seconds,
            config.samples,
            config.limits,
        ),
        counters: Counters::default(),
        command_stats: CommandStats::default(),
        latency: Latency::new(config.slow_us, config.monitor_ms),
        state: State::new(stop.is_set, stop.ask),
        tls,
        clients: Clients::default(),
        facts: Facts {
            started,
            io_backend,
            io_threads: threads,
            tcp_port: tcp.first().map_or(0, std::net::SocketAddr::port),
            tls_port: encrypted.first().map_or(0, std::net::SocketAddr::port),
            addresses: tcp.iter().map(ToString::to_string).collect(),
            unix_socket: config.unix_socket.map(|path| path.display().to_string()),
            storage: config.storage,
            config_file: config.file,
            executable: std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default(),
            system: process::system(),
            run_id: run_id(),
            has_https: config.http_tls,
            http_address: http_address.map_or_else(|| "off".to_owned(), |address| address.to_string()),
        },
        workers: Some(Arc::clone(&workers)),
    });
    if shared.database.is_durable() {
        workers.begin(&shared).context("cannot start a worker thread")?;
    } else {
        workers.begin_later(&shared);
    }
    let mut http_server = None;
    if let (Some(listener), Some(address)) = (http, http_address) {
        http_server = Some(http::start(listener, Arc::clone(&shared)).context("cannot serve HTTP")?);
        let scheme = if shared.facts.has_https { "https" } else { "http" };
        tracing::info!("metrics at {scheme}://{address}/metrics");
    }
    others.serve(&shared);
    shared.state.set_ready(&shared.database);
    // The one line that programs wait for; its form is part of the interface, whatever the log level.
    log::line(format_args!("plumbkv ready: resp {}", addresses.join(", ")));
    reactor::run(&mut *reactor, &shared).context("the event loop ended")?;
    others.join();
    drop(reactor);
    workers.end();
    if let Some(http_server) = http_server {
        http_server.end();
    }
    close(shared)?;
    tracing::info!("stopped after {} s", started.elapsed().as_secs());
    Ok(())
}

/// Opens the store: in memory, or in its directory, which may take as long as its log is.
fn open(config: &Config, cap_bytes: u64, clock: Arc<dyn Clock>) -> anyhow::Result<Database> {
    let options = match &config.storage {
        None => Options::memory(cap_bytes).policy(config.policy).samples(config.samples).keyspaces(true),
        Some(storage) => storage.options().client_cap(cap_bytes),
    };
    let database = Database::open(options.clock(clock)).context("cannot open the store")?;
    #[cfg(debug_assertions)]
    slow_disk();
    Ok(database)
}

/// For tests of who waits for it: a disk that takes so many milliseconds for each read and each sync, by `PLUMBKV_TEST_SLOW_DISK=READ,SYNC`. Not in release builds.
#[cfg(debug_assertions)]
fn slow_disk() {
    let Ok(text) = std::env::var("PLUMBKV_TEST_SLOW_DISK") else { return };
    let milliseconds = |text: Option<&str>| {
        Duration::from_millis(text.and_then(|text| text.parse().ok()).unwrap_or_default())
    };
    let mut times = text.split(',');
    plumbkv::slow_disk(milliseconds(times.next()), milliseconds(times.next()));
}

/// Syncs and closes the store, once nobody uses it any more.
fn close(shared: Arc<Shared>) -> anyhow::Result<()> {
    if !shared.database.is_durable() {
        return Ok(());
    }
    match Arc::try_unwrap(shared) {
        Ok(shared) => {
            shared.database.close().context("cannot close the store")?;
            tracing::info!("the store is synced and closed");
        }
        // Somebody still has it: what was acknowledged lasts, and the log is read when it is opened again.
        Err(shared) => {
            shared.database.sync().context("cannot sync the store")?;
            tracing::warn!("the store is synced, and left open");
        }
    }
    Ok(())
}

/// Half of the CPUs that this process may use: the kernel's work for the sockets, and the clients on this machine, need some, too.
fn default_io_threads() -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cpus / 2).clamp(1, 8)
}

/// What each I/O thread is given.
fn shares(
    threads: usize,
    listeners: Vec<Listener>,
    stop: UnixStream,
    busy_poll: Duration,
) -> io::Result<(Vec<Share>, Arc<Placement>)> {
    let placement = Arc::new(Placement::new(threads)?);
    let share =
        |own, listeners, stop| Share { own, placement: Arc::clone(&placement), listeners, stop, busy_poll };
    let others: Vec<Share> =
        (1..threads).map(|own| Ok(share(own, Vec::new(), stop.try_clone()?))).collect::<io::Result<_>>()?;
    let shares = std::iter::once(share(0, listeners, stop)).chain(others).collect();
    Ok((shares, placement))
}

/// The I/O threads beside the first one.
struct Others(Vec<(JoinHandle<()>, mpsc::Sender<Arc<Shared>>)>);

impl Others {
    /// Starts them and waits until each has set up what it needs, so that it is a part of the memory at the start.
    fn start(io: Io, shares: Vec<Share>) -> io::Result<Self> {
        let mut threads = Vec::with_capacity(shares.len());
        for share in shares {
            let (ready, is_ready) = mpsc::channel();
            let (serve, to_serve) = mpsc::channel::<Arc<Shared>>();
            let own = share.own;
            let body = move || {
                let mut reactor = match reactor::open(io, share) {
                    Ok((reactor, ..)) => reactor,
                    Err(error) => return drop(ready.send(Err(error))),
                };
                warm::warm_stack();
                let _ = ready.send(Ok(()));
                let Ok(shared) = to_serve.recv() else { return };
                if let Err(error) = reactor::run(&mut *reactor, &shared) {
                    tracing::error!("I/O thread {own} ended: {error}");
                    // Clients that it would have served must not wait for ever.
                    std::process::abort();
                }
            };
            let thread = std::thread::Builder::new().name(format!("io-{own}")).spawn(body)?;
            is_ready.recv().map_err(|_| io::Error::other("an I/O thread ended"))??;
            threads.push((thread, serve));
        }
        Ok(Self(threads))
    }

    fn serve(&self, shared: &Arc<Shared>) {
        for (_, serve) in &self.0 {
            // One that has ended has said why.
            let _ = serve.send(Arc::clone(shared));
        }
    }

    /// Waits until they have sent their last replies.
    fn join(self) {
        for (thread, _) in self.0 {
            let _ = thread.join();
        }
    }
}

fn listen(config: &Config) -> anyhow::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for &address in &config.listen {
        listeners.push(Listener::tcp_in_time(address)?);
    }
    for &address in &config.tls_listen {
        listeners.push(Listener::tcp_in_time(address)?.encrypted());
    }
    if let Some(path) = &config.unix_socket {
        listeners.push(Listener::unix(path)?);
    }
    Ok(listeners)
}

fn memory_cap(config: &Config) -> anyhow::Result<(u64, String)> {
    if let Some(bytes) = config.memory_limit {
        return Ok((bytes, "as set".to_owned()));
    }
    let cap = limits::default_cap(Path::new("/"));
    let cap = cap.context("cannot tell how much memory there is; set --memory-limit")?;
    let Some(storage) = &config.storage else { return Ok((cap.bytes, cap.origin)) };
    let budget = storage.memory_budget();
    if budget > cap.bytes {
        let (budget, origin) = (show_bytes(budget), &cap.origin);
        tracing::warn!(
            "the store may take {budget}, more than {origin}: lower --memory-budget, or choose --profile low-memory"
        );
    }
    let cap = cap.beside_store(budget);
    Ok((cap.bytes, cap.origin))
}

fn announce(config: &Config, cap_bytes: u64, cap_origin: &str, database: &Database) {
    let cap = if cap_bytes == u64::MAX { "none".to_owned() } else { show_bytes(cap_bytes) };
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!("version {version}, process {}", std::process::id());
    match &config.storage {
        None => {
            tracing::info!("memory cap {cap} ({cap_origin}), {} shards", database.stats().shards);
            tracing::info!("eviction policy {}", config.policy);
        }
        Some(storage) => {
            let (sync, profile) = (sync_name(storage.sync), profile_name(storage.profile));
            tracing::info!("memory cap {cap} for clients ({cap_origin})");
            tracing::info!("store in {}, sync {sync}, profile {profile}", storage.directory.display());
            if let Ok(stats) = database.storage_stats() {
                let (tables, bytes) = (stats.tables(), show_bytes(stats.table_bytes()));
                tracing::info!("it holds {tables} tables of {bytes}");
            }
        }
    }
    let open = config.listen.iter().chain(&config.tls_listen).any(|address| !address.ip().is_loopback());
    if open && config.password.is_none() && !config.protected_mode {
        tracing::warn!(
            "anybody who reaches these addresses can read and change everything: no password is set"
        );
    }
}

/// As many connections as were asked for or the limit on open files allows.
fn affordable_clients(wanted: u64) -> u64 {
    let needed = wanted + OWN_DESCRIPTORS;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return wanted;
    }
    let granted = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    limit.current = Some(granted);
    let granted = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => granted,
        Err(_) => getrlimit(Resource::Nofile).current.unwrap_or(needed),
    };
    let clients = granted.saturating_sub(OWN_DESCRIPTORS).clamp(1, wanted);
    if clients < wanted {
        tracing::warn!(
            "serving {clients} connections at most instead of {wanted}: only {granted} files may be open \
                 (raise `ulimit -Hn`)"
        );
    }
    clients
}

/// Tells one start from another; nothing secret depends on it.
fn run_id() -> String {
    format!("{:032x}{:08x}", fastrand::u128(..), fastrand::u32(..))
}
