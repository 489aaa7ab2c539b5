//! What does the server tell whoever runs it? Plain lines on stderr, as loud as the level allows.

use std::fmt;
use std::io::Write as _;
use std::str::FromStr;
use std::sync::atomic::{AtomicU8, Ordering};

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

impl Level {
    /// The nearest of Redis's names.
    pub(crate) fn redis_name(self) -> &'static str {
        match self {
            Self::Error | Self::Warning => "warning",
            Self::Info => "notice",
            Self::Debug => "debug",
        }
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        NAMES
            .iter()
            .find_map(|(name, level)| name.eq_ignore_ascii_case(text).then_some(*level))
            .ok_or_else(|| format!("`{text}` is not a log level; choose error, warning, info or debug"))
    }
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
}

/// Writes a line if its level is in force.
pub(crate) fn write(at: Level, message: fmt::Arguments<'_>) {
    if at <= level() {
        let prefix = match at {
            Level::Error => "error: ",
            Level::Warning => "warning: ",
            Level::Info => "",
            Level::Debug => "debug: ",
        };
        line(format_args!("plumbkv: {prefix}{message}"));
    }
}

/// Writes a line whatever the level. Never panics, unlike `eprintln!`: a server must outlive its terminal.
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
}
