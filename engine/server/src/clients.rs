//! Who is connected? One entry per connection, for CLIENT LIST and INFO.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumbkv_resp::Version;

use crate::acl::DEFAULT;
use crate::command::table::{self, Id};
use crate::reactor::admission::CONNECTION_BYTES;
use crate::tracking::{Mode, bit};
use crate::watches::Watching;

/// The connections, by number.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    last_id: AtomicU64,
    /// How often connections were ended by CLIENT KILL or ACL DELUSER.
    kills: AtomicU64,
    // std Mutex: taken when a connection comes or goes and by CLIENT LIST.
    entries: Mutex<BTreeMap<u64, Arc<Entry>>>,
}

/// What is known of one connection. Its own thread writes it, any thread may read it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    peer: String,
    local: String,
    descriptor: i32,
    connected_ms: u64,
    last_active_ms: AtomicU64,
    last_command: AtomicU8,
    version: AtomicU8,
    /// The database that SELECT has chosen.
    database: AtomicU8,
    pending_input: AtomicU64,
    pending_output: AtomicU64,
    /// Commands queued behind MULTI, or [`NO_TRANSACTION`].
    queued: AtomicI64,
    pub(crate) watching: Watching,
    pub(crate) tracking: Mode,
    /// It sees all requests.
    is_monitor: AtomicBool,
    /// The thread that serves it, counted from 1, and its slot there; 0 before it is served.
    place: AtomicU64,
    /// The connection has ended; a worker may still have a request of it.
    is_closed: AtomicBool,
    /// CLIENT KILL or ACL DELUSER has ended it.
    is_killed: AtomicBool,
    texts: Mutex<Texts>,
}

/// Names the client gave, and its user.
#[derive(Debug, Default, Clone)]
struct Texts {
    /// `None` for the default user.
    user: Option<Arc<[u8]>>,
    name: String,
    library_name: String,
    library_version: String,
}

/// Stands for "no command yet" in [`Entry::last_command`].
const NO_COMMAND: u8 = u8::MAX;

/// As CLIENT LIST shows it.
const NO_TRANSACTION: i64 = -1;

impl Clients {
    /// Adds a connection.
    pub(crate) fn add(&self, peer: String, local: String, descriptor: i32, now_ms: u64) -> Arc<Entry> {
        let entry = Arc::new(Entry {
            id: self.last_id.fetch_add(1, Ordering::Relaxed) + 1,
            peer,
            local,
            descriptor,
            connected_ms: now_ms,
            last_active_ms: AtomicU64::new(now_ms),
            last_command: AtomicU8::new(NO_COMMAND),
            version: AtomicU8::new(2),
            database: AtomicU8::new(0),
            pending_input: AtomicU64::new(0),
            pending_output: AtomicU64::new(0),
            queued: AtomicI64::new(NO_TRANSACTION),
            watching: Watching::default(),
            tracking: Mode::default(),
            is_monitor: AtomicBool::new(false),
            place: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            is_killed: AtomicBool::new(false),
            texts: Mutex::default(),
        });
        self.lock().insert(entry.id, Arc::clone(&entry));
        entry
    }

    /// Takes a connection out.
    pub(crate) fn remove(&self, id: u64) {
        self.lock().remove(&id);
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<Entry>> {
        self.lock().get(&id).cloned()
    }

    /// Every connection, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.lock().values().cloned().collect()
    }

    /// Ends a connection: it executes nothing more, and its thread closes it soon.
    pub(crate) fn kill(&self, entry: &Entry) {
        entry.is_killed.store(true, Ordering::Relaxed);
        self.kills.fetch_add(1, Ordering::Release);
    }

    /// A number that changes with each connection that is ended so.
    pub(crate) fn kills(&self) -> u64 {
        self.kills.load(Ordering::Acquire)
    }

    /// Bytes in the longest input and in the longest output that wait, of all connections.
    pub(crate) fn longest_buffers(&self) -> (u64, u64) {
        let entries = self.lock();
        let longest = |length: fn(&Entry) -> &AtomicU64| {
            entries.values().map(|entry| length(entry).load(Ordering::Relaxed)).max().unwrap_or(0)
        };
        (longest(|entry| &entry.pending_input), longest(|entry| &entry.pending_output))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn name(&self) -> String {
        self.texts().name.clone()
    }

    pub(crate) fn set_name(&self, name: &str) {
        name.clone_into(&mut self.texts().name);
    }

    /// The user of the connection; `None` for the default user.
    pub(crate) fn user_name(&self) -> Option<Arc<[u8]>> {
        self.texts().user.clone()
    }

    pub(crate) fn set_user(&self, name: Option<Arc<[u8]>>) {
        self.texts().user = name;
    }

    pub(crate) fn set_library_name(&self, name: &str) {
        name.clone_into(&mut self.texts().library_name);
    }

    pub(crate) fn set_library_version(&self, version: &str) {
        version.clone_into(&mut self.texts().library_version);
    }

    /// Which thread serves the connection from now on, and in which slot.
    pub(crate) fn record_place(&self, thread: usize, slot: usize) {
        self.place.store((thread as u64 + 1) << 32 | slot as u64, Ordering::Release);
    }

    /// The thread that serves it, and its slot there.
    pub(crate) fn place(&self) -> Option<(usize, usize)> {
        let place = self.place.load(Ordering::Acquire);
        let thread = (place >> 32).checked_sub(1)?;
        Some((thread as usize, (place & u64::from(u32::MAX)) as usize))
    }

    pub(crate) fn record_command(&self, id: Id) {
        self.last_command.store(id as u8, Ordering::Relaxed);
    }

    /// How many commands are queued; `None` outside of a transaction.
    pub(crate) fn record_queued(&self, count: Option<usize>) {
        let count = count.map_or(NO_TRANSACTION, |count| i64::try_from(count).unwrap_or(i64::MAX));
        self.queued.store(count, Ordering::Relaxed);
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    pub(crate) fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::Relaxed)
    }

    /// The other end, as CLIENT LIST shows it.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// This end.
    pub(crate) fn local(&self) -> &str {
        &self.local
    }

    /// The flags of CLIENT LIST in Redis's order: in a transaction, which EXEC will fail, and what is tracked.
    fn flags(&self) -> String {
        let flags: String = [
            (self.is_monitor(), 'O'),
            (self.queued.load(Ordering::Relaxed) != NO_TRANSACTION, 'x'),
            (self.tracking.has(bit::ON), 't'),
            (self.tracking.has(bit::BROKEN), 'R'),
            (self.tracking.has(bit::BROADCAST), 'B'),
            (self.watching.is_touched(), 'd'),
        ]
        .into_iter()
        .filter_map(|(is_set, letter)| is_set.then_some(letter))
        .collect();
        if flags.is_empty() { "N".to_owned() } else { flags }
    }

    /// As CLIENT GETREDIR answers: -1 where nothing is tracked, 0 where messages go to the client itself.
    pub(crate) fn redirection(&self) -> i64 {
        if self.tracking.has(bit::ON) { self.tracking.redirect() as i64 } else { -1 }
    }

    /// Lets it see all requests; false if it does already.
    pub(crate) fn begin_monitoring(&self) -> bool {
        !self.is_monitor.swap(true, Ordering::AcqRel)
    }

    /// False if it did not see them.
    pub(crate) fn end_monitoring(&self) -> bool {
        self.is_monitor.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn is_monitor(&self) -> bool {
        self.is_monitor.load(Ordering::Acquire)
    }

    pub(crate) fn is_resp3(&self) -> bool {
        self.version.load(Ordering::Relaxed) == 3
    }

    pub(crate) fn database(&self) -> u8 {
        self.database.load(Ordering::Relaxed)
    }

    pub(crate) fn record_database(&self, database: u8) {
        self.database.store(database, Ordering::Relaxed);
    }

    pub(crate) fn record_version(&self, version: Version) {
        self.version.store(if version == Version::Resp3 { 3 } else { 2 }, Ordering::Relaxed);
    }

    /// Called once a turn; the lengths are those of the connection's own buffers, in bytes.
    pub(crate) fn record_activity(&self, now_ms: u64, pending_input: usize, pending_output: usize) {
        self.last_active_ms.store(now_ms, Ordering::Relaxed);
        self.pending_input.store(pending_input as u64, Ordering::Relaxed);
        self.pending_output.store(pending_output as u64, Ordering::Relaxed);
    }

    pub(crate) fn connected_ms(&self) -> u64 {
        self.connected_ms
    }

    pub(crate) fn last_active_ms(&self) -> u64 {
        self.last_active_ms.load(Ordering::Relaxed)
    }

    /// One line of CLIENT LIST without its end, in Redis's fields. Clients look up each of them, so
    /// those without a counterpart here are 0.
    pub(crate) fn describe(&self, now_ms: u64, line: &mut String) {
        let texts = self.texts().clone();
        let seconds = |since_ms: u64| now_ms.saturating_sub(since_ms) / 1000;
        let command = self.last_command.load(Ordering::Relaxed);
        let command = table::SPECS.get(usize::from(command)).map_or("NULL", |spec| spec.name);
        let input = self.pending_input.load(Ordering::Relaxed);
        let output = self.pending_output.load(Ordering::Relaxed);
        let user = String::from_utf8_lossy(texts.user.as_deref().unwrap_or(DEFAULT));
        // Writing to a String cannot fail.
        let _ = write!(
            line,
            "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db={} sub=0 psub=0 ssub=0 multi={} \
             qbuf={input} qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem={output} tot-mem={} events={} cmd={command} user={user} redir={} resp={} lib-name={} lib-ver={}",
            self.id,
            self.peer,
            self.local,
            self.descriptor,
            texts.name,
            seconds(self.connected_ms),
            seconds(self.last_active_ms()),
            self.flags(),
            self.database(),
            self.queued.load(Ordering::Relaxed),
            CONNECTION_BYTES + input + output,
            if output == 0 { "r" } else { "rw" },
            self.redirection(),
            self.version.load(Ordering::Relaxed),
            texts.library_name,
            texts.library_version,
        );
    }
}
