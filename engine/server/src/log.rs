//! What does the server tell whoever runs it? Events on stderr, for people or as JSON, as loud as the level allows.
//!
//! Where something happens, it says so by the macros of `tracing`; this file decides what is kept and how it is written. Two kinds of lines
//! are no events and have their own form: why a program cannot start, and that it is ready.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

/// How loud; each level includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What stops something from working.
    Error,
    /// What somebody should look at.
    Warning,
    /// Start, stop and settings.
    Info,
    /// Each connection.
    Debug,
}

/// How an event is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A line for people: time, level, what happened.
    Text,
    /// A JSON object a line.
    Json,
}

/// Names the levels go by: ours, and those of Redis's `loglevel`.
const NAMES: [(&str, Level); 7] = [
    ("error", Level::Error),
    ("warning", Level::Warning),
    ("warn", Level::Warning),
    ("info", Level::Info),
    ("notice", Level::Info),
    ("debug", Level::Debug),
    ("verbose", Level::Debug),
];

static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// What [`start`] has set up: how to change the level, and the format.
static STARTED: OnceLock<(reload::Handle<LevelFilter, Registry>, Format)> = OnceLock::new();

impl Level {
    /// The nearest of Redis's names.
    pub(crate) fn redis_name(self) -> &'static str {
        match self {
            Self::Error | Self::Warning => "warning",
            Self::Info => "notice",
            Self::Debug => "debug",
        }
    }

    fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warning => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        NAMES
            .iter()
            .find_map(|(name, level)| name.eq_ignore_ascii_case(text).then_some(*level))
            .ok_or_else(|| "expected error, warning, info or debug".to_owned())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("expected text or json".to_owned()),
        }
    }
}

/// Writes events from now on.
pub(crate) fn start(level: Level, format: Format) {
    let (filter, handle) = reload::Layer::new(level.filter());
    // The layer would report a stderr that is closed by `eprintln!`, which panics then: a server must outlive its terminal.
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false)
        .log_internal_errors(false);
    let text = (format == Format::Text).then(|| layer.with_ansi(wants_colour()));
    let json = (format == Format::Json).then(|| {
        tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_target(false)
            .log_internal_errors(false)
            .json()
            .flatten_event(true)
    });
    // Both fail only when a process starts two servers, and then the first one's logs serve.
    let _ = tracing_subscriber::registry().with(filter).with(text).with(json).try_init();
    let _ = STARTED.set((handle, format));
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Colour is for terminals, and not for those whose owner has set [`NO_COLOR`](https://no-color.org).
fn wants_colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The level in force.
pub(crate) fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        0 => Level::Error,
        1 => Level::Warning,
        2 => Level::Info,
        _ => Level::Debug,
    }
}

/// Changes the level.
pub(crate) fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
    if let Some((handle, _)) = STARTED.get() {
        // Fails only when nobody writes events any more.
        let _ = handle.reload(level.filter());
    }
}

/// For what others can bring about as often as they like: it is said once a minute at most.
pub(crate) struct Sparingly(AtomicU64);

/// Seconds between two lines.
pub(crate) const PAUSE_SECONDS: u64 = 60;

impl Sparingly {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Whether it is time to say it again.
    pub(crate) fn is_due(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let last = self.0.load(Ordering::Relaxed);
        now.saturating_sub(last) >= PAUSE_SECONDS
            && self.0.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// Says why the program ends: one line that begins with its name, or an event where events are JSON.
pub(crate) fn fatal(message: fmt::Arguments<'_>) {
    match STARTED.get() {
        Some((_, Format::Json)) => tracing::error!("{message}"),
        _ => line(format_args!("plumbkv: {message}")),
    }
}

/// Writes a line whatever the level and the format. Never panics, unlike `eprintln!`.
pub(crate) fn line(message: fmt::Arguments<'_>) {
    // One write, so that lines of several processes on one stderr do not mix.
    let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_go_by_our_names_and_by_those_of_redis() {
        assert_eq!("notice".parse(), Ok(Level::Info));
        assert_eq!("WARN".parse(), Ok(Level::Warning));
        assert!("loud".parse::<Level>().is_err());
        assert!(Level::Error < Level::Debug);
    }

    #[test]
    fn what_is_said_sparingly_is_not_said_twice_in_a_row() {
        let said = Sparingly::new();
        assert!(said.is_due() && !said.is_due());
    }
}
