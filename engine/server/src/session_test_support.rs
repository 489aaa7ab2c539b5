//! How do tests talk to a session without a socket?

use std::sync::Arc;
use std::time::Instant;

use plumbkv::{Database, Options};

use super::{Next, Session, SpareQueues};
use crate::acl::Acl;
use crate::client_limits::Values;
use crate::client_memory::ClientMemory;
use crate::clients::Clients;
use crate::clock::TurnClock;
use crate::databases::Databases;
use crate::latency::{self, Latency};
use crate::monitor::Monitors;
use crate::pause::Pause;
use crate::pushes::Pushes;
use crate::replies::{Mark, Replies};
use crate::scripts::Scripts;
use crate::shared::{Counters, Facts, Settings, Shared, State};
use crate::tally::CommandStats;
use crate::tracking::Tracking;
use crate::turns::Turns;
use crate::watches::Watches;

/// A server without sockets.
pub(crate) struct Driver {
    pub(crate) shared: Shared,
}

/// One client of it.
pub(crate) struct Talk<'a> {
    shared: &'a Shared,
    pub(crate) session: Session,
    pending: Vec<u8>,
    pub(crate) closed: bool,
}

impl Driver {
    pub(crate) fn new() -> Self {
        Self::with_options(|options| options, 64 << 20)
    }

    pub(crate) fn with_options(change: impl FnOnce(Options) -> Options, cap: u64) -> Self {
        let clock = Arc::new(TurnClock::new());
        let options =
            change(Options::memory(cap).keyspaces(true).clock(Arc::clone(&clock) as Arc<dyn plumbkv::Clock>));
        let database = Database::open(options).unwrap();
        let shared = Shared {
            client_memory: ClientMemory::new(),
            turns: Turns::new(1),
            watches: Watches::default(),
            tracking: Tracking::default(),
            monitors: Monitors::default(),
            pause: Pause::default(),
            pushes: Pushes::new(None),
            scripts: Scripts::default(),
            spare_queues: SpareQueues::default(),
            database,
            databases: Databases::default(),
            clock,
            settings: Settings::new(None, true, 100, 0, 5, Values::default()),
            counters: Counters::default(),
            command_stats: CommandStats::default(),
            latency: Latency::new(latency::SLOW_US, 0),
            state: State::default(),
            tls: None,
            clients: Clients::default(),
            acl: Acl::new(None),
            facts: Facts {
                started: Instant::now(),
                io_backend: "none",
                io_threads: 1,
                addresses: vec!["127.0.0.1:6379".to_owned()],
                tcp_port: 6379,
                tls_port: 0,
                unix_socket: None,
                storage: None,
                config_file: None,
                executable: String::new(),
                system: String::new(),
                run_id: "0".repeat(40),
                has_https: false,
                http_address: "off".to_owned(),
            },
            workers: None,
        };
        Self { shared }
    }

    /// A server that asks for a password.
    pub(crate) fn with_password(password: &str) -> Self {
        let driver = Self::new();
        driver.shared.set_password(Some(password.to_owned()));
        driver
    }

    pub(crate) fn connect(&self) -> Talk<'_> {
        let entry = self.shared.clients.add(
            "127.0.0.1:5".to_owned(),
            "127.0.0.1:6379".to_owned(),
            9,
            self.shared.clock_ms(),
        );
        Talk {
            shared: &self.shared,
            session: Session::new(&self.shared, entry),
            pending: Vec::new(),
            closed: false,
        }
    }
}

impl Talk<'_> {
    /// Sends bytes as they are and answers what comes back.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        let mut replies = Vec::new();
        loop {
            let mut output = Replies::new();
            self.session.begin_turn();
            let progress =
                self.session.advance(self.shared, &self.pending, &mut output, Mark { bytes: 0, values: 0 });
            self.pending.drain(..progress.consumed);
            let mut at = 0;
            for (place, value) in &output.values {
                replies.extend_from_slice(&output.bytes[at..*place]);
                replies.extend_from_slice(value);
                at = *place;
            }
            replies.extend_from_slice(&output.bytes[at..]);
            output.clear(self.shared);
            match progress.next {
                Next::Drain => {}
                Next::Paused => return replies,
                Next::Refuse => panic!("no memory for arguments"),
                Next::HandOver { .. } => panic!("a test waits as long as it takes"),
                Next::Read { needed } => {
                    assert!(needed > self.pending.len());
                    return replies;
                }
                Next::Close => {
                    self.closed = true;
                    return replies;
                }
            }
        }
    }

    /// Sends an inline command and answers the reply's bytes as text.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        String::from_utf8(self.send(format!("{command}\r\n").as_bytes())).unwrap()
    }

    /// Sends an inline command and compares the whole reply.
    pub(crate) fn check(&mut self, command: &str, expected: &str) {
        assert_eq!(self.ask(command), expected, "{command}");
    }

    /// Several commands, each with its reply, one pair a line: `command -> reply`, CR LF written as `|`.
    pub(crate) fn check_all(&mut self, script: &str) {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (command, expected) = line.split_once(" -> ").unwrap();
            let reply = self.ask(command).replace("\r\n", "|");
            assert_eq!(reply, expected, "{command}");
        }
    }
}
