//! Which settings can be seen and changed while the server runs? CONFIG GET, SET and REWRITE, under Redis's names.

use plumbkv::Policy;

use crate::acl::LONGEST_PASSWORD;
use crate::client_limits::{Limit, OutputLimit};
use crate::command::args::{Arguments, parse_integer};
use crate::command::{CommandError, Context, glob};
use crate::config;
use crate::databases::COUNT;
use crate::log::Level;
use crate::shared::Shared;
use crate::units;

/// One setting that CONFIG knows.
struct Parameter {
    name: &'static str,
    get: fn(&Shared) -> String,
    /// How a new value is checked; `None` for what is fixed while the server runs.
    set: Option<Check>,
}

/// Reads a new value without applying it, so that CONFIG SET changes everything or nothing.
type Check = fn(&str) -> Result<Change, String>;

/// A value that was checked.
enum Change {
    MaxMemory(u64),
    Policy(Policy),
    Samples(u32),
    Password(Option<String>),
    ProtectedMode(bool),
    MaxClients(u64),
    TimeoutSeconds(u64),
    LogLevel(Level),
    Limit(Limit, u64),
    SlowUs(i64),
    MonitorMs(u64),
    Output(OutputLimit),
    /// The only value there is.
    Nothing,
}

/// A limit under its own name.
macro_rules! limit {
    ($name:literal, $limit:expr) => {
        Parameter {
            name: $name,
            get: |shared| shared.settings.limits.show($limit).to_string(),
            set: Some(|text| $limit.parse(text).map(|value| Change::Limit($limit, value))),
        }
    };
}

/// In the order CONFIG GET * answers. `save`, `appendonly` and `databases` are fixed facts that clients ask for.
static PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "maxmemory",
        get: |shared| show_cap(shared.database.stats().cap_bytes).to_string(),
        set: Some(|text| {
            let bytes = units::parse_bytes(text).ok_or("argument must be a memory value")?;
            // 0 is Redis's word for no cap.
            Ok(Change::MaxMemory(if bytes == 0 { u64::MAX } else { bytes }))
        }),
    },
    Parameter {
        name: "maxmemory-policy",
        get: |shared| shared.database.policy().to_string(),
        set: Some(|text| {
            text.to_ascii_lowercase().parse().map(Change::Policy).map_err(|error| format!("{error}"))
        }),
    },
    Parameter {
        name: "maxmemory-samples",
        get: |shared| shared.settings.samples().to_string(),
        set: Some(|text| between(text, 1, 64).map(|samples| Change::Samples(samples as u32))),
    },
    Parameter {
        name: "requirepass",
        get: |shared| shared.settings.password().unwrap_or_default(),
        set: Some(|text| {
            if text.len() > LONGEST_PASSWORD {
                return Err(format!("argument must have {LONGEST_PASSWORD} bytes at most"));
            }
            Ok(Change::Password((!text.is_empty()).then(|| text.to_owned())))
        }),
    },
    Parameter {
        name: "protected-mode",
        get: |shared| yes_no(shared.settings.protected_mode()),
        set: Some(|text| match text.to_ascii_lowercase().as_str() {
            "yes" => Ok(Change::ProtectedMode(true)),
            "no" => Ok(Change::ProtectedMode(false)),
            _ => Err("argument must be 'yes' or 'no'".to_owned()),
        }),
    },
    Parameter {
        name: "maxclients",
        get: |shared| shared.settings.max_clients().to_string(),
        set: Some(|text| between(text, 1, u64::from(u32::MAX)).map(Change::MaxClients)),
    },
    Parameter {
        name: "timeout",
        get: |shared| shared.settings.timeout_seconds().to_string(),
        set: Some(|text| between(text, 0, i32::MAX as u64).map(Change::TimeoutSeconds)),
    },
    Parameter {
        name: "loglevel",
        get: |_| crate::log::level().redis_name().to_owned(),
        set: Some(|text| {
            text.parse().map(Change::LogLevel).map_err(|_| {
                "argument(s) must be one of the following: debug, verbose, notice, warning".to_owned()
            })
        }),
    },
    Parameter { name: "save", get: |_| String::new(), set: Some(|text| only(text, "")) },
    Parameter { name: "appendonly", get: |_| yes_no(false), set: Some(|text| only(text, "no")) },
    Parameter { name: "databases", get: |_| COUNT.to_string(), set: None },
    Parameter { name: "bind", get: |shared| shared.facts.addresses.join(" "), set: None },
    Parameter { name: "port", get: |shared| shared.facts.tcp_port.to_string(), set: None },
    Parameter { name: "tls-port", get: |shared| shared.facts.tls_port.to_string(), set: None },
    Parameter {
        name: "unixsocket",
        get: |shared| shared.facts.unix_socket.clone().unwrap_or_default(),
        set: None,
    },
    limit!("client-query-buffer-limit", Limit::Request),
    limit!("proto-max-bulk-len", Limit::Bulk),
    limit!("max-arguments", Limit::Arguments),
    Parameter {
        name: "client-output-buffer-limit",
        // No connection belongs to Redis's other classes, replica and pubsub.
        get: |shared| {
            let limits = &shared.settings.limits;
            let (soft, seconds) = limits.soft_output();
            format!("normal {} {soft} {seconds}", limits.show(Limit::Output))
        },
        set: Some(|text| OutputLimit::parse(text).map(Change::Output)),
    },
    limit!("pattern-cost-limit", Limit::PatternSteps),
    limit!("auth-timeout", Limit::AuthSeconds),
    limit!("transaction-max-commands", Limit::QueuedCommands),
    limit!("max-watched-keys", Limit::WatchedKeys),
    limit!("script-cache-limit", Limit::ScriptTexts),
    limit!("script-memory-limit", Limit::ScriptMemory),
    limit!("busy-reply-threshold", Limit::BusyMs),
    limit!("acl-max-users", Limit::AclUsers),
    limit!("acl-max-rules", Limit::AclRules),
    limit!("acllog-max-len", Limit::AclLog),
    Parameter {
        name: "slowlog-log-slower-than",
        get: |shared| shared.latency.slow_us().to_string(),
        set: Some(|text| signed(text, -1).map(Change::SlowUs)),
    },
    limit!("slowlog-max-len", Limit::SlowLog),
    limit!("tracking-table-max-keys", Limit::TrackedKeys),
    Parameter {
        name: "latency-monitor-threshold",
        get: |shared| shared.latency.monitor_ms().to_string(),
        set: Some(|text| signed(text, 0).map(|ms| Change::MonitorMs(ms.unsigned_abs()))),
    },
    Parameter { name: "latency-tracking", get: |_| yes_no(false), set: Some(only_no) },
    Parameter { name: "io-backend", get: |shared| shared.facts.io_backend.to_owned(), set: None },
];

/// CONFIG GET: each setting that matches any pattern, once.
pub(crate) fn get(context: &mut Context<'_>, patterns: Arguments<'_>) -> Result<(), CommandError> {
    let shared = context.shared;
    let mut budget = glob::Budget(shared.settings.limits.get(Limit::PatternSteps));
    let mut found = Vec::new();
    for parameter in PARAMETERS {
        for pattern in patterns {
            if glob::matches(pattern, parameter.name.as_bytes(), true, &mut budget)? {
                found.push(parameter);
                break;
            }
        }
    }
    let mut reply = context.reply();
    reply.map(found.len());
    for parameter in found {
        reply.bulk(parameter.name.as_bytes());
        reply.bulk((parameter.get)(shared).as_bytes());
    }
    Ok(())
}

/// CONFIG SET: all values are checked before the first is applied.
pub(crate) fn set(context: &mut Context<'_>, mut pairs: Arguments<'_>) -> Result<(), CommandError> {
    let mut changes: Vec<(&'static str, Change)> = Vec::new();
    while let (Some(name), Some(value)) = (pairs.next(), pairs.next()) {
        let parameter =
            PARAMETERS.iter().find(|parameter| parameter.name.as_bytes().eq_ignore_ascii_case(name));
        let parameter = parameter.ok_or_else(|| {
            CommandError::quoting("ERR Unknown option or number of arguments for CONFIG SET - '", name, "'")
        })?;
        if changes.iter().any(|(seen, _)| *seen == parameter.name) {
            return Err(failed(parameter.name, "duplicate parameter"));
        }
        let check = parameter.set.ok_or_else(|| failed(parameter.name, "can't set immutable config"))?;
        let value =
            std::str::from_utf8(value).map_err(|_| failed(parameter.name, "argument must be UTF-8"))?;
        let change = check(value).and_then(|change| possible(context.shared, change));
        changes.push((parameter.name, change.map_err(|reason| failed(parameter.name, &reason))?));
    }
    for (name, change) in changes {
        apply(context.shared, change).map_err(|reason| failed(name, &reason))?;
        context.shared.settings.note_change(name);
    }
    context.ok()
}

/// CONFIG REWRITE: what CONFIG SET has changed since the start goes into the configuration file.
pub(crate) fn rewrite(context: &mut Context<'_>) -> Result<(), CommandError> {
    let shared = context.shared;
    let Some(path) = &shared.facts.config_file else {
        return Err(CommandError::fixed("ERR The server is running without a config file"));
    };
    // It waits for the disk.
    if context.client.is_hasty {
        return Err(CommandError::WOULD_BLOCK);
    }
    let changed = PARAMETERS.iter().filter(|parameter| shared.settings.is_changed(parameter.name));
    let values: Vec<(&str, String)> = changed
        .filter_map(|parameter| Some((setting_of(parameter.name)?, (parameter.get)(shared))))
        .collect();
    config::rewrite(path, &values)
        .map_err(|reason| CommandError::new(format!("ERR Rewriting config file: {reason}")))?;
    context.ok()
}

/// The setting that a parameter is when the server starts; some parameters are none.
fn setting_of(parameter: &'static str) -> Option<&'static str> {
    let name = match parameter {
        "maxmemory" => "memory-limit",
        "requirepass" => "password",
        "loglevel" => "log-level",
        name => name,
    };
    config::SETTINGS.iter().find(|setting| setting.name == name).map(|setting| setting.name)
}

/// Refuses what a durable store does not do, because it keeps every key, and a cap that would hold no key.
fn possible(shared: &Shared, change: Change) -> Result<Change, String> {
    if !shared.database.is_durable() {
        let least = shared.database.least_cap();
        return match change {
            Change::MaxMemory(bytes) if bytes < least => Err(format!(
                "a cap of {bytes} bytes would hold no key: this server needs at least {least}, less if it is started with a small --memory-limit"
            )),
            change => Ok(change),
        };
    }
    match change {
        Change::Policy(Policy::NoEviction) => Ok(Change::Nothing),
        Change::Policy(_) => Err("only 'noeviction' is possible: a durable store keeps every key".to_owned()),
        Change::Samples(_) => Err("a durable store chooses no key to be evicted".to_owned()),
        change => Ok(change),
    }
}

fn apply(shared: &Shared, change: Change) -> Result<(), String> {
    match change {
        Change::MaxMemory(bytes) => shared.database.set_cap(bytes).map_err(|error| error.to_string())?,
        Change::Policy(policy) => shared.database.set_policy(policy).map_err(|error| error.to_string())?,
        Change::Samples(samples) => {
            shared.database.set_samples(samples).map_err(|error| error.to_string())?;
            shared.settings.set_samples(samples);
        }
        Change::Password(password) => shared.set_password(password),
        Change::ProtectedMode(on) => shared.settings.set_protected_mode(on),
        Change::MaxClients(count) => shared.settings.set_max_clients(count),
        Change::TimeoutSeconds(seconds) => shared.settings.set_timeout_seconds(seconds),
        Change::LogLevel(level) => crate::log::set_level(level),
        Change::Limit(limit, value) => shared.settings.limits.set(limit, value),
        Change::SlowUs(us) => shared.latency.set_slow_us(us),
        Change::MonitorMs(ms) => shared.latency.set_monitor_ms(ms),
        Change::Output(limit) => {
            shared.settings.limits.set(Limit::Output, limit.hard);
            shared.settings.limits.set_soft_output(limit.soft, limit.seconds);
        }
        Change::Nothing => {}
    }
    Ok(())
}

fn failed(name: &str, reason: &str) -> CommandError {
    CommandError::new(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}"))
}

fn between(text: &str, low: u64, high: u64) -> Result<u64, String> {
    parse_integer(text.as_bytes())
        .and_then(|number| u64::try_from(number).ok())
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| format!("argument must be between {low} and {high} inclusive"))
}

/// An integer that is `low` or more.
fn signed(text: &str, low: i64) -> Result<i64, String> {
    let number = parse_integer(text.as_bytes()).ok_or("argument couldn't be parsed into an integer")?;
    if number < low {
        return Err(format!("argument must be between {low} and {} inclusive", i64::MAX));
    }
    Ok(number)
}

fn only_no(text: &str) -> Result<Change, String> {
    if text == "no" {
        Ok(Change::Nothing)
    } else {
        Err("only 'no' is possible: no histogram is kept".to_owned())
    }
}

fn only(text: &str, value: &str) -> Result<Change, String> {
    if text == value {
        return Ok(Change::Nothing);
    }
    Err(format!(
        "only '{value}' is possible: whether keys are kept is settled by --data when the server starts"
    ))
}

/// The cap as Redis writes it: 0 when there is none.
pub(super) fn show_cap(bytes: u64) -> u64 {
    if bytes == u64::MAX { 0 } else { bytes }
}

fn yes_no(on: bool) -> String {
    if on { "yes" } else { "no" }.to_owned()
}
