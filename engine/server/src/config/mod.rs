//! What was the server asked to do? Flags over environment over file, one name for each setting in all three.

mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbkv::{Compression, Policy, Profile, SyncMode};

use crate::client_limits::{Limit, Values};
use crate::http::Http;
use crate::listener::parse_address;
use crate::log::{Format, Level};
use crate::reactor::Io;
use crate::storage::{self, Storage};
use crate::units::parse_bytes;

/// One setting: `name` is the flag, the key in the file and, in capitals behind `PLUMBKV_`, the variable.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// What its value is called in the help.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
    /// May be given more than once; in the environment separated by commas, in the file as an array.
    pub(crate) repeatable: bool,
}

macro_rules! settings {
    ($($name:literal $value:literal $repeatable:literal $help:literal;)*) => {
        /// Every setting, in the order of the help.
        pub(crate) static SETTINGS: &[Setting] = &[
            $(Setting { name: $name, value: $value, help: $help, repeatable: $repeatable }),*
        ];
    };
}

settings! {
    "listen" "HOST:PORT" true "TCP address to serve RESP on; port 0 takes a free one. May be given several times [default: 127.0.0.1:6379]";
    "unix-socket" "PATH" false "Unix socket to serve RESP on, besides the TCP addresses";
    "data" "DIR" false "Directory to keep keys in: what is acknowledged survives the end of the server. One server at a time has it [default: none, keys are in memory alone]";
    "sync" "always|never|DURATION" false "With --data, when writes are synced to the disk: before the reply, when the system gets round to it, or every 1s, 200ms, 1m [default: 1s]";
    "profile" "PROFILE" false "With --data, what the store is made for: default (256 MiB of memory), low-memory (16 MiB) or throughput (1 GiB) [default: default]";
    "memory-budget" "BYTES" false "With --data, memory for the store's own tables and cache, 1 MiB at least; a value may take a quarter of it [default: as the profile says]";
    "compression" "lz4|none" false "With --data, how blocks of tables are made smaller; those that are there already stay as they are until they are merged [default: lz4]";
    "memory-limit" "BYTES" false "Hard cap on keys, values, tables and clients' buffers: 2097152, 2mib, 64mb, 1gb; 0 for none. With --data on clients' buffers alone, beside --memory-budget [default: 80 % of the cgroup's limit or of memory; with --data less the store's budget]";
    "maxmemory-policy" "POLICY" false "What goes when the cap is reached: allkeys-lru, -lfu, -s3fifo or -random, volatile-lru, -lfu, -random or -ttl, or noeviction; with --data nothing goes [default: allkeys-lru]";
    "maxmemory-samples" "COUNT" false "Keys an eviction chooses among, 1 to 64: more is nearer to true LRU and slower [default: 5]";
    "password" "PASSWORD" false "Password clients must give by AUTH; other users see flags, so prefer PLUMBKV_PASSWORD or the file";
    "protected-mode" "yes|no" false "Without a password, refuse clients from beyond this host [default: yes]";
    "maxclients" "COUNT" false "Connections served at once [default: 10000]";
    "timeout" "SECONDS" false "Close connections that are idle for so long; 0 never does [default: 0]";
    "client-query-buffer-limit" "BYTES" false "Longest request, all its words together [default: 1gb]";
    "proto-max-bulk-len" "BYTES" false "Longest word of a request, and longest value [default: 512mb]";
    "max-arguments" "COUNT" false "Most words of a request [default: 1048576]";
    "client-output-buffer-limit" "BYTES" false "Longest reply; a client that asks for a longer one is closed. 0 for no limit [default: 1gb]";
    "pattern-cost-limit" "COUNT" false "Steps that the patterns of one command may take beyond plain matching [default: 10000000]";
    "auth-timeout" "SECONDS" false "Close connections that have not given the password within so long; 0 never does [default: 60]";
    "io" "auto|epoll|uring" false "How bytes are moved: io_uring needs Linux 6.1 and no seccomp profile that forbids it; auto takes it where it can be had [default: auto]";
    "io-threads" "COUNT|auto" false "Threads that serve connections, 1 to 64 [default: auto, half of the CPUs that this process may use, 8 at most]";
    "busy-poll" "MICROSECONDS" false "How long a thread without work asks for some before it sleeps: less waiting for one connection, at the price of a CPU [default: 0]";
    "http" "HOST:PORT|off" false "HTTP address of /metrics, /healthz and /readyz; port 0 takes a free one [default: 127.0.0.1:8379, or none where that is taken]";
    "log-level" "LEVEL" false "error, warning, info or debug [default: info]";
    "log-format" "text|json" false "Log lines for people, or a JSON object each [default: text]";
}

/// Settings after all three sources are read and checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) unix_socket: Option<PathBuf>,
    /// `None`: keys are in memory alone.
    pub(crate) storage: Option<Storage>,
    /// `None`: choose by cgroup and machine. `u64::MAX`: no cap.
    pub(crate) memory_limit: Option<u64>,
    pub(crate) policy: Policy,
    pub(crate) samples: u32,
    pub(crate) password: Option<String>,
    pub(crate) protected_mode: bool,
    pub(crate) max_clients: u64,
    pub(crate) timeout_seconds: u64,
    pub(crate) limits: Values,
    pub(crate) io: Io,
    /// `None`: choose by the CPUs that there are.
    pub(crate) io_threads: Option<usize>,
    pub(crate) busy_poll: Duration,
    pub(crate) http: Http,
    pub(crate) log_level: Level,
    pub(crate) log_format: Format,
    pub(crate) file: Option<PathBuf>,
}

/// A setting that cannot be used, in one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("{origin}: {reason}")]
    Value { origin: Origin, reason: String },
    #[error("cannot read the configuration file {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{}, line {line}: {reason}", path.display())]
    Malformed { path: PathBuf, line: usize, reason: String },
    #[error("{}: there is no setting `{key}`; did you mean `{nearest}`?", path.display())]
    UnknownKey { path: PathBuf, key: String, nearest: &'static str },
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag(&'static str),
    Environment(&'static str),
    File(PathBuf, &'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(out, "--{name}"),
            Self::Environment(name) => out.write_str(&variable(name)),
            Self::File(path, name) => write!(out, "`{name}` in {}", path.display()),
        }
    }
}

/// The environment variable of a setting.
pub(crate) fn variable(name: &str) -> String {
    format!("PLUMBKV_{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// Values by setting, each with where it came from; later layers do not replace earlier ones.
#[derive(Default)]
struct Layers(BTreeMap<&'static str, (Vec<String>, Origin)>);

/// Reads and checks the three sources. `flags` answers the values of a flag, `environment` that of a variable.
pub(crate) fn load(
    flags: impl Fn(&str) -> Vec<String>,
    environment: impl Fn(&str) -> Option<String>,
    file: Option<&Path>,
) -> Result<Config, ConfigError> {
    let mut layers = Layers::default();
    for setting in SETTINGS {
        layers.add(setting, flags(setting.name), Origin::Flag(setting.name));
    }
    for setting in SETTINGS {
        // An empty variable counts as unset: container tools pass variables on whether or not they have a value.
        let value = environment(&variable(setting.name)).filter(|value| !value.is_empty());
        let values = value.map(|value| match setting.repeatable {
            true => value.split(',').map(|part| part.trim().to_owned()).collect(),
            false => vec![value],
        });
        layers.add(setting, values.unwrap_or_default(), Origin::Environment(setting.name));
    }
    if let Some(path) = file {
        for (name, values) in file::read(path)? {
            if let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) {
                layers.add(setting, values, Origin::File(path.to_owned(), name));
            }
        }
    }
    layers.check(file)
}

impl Layers {
    fn add(&mut self, setting: &'static Setting, values: Vec<String>, origin: Origin) {
        if !values.is_empty() {
            self.0.entry(setting.name).or_insert((values, origin));
        }
    }

    /// The last value of `name` read by `read`, or `default`.
    fn one<T>(
        &self,
        name: &str,
        default: T,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ConfigError> {
        match self.0.get(name) {
            Some((values, origin)) => {
                let value = values.last().map_or("", String::as_str);
                read(value).map_err(|reason| ConfigError::Value { origin: origin.clone(), reason })
            }
            None => Ok(default),
        }
    }

    fn limits(&self) -> Result<Values, ConfigError> {
        let mut values = Values::default();
        for limit in Limit::ALL {
            let value = self.one(limit.name(), values.get(limit), |text| limit.parse(text))?;
            values.set(limit, value);
        }
        Ok(values)
    }

    fn storage(&self) -> Result<Option<Storage>, ConfigError> {
        let directory = self.one("data", None, |value| storage::directory(value).map(Some))?;
        let Some(directory) = directory else {
            let idle =
                ["sync", "profile", "compression", "memory-budget"].iter().find_map(|name| self.0.get(name));
            return match idle {
                None => Ok(None),
                Some((_, origin)) => Err(ConfigError::Value {
                    origin: origin.clone(),
                    reason: "is of use only with --data DIR: without it keys are in memory alone".to_owned(),
                }),
            };
        };
        Ok(Some(Storage {
            directory,
            sync: self.one("sync", SyncMode::default(), storage::sync_mode)?,
            profile: self.one("profile", Profile::default(), storage::profile)?,
            compression: self.one("compression", Compression::default(), storage::compression)?,
            budget: self.one("memory-budget", None, |value| storage::budget(value).map(Some))?,
        }))
    }

    fn check(&self, file: Option<&Path>) -> Result<Config, ConfigError> {
        let listen = match self.0.get("listen") {
            Some((values, origin)) => values
                .iter()
                .map(|value| parse_address(value))
                .collect::<Result<_, _>>()
                .map_err(|reason| ConfigError::Value { origin: origin.clone(), reason })?,
            None => vec![SocketAddr::from(([127, 0, 0, 1], 6379))],
        };
        let text = |value: &str| Ok(Some(value.to_owned()));
        Ok(Config {
            listen,
            unix_socket: self.one("unix-socket", None, |value| Ok(Some(PathBuf::from(value))))?,
            storage: self.storage()?,
            memory_limit: self.one("memory-limit", None, memory_limit)?,
            policy: self.one("maxmemory-policy", Policy::AllkeysLru, |value| {
                value.parse().map_err(|error| format!("{error}"))
            })?,
            samples: self.one("maxmemory-samples", 5, |value| whole(value, 1, 64))? as u32,
            password: self.one("password", None, text)?.filter(|password| !password.is_empty()),
            protected_mode: self.one("protected-mode", true, yes_or_no)?,
            max_clients: self.one("maxclients", 10_000, |value| whole(value, 1, u64::from(u32::MAX)))?,
            timeout_seconds: self.one("timeout", 0, |value| whole(value, 0, i32::MAX as u64))?,
            limits: self.limits()?,
            io: self.one("io", Io::Auto, str::parse)?,
            io_threads: self.one("io-threads", None, io_threads)?,
            busy_poll: self.one("busy-poll", Duration::ZERO, |value| {
                whole(value, 0, 1_000_000).map(Duration::from_micros)
            })?,
            http: self.one("http", Http::Default, http)?,
            log_level: self.one("log-level", Level::Info, str::parse)?,
            log_format: self.one("log-format", Format::Text, str::parse)?,
            file: file.map(Path::to_owned),
        })
    }
}

fn memory_limit(text: &str) -> Result<Option<u64>, String> {
    let bytes = parse_bytes(text)
        .ok_or_else(|| format!("`{text}` is not a size; write bytes or a unit, such as 2mib, 64mb or 1gb"))?;
    Ok(Some(if bytes == 0 { u64::MAX } else { bytes }))
}

fn http(text: &str) -> Result<Http, String> {
    if text == "off" { Ok(Http::Off) } else { parse_address(text).map(Http::At) }
}

fn io_threads(text: &str) -> Result<Option<usize>, String> {
    if text == "auto" {
        return Ok(None);
    }
    whole(text, 1, 64).map(|count| Some(count as usize)).map_err(|reason| format!("{reason}, or auto"))
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(format!("`{text}` is neither yes nor no")),
    }
}

fn whole(text: &str, low: u64, high: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (low..=high).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a whole number between {low} and {high}"))
}

#[cfg(test)]
#[path = "config_test.rs"]
mod tests;
