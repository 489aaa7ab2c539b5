//! How much may one client ask for? The limits that have a name, their bounds, and their values while the server runs.
//!
//! A limit goes by one name in flags, variables, the file, CONFIG GET and SET, and in the text that a client sees who
//! goes beyond it. The table in the server's README says what each is for.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::units::parse_bytes;

/// One of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The longest request, all its words together, in bytes.
    Request,
    /// The longest word of a request and the longest value, in bytes.
    Bulk,
    /// The most words of a request, the command's name included.
    Arguments,
    /// The longest reply, and the most bytes of unread replies: the hard limit of Redis's class `normal`.
    Output,
    /// Steps that the patterns of one command may take beyond those of plain matching.
    PatternSteps,
    /// Seconds until a client must have given the password.
    AuthSeconds,
    /// The most commands of a transaction.
    QueuedCommands,
    /// The most keys that one client watches.
    WatchedKeys,
    /// All texts of scripts that are kept, in bytes.
    ScriptTexts,
    /// Memory of the interpreter, in bytes.
    ScriptMemory,
    /// Milliseconds that a script runs before other clients are told that the server is busy.
    BusyMs,
    /// The most users, the default user included.
    AclUsers,
    /// The most passwords, patterns, command rules and selectors of one user.
    AclRules,
    /// The most entries of the security log.
    AclLog,
    /// The most entries of the slow log.
    SlowLog,
    /// The most keys that clients track.
    TrackedKeys,
}

/// A limit's name and bounds.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    default: u64,
    low: u64,
    high: u64,
    is_bytes: bool,
    /// 0 stands for no limit.
    may_be_none: bool,
}

/// In the order of [`Limit`].
static SPECS: [Spec; COUNT] = [
    Spec {
        name: "client-query-buffer-limit",
        default: 1 << 30,
        low: 1 << 20,
        high: i64::MAX as u64,
        is_bytes: true,
        may_be_none: false,
    },
    Spec {
        name: "proto-max-bulk-len",
        default: plumbkv::MAX_VALUE_BYTES as u64,
        low: 1 << 20,
        high: plumbkv::MAX_VALUE_BYTES as u64,
        is_bytes: true,
        may_be_none: false,
    },
    Spec {
        name: "max-arguments",
        default: 1 << 20,
        low: 64,
        high: i32::MAX as u64,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "client-output-buffer-limit",
        default: 1 << 30,
        low: 1 << 20,
        high: i64::MAX as u64,
        is_bytes: true,
        may_be_none: true,
    },
    Spec {
        name: "pattern-cost-limit",
        default: 10_000_000,
        low: 1,
        high: i64::MAX as u64,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "auth-timeout",
        default: 60,
        low: 1,
        high: i32::MAX as u64,
        is_bytes: false,
        may_be_none: true,
    },
    Spec {
        name: "transaction-max-commands",
        default: 1_000_000,
        low: 1,
        high: i32::MAX as u64,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "max-watched-keys",
        default: 100_000,
        low: 1,
        high: i32::MAX as u64,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "script-cache-limit",
        default: 16 << 20,
        low: 1 << 10,
        high: i64::MAX as u64,
        is_bytes: true,
        may_be_none: false,
    },
    Spec {
        name: "script-memory-limit",
        default: 16 << 20,
        low: 1 << 20,
        high: i64::MAX as u64,
        is_bytes: true,
        may_be_none: false,
    },
    Spec {
        name: "busy-reply-threshold",
        default: 5000,
        low: 1,
        high: i32::MAX as u64,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "acl-max-users",
        default: 1000,
        low: 1,
        high: 1_000_000,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "acl-max-rules",
        default: 1000,
        low: 1,
        // A rule is compared with those before it.
        high: 10_000,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "acllog-max-len",
        default: 128,
        low: 0,
        high: 1_000_000,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "slowlog-max-len",
        default: 128,
        low: 0,
        high: 1_000_000,
        is_bytes: false,
        may_be_none: false,
    },
    Spec {
        name: "tracking-table-max-keys",
        default: 1_000_000,
        low: 1,
        high: i32::MAX as u64,
        is_bytes: false,
        may_be_none: true,
    },
];

const COUNT: usize = 16;

/// What stands for no limit.
const NONE: u64 = u64::MAX;

impl Limit {
    pub(crate) const ALL: [Self; COUNT] = [
        Self::Request,
        Self::Bulk,
        Self::Arguments,
        Self::Output,
        Self::PatternSteps,
        Self::AuthSeconds,
        Self::QueuedCommands,
        Self::WatchedKeys,
        Self::ScriptTexts,
        Self::ScriptMemory,
        Self::BusyMs,
        Self::AclUsers,
        Self::AclRules,
        Self::AclLog,
        Self::SlowLog,
        Self::TrackedKeys,
    ];

    fn spec(self) -> &'static Spec {
        &SPECS[self as usize]
    }

    pub(crate) fn name(self) -> &'static str {
        self.spec().name
    }

    /// Reads a value; the refusal says what would be right.
    pub(crate) fn parse(self, text: &str) -> Result<u64, String> {
        let spec = self.spec();
        let number = if spec.is_bytes { parse_bytes(text) } else { text.parse().ok() };
        match number {
            Some(0) if spec.may_be_none => Ok(NONE),
            Some(number) if (spec.low..=spec.high).contains(&number) => Ok(number),
            _ => {
                let Spec { low, high, .. } = spec;
                let unit = if spec.is_bytes { "a size in bytes" } else { "a whole number" };
                let none = if spec.may_be_none { ", or 0 for no limit" } else { "" };
                Err(format!("expected {unit} from {low} to {high}{none}"))
            }
        }
    }
}

/// The limit on replies, of one and of all that are unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputLimit {
    pub(crate) hard: u64,
    /// Bytes that may be exceeded for some seconds; 0 for no soft limit.
    pub(crate) soft: u64,
    pub(crate) seconds: u64,
}

impl OutputLimit {
    /// Reads a number of bytes, or Redis's form: a class, a hard limit, a soft one and its seconds, for one class
    /// after the other.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let [bytes] = words[..] {
            return Ok(Self { hard: Limit::Output.parse(bytes)?, soft: 0, seconds: 0 });
        }
        let (classes, rest) = words.as_chunks::<4>();
        let mut limit = None;
        for [class, hard, soft, seconds] in classes {
            match class.to_ascii_lowercase().as_str() {
                "normal" => {
                    let hard = Limit::Output.parse(hard)?;
                    let soft = parse_bytes(soft).ok_or("the soft limit must be a size in bytes")?;
                    let seconds = seconds.parse().ok().filter(|seconds| *seconds <= i32::MAX as u64);
                    let seconds = seconds
                        .ok_or_else(|| format!("argument must be between 0 and {} inclusive", i32::MAX))?;
                    limit = Some(Self { hard, soft, seconds });
                }
                // No connection belongs to these classes.
                "replica" | "slave" | "pubsub" => {}
                _ => return Err(format!("`{class}` is no class of clients")),
            }
        }
        limit
            .filter(|_| rest.is_empty())
            .ok_or_else(|| "write BYTES or `normal HARD SOFT SECONDS`".to_owned())
    }
}

/// A value for each limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Values {
    values: [u64; COUNT],
    /// The soft limit on unread replies, and its seconds.
    soft_output: [u64; 2],
}

impl Default for Values {
    fn default() -> Self {
        Self { values: std::array::from_fn(|index| SPECS[index].default), soft_output: [0, 0] }
    }
}

impl Values {
    pub(crate) fn set(&mut self, limit: Limit, value: u64) {
        self.values[limit as usize] = value;
    }

    pub(crate) fn set_output(&mut self, limit: OutputLimit) {
        self.set(Limit::Output, limit.hard);
        self.soft_output = [limit.soft, limit.seconds];
    }

    pub(crate) fn get(&self, limit: Limit) -> u64 {
        self.values[limit as usize]
    }
}

/// The values in force, which CONFIG SET changes.
#[derive(Debug)]
pub(crate) struct Limits {
    values: [AtomicU64; COUNT],
    /// The soft limit on unread replies in bytes, 0 for none, and how many seconds it may be exceeded.
    soft_output: [AtomicU64; 2],
    /// Grows with each change of a limit or of the users, so that connections learn of it.
    version: AtomicU64,
}

impl Limits {
    pub(crate) fn new(values: Values) -> Self {
        Self {
            values: values.values.map(AtomicU64::new),
            soft_output: values.soft_output.map(AtomicU64::new),
            version: AtomicU64::new(0),
        }
    }

    /// The soft limit on unread replies in bytes, 0 for none, and how many seconds it may be exceeded.
    pub(crate) fn soft_output(&self) -> (u64, u64) {
        let [bytes, seconds] = &self.soft_output;
        (bytes.load(Ordering::Relaxed), seconds.load(Ordering::Relaxed))
    }

    pub(crate) fn set_soft_output(&self, bytes: u64, seconds: u64) {
        self.soft_output[0].store(bytes, Ordering::Relaxed);
        self.soft_output[1].store(seconds, Ordering::Relaxed);
    }

    /// The value in force; `u64::MAX` where there is no limit.
    pub(crate) fn get(&self, limit: Limit) -> u64 {
        self.values[limit as usize].load(Ordering::Relaxed)
    }

    /// The value as a number of bytes or things in memory.
    pub(crate) fn count(&self, limit: Limit) -> usize {
        usize::try_from(self.get(limit)).unwrap_or(usize::MAX)
    }

    pub(crate) fn set(&self, limit: Limit, value: u64) {
        self.values[limit as usize].store(value, Ordering::Relaxed);
        self.announce();
    }

    /// Lets connections learn of a change: of a limit, or of the users.
    pub(crate) fn announce(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// As CONFIG GET writes it: 0 where there is no limit.
    pub(crate) fn show(&self, limit: Limit) -> u64 {
        Some(self.get(limit)).filter(|&value| value != NONE).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_themselves_are_values_and_the_numbers_beside_them_are_not() {
        for limit in Limit::ALL {
            let &Spec { low, high, may_be_none, default, .. } = limit.spec();
            for value in [low, high, default] {
                assert_eq!(limit.parse(&value.to_string()), Ok(value), "{}", limit.name());
            }
            assert!(limit.parse(&(high + 1).to_string()).is_err(), "{}", limit.name());
            if let Some(below) = low.checked_sub(1) {
                assert_eq!(
                    limit.parse(&below.to_string()),
                    if low == 1 && may_be_none { Ok(NONE) } else { limit.parse("x") }
                );
            }
            assert_eq!(limit.parse("0").is_ok(), may_be_none || low == 0, "{}", limit.name());
        }
    }

    #[test]
    fn a_refusal_says_what_would_be_right() {
        assert_eq!(
            Limit::Output.parse("1kb").unwrap_err(),
            "expected a size in bytes from 1048576 to 9223372036854775807, or 0 for no limit"
        );
        assert_eq!(
            Limit::Arguments.parse("1mb").unwrap_err(),
            "expected a whole number from 64 to 2147483647"
        );
    }

    #[test]
    fn a_change_is_noticed() {
        let limits = Limits::new(Values::default());
        let before = limits.version();
        limits.set(Limit::Output, Limit::Output.parse("0").unwrap());
        assert!(limits.version() > before && limits.get(Limit::Output) == u64::MAX);
        assert_eq!((limits.show(Limit::Output), limits.show(Limit::Arguments)), (0, 1 << 20));
    }
}
