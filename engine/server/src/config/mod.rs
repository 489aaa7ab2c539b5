//! What was the server asked to do? Flags over environment over file, one name for each setting in all three.

mod file;
mod rewrite;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumbkv::{Compression, Policy, Profile, SyncMode};

use crate::acl::LONGEST_PASSWORD;
use crate::client_limits::{Limit, OutputLimit, Values};
use crate::http::Http;
use crate::latency;
use crate::listener::parse_address;
use crate::log::{Format, Level};
use crate::reactor::Io;
use crate::storage::{self, Storage};
use crate::tls::{self, ClientCertificates};
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
    "listen" "HOST:PORT" true "TCP address to listen on; port 0 picks a free port. May be repeated [default: 127.0.0.1:6379]";
    "tls-listen" "HOST:PORT" true "TCP address to listen on for connections with TLS, in addition to the others; port 0 picks a free port. May be repeated";
    "tls-cert-file" "PATH" false "Certificate of the server in PEM form, with those between it and a root. Read again on SIGHUP, as are the key and the CA file";
    "tls-key-file" "PATH" false "Private key of that certificate in PEM form";
    "tls-ca-cert-file" "PATH" false "Certificates in PEM form of those who sign clients' certificates";
    "tls-auth-clients" "yes|no|optional" false "Whether clients with TLS must have a certificate: optional checks one only where a client sends it. With --tls-ca-cert-file they must unless this says otherwise";
    "unix-socket" "PATH" false "Unix socket to listen on, in addition to the TCP addresses";
    "data" "DIR" false "Directory of a durable store: acknowledged writes survive a crash of the server. Locked while the server runs [default: none, keys are kept in memory only]";
    "sync" "always|never|DURATION" false "With --data, when the log is synced to disk: always (before each reply), never (left to the operating system), or at an interval such as 1s, 200ms or 1m [default: 1s]";
    "profile" "PROFILE" false "With --data, presets for the store: default (256 MiB of memory), low-memory (16 MiB) or throughput (1 GiB) [default: default]";
    "memory-budget" "BYTES" false "With --data, memory for memtables and block cache, at least 1 MiB; a value may be at most a twelfth of it [default: from the profile]";
    "compression" "lz4|none" false "With --data, compression of table blocks; existing tables keep theirs until compaction rewrites them [default: lz4]";
    "memory-limit" "BYTES" false "Hard cap on the memory of keys, values, hash tables and client buffers: 2097152, 2mib, 64mb, 1gb; 0 for no cap. With --data it covers client buffers only; the store has --memory-budget [default: 80 % of the cgroup's limit or of memory, minus the store's budget]";
    "maxmemory-policy" "POLICY" false "Eviction policy at the cap: allkeys-lru, -lfu, -s3fifo or -random, volatile-lru, -lfu, -random or -ttl, or noeviction; with --data nothing is evicted [default: allkeys-lru]";
    "maxmemory-samples" "COUNT" false "Keys sampled per eviction, 1 to 64: more is closer to exact LRU, and slower [default: 5]";
    "password" "PASSWORD" false "Password that clients must send with AUTH. Command lines are visible to other users, so prefer PLUMBKV_PASSWORD or the file";
    "protected-mode" "yes|no" false "Without a password, refuse clients from other hosts [default: yes]";
    "maxclients" "COUNT" false "Maximum number of client connections [default: 10000]";
    "timeout" "SECONDS" false "Close connections idle for this long; 0 for never [default: 0]";
    "client-query-buffer-limit" "BYTES" false "Maximum size of a request, all its arguments together [default: 1gb]";
    "proto-max-bulk-len" "BYTES" false "Maximum size of one argument, and so of a value [default: 512mb]";
    "max-arguments" "COUNT" false "Maximum number of arguments of a request [default: 1048576]";
    "client-output-buffer-limit" "BYTES" false "Maximum size of a reply, and of all unread replies of a client; beyond it the client is disconnected. 0 for no limit. Also in Redis's form: normal HARD SOFT SECONDS [default: 1gb]";
    "pattern-cost-limit" "COUNT" false "Maximum number of backtracking steps for the glob patterns of one command [default: 10000000]";
    "auth-timeout" "SECONDS" false "Close connections that have not authenticated within this time; 0 for never [default: 60]";
    "transaction-max-commands" "COUNT" false "Maximum number of commands queued between MULTI and EXEC [default: 1000000]";
    "max-watched-keys" "COUNT" false "Maximum number of keys that one client watches [default: 100000]";
    "script-cache-limit" "SIZE" false "Maximum size of all cached scripts; the oldest ones leave first [default: 16mb]";
    "script-memory-limit" "SIZE" false "Maximum memory of the Lua interpreter, at most an eighth of maxmemory [default: 16mb]";
    "busy-reply-threshold" "MILLISECONDS" false "Run time of a script after which other clients get BUSY [default: 5000]";
    "acl-max-users" "COUNT" false "Maximum number of users, the default user included [default: 1000]";
    "acl-max-rules" "COUNT" false "Maximum number of passwords, patterns, command rules and selectors of one user [default: 1000]";
    "acllog-max-len" "COUNT" false "Maximum number of entries of ACL LOG; older ones leave [default: 128]";
    "slowlog-log-slower-than" "MICROSECONDS" false "Log requests that take this long or longer, see SLOWLOG; 0 logs all, -1 none [default: 10000]";
    "slowlog-max-len" "COUNT" false "Maximum number of entries of SLOWLOG; older ones leave [default: 128]";
    "tracking-table-max-keys" "COUNT" false "Maximum number of keys that clients track, see CLIENT TRACKING; beyond it clients are told to forget some. 0 for no limit [default: 1000000]";
    "latency-monitor-threshold" "MILLISECONDS" false "Record commands that take this long or longer, see LATENCY; 0 records none [default: 0]";
    "io" "auto|epoll|uring" false "I/O back end: io_uring needs Linux 6.1 and a seccomp profile that allows it; auto uses it where available, otherwise epoll [default: auto]";
    "io-threads" "COUNT|auto" false "I/O threads, 1 to 64 [default: auto, half of the CPUs available to the process, at most 8]";
    "busy-poll" "MICROSECONDS" false "How long an idle I/O thread polls before it sleeps: lower latency for one connection, at the cost of a CPU [default: 0]";
    "http" "HOST:PORT|off" false "HTTP address of /metrics, /healthz and /readyz; port 0 picks a free port [default: 127.0.0.1:8379, or none if that port is taken]";
    "http-tls" "yes|no" false "Serve HTTP with TLS, with the certificate of --tls-cert-file [default: no]";
    "log-level" "LEVEL" false "Least severe level to log: error, warning, info or debug [default: info]";
    "log-format" "text|json" false "Format of log lines: text, or one JSON object per line [default: text]";
}

pub(crate) use rewrite::rewrite;

/// Settings after all three sources are read and checked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) tls_listen: Vec<SocketAddr>,
    /// `None` where no address is for TLS.
    pub(crate) tls: Option<tls::Files>,
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
    /// See [`latency::Latency`].
    pub(crate) slow_us: i64,
    pub(crate) monitor_ms: u64,
    pub(crate) io: Io,
    /// `None`: choose by the CPUs that there are.
    pub(crate) io_threads: Option<usize>,
    pub(crate) busy_poll: Duration,
    pub(crate) http: Http,
    pub(crate) http_tls: bool,
    pub(crate) log_level: Level,
    pub(crate) log_format: Format,
    pub(crate) file: Option<PathBuf>,
}

/// A setting that cannot be used, in one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("invalid value '{value}' for {origin}: {reason}")]
    Value { value: String, origin: Origin, reason: String },
    #[error("{origin}: {reason}")]
    Setting { origin: Origin, reason: String },
    #[error("cannot read the configuration file {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{}, line {line}: {reason}", path.display())]
    Malformed { path: PathBuf, line: usize, reason: String },
    #[error("{}: unknown setting '{key}'; did you mean '{nearest}'?", path.display())]
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
                read(value).map_err(|reason| ConfigError::Value {
                    value: value.to_owned(),
                    origin: origin.clone(),
                    reason,
                })
            }
            None => Ok(default),
        }
    }

    fn limits(&self) -> Result<Values, ConfigError> {
        let mut values = Values::default();
        let output = self.one(Limit::Output.name(), None, |text| OutputLimit::parse(text).map(Some))?;
        if let Some(output) = output {
            values.set_output(output);
        }
        for limit in Limit::ALL.into_iter().filter(|limit| *limit != Limit::Output) {
            let value = self.one(limit.name(), values.get(limit), |text| limit.parse(text))?;
            values.set(limit, value);
        }
        Ok(values)
    }

    fn password(&self) -> Result<Option<String>, ConfigError> {
        let password = self.one("password", None, |text| Ok(Some(text.to_owned())))?;
        match (&password, self.0.get("password")) {
            // The error does not show it.
            (Some(text), Some((_, origin))) if text.len() > LONGEST_PASSWORD => Err(ConfigError::Setting {
                origin: origin.clone(),
                reason: format!("a password has at most {LONGEST_PASSWORD} bytes"),
            }),
            _ => Ok(password.filter(|text| !text.is_empty())),
        }
    }

    fn storage(&self) -> Result<Option<Storage>, ConfigError> {
        let directory = self.one("data", None, |value| storage::directory(value).map(Some))?;
        let Some(directory) = directory else {
            let idle =
                ["sync", "profile", "compression", "memory-budget"].iter().find_map(|name| self.0.get(name));
            return match idle {
                None => Ok(None),
                Some((_, origin)) => Err(ConfigError::Setting {
                    origin: origin.clone(),
                    reason: "needs --data DIR: without it keys are kept in memory only".to_owned(),
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

    /// The addresses of a setting; `None` where it is not given.
    fn addresses(&self, name: &str) -> Result<Option<Vec<SocketAddr>>, ConfigError> {
        let Some((values, origin)) = self.0.get(name) else { return Ok(None) };
        let read = |value: &String| {
            parse_address(value).map_err(|reason| ConfigError::Value {
                value: value.clone(),
                origin: origin.clone(),
                reason,
            })
        };
        values.iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    fn tls(&self, is_wanted: bool) -> Result<Option<tls::Files>, ConfigError> {
        let path = |name| self.one(name, None, |value| Ok(Some(PathBuf::from(value))));
        let refused = |name: &str, reason: &str| {
            let origin = self.0.get(name).map(|(_, origin)| origin.clone());
            Err(ConfigError::Setting {
                origin: origin.unwrap_or(Origin::Flag("tls-listen")),
                reason: reason.to_owned(),
            })
        };
        let (certificate, key) = (path("tls-cert-file")?, path("tls-key-file")?);
        let authorities = path("tls-ca-cert-file")?;
        let clients = self.one("tls-auth-clients", None, |value| value.parse().map(Some))?;
        if !is_wanted {
            let names = ["tls-cert-file", "tls-key-file", "tls-ca-cert-file", "tls-auth-clients"];
            return match names.iter().find(|name| self.0.contains_key(**name)) {
                Some(name) => refused(
                    name,
                    "needs --tls-listen HOST:PORT, or --http-tls yes: no address is for TLS without it",
                ),
                None => Ok(None),
            };
        }
        let (Some(certificate), Some(key)) = (certificate, key) else {
            let name = if self.0.contains_key("tls-listen") { "tls-listen" } else { "http-tls" };
            return refused(name, "needs --tls-cert-file and --tls-key-file");
        };
        let clients = clients.unwrap_or(match authorities {
            Some(_) => ClientCertificates::Required,
            None => ClientCertificates::Ignored,
        });
        if authorities.is_none() && clients != ClientCertificates::Ignored {
            return refused("tls-auth-clients", "needs --tls-ca-cert-file to check clients' certificates");
        }
        Ok(Some(tls::Files { certificate, key, authorities, clients }))
    }

    fn check(&self, file: Option<&Path>) -> Result<Config, ConfigError> {
        let tls_listen = self.addresses("tls-listen")?.unwrap_or_default();
        let http_tls = self.one("http-tls", false, yes_or_no)?;
        Ok(Config {
            listen: self
                .addresses("listen")?
                .unwrap_or_else(|| vec![SocketAddr::from(([127, 0, 0, 1], 6379))]),
            tls: self.tls(!tls_listen.is_empty() || http_tls)?,
            tls_listen,
            unix_socket: self.one("unix-socket", None, |value| Ok(Some(PathBuf::from(value))))?,
            storage: self.storage()?,
            memory_limit: self.one("memory-limit", None, memory_limit)?,
            policy: self.one("maxmemory-policy", Policy::AllkeysLru, |value| {
                let known = || Policy::ALL.map(Policy::name).join(", ");
                value.parse().map_err(|_| format!("expected one of {}", known()))
            })?,
            samples: self.one("maxmemory-samples", 5, |value| whole(value, 1, 64))? as u32,
            password: self.password()?,
            protected_mode: self.one("protected-mode", true, yes_or_no)?,
            max_clients: self.one("maxclients", 10_000, |value| whole(value, 1, u64::from(u32::MAX)))?,
            timeout_seconds: self.one("timeout", 0, |value| whole(value, 0, i32::MAX as u64))?,
            limits: self.limits()?,
            slow_us: self.one("slowlog-log-slower-than", latency::SLOW_US, slow_us)?,
            monitor_ms: self.one("latency-monitor-threshold", 0, |value| whole(value, 0, i64::MAX as u64))?,
            io: self.one("io", Io::Auto, str::parse)?,
            io_threads: self.one("io-threads", None, io_threads)?,
            busy_poll: self.one("busy-poll", Duration::ZERO, |value| {
                whole(value, 0, 1_000_000).map(Duration::from_micros)
            })?,
            http: self.one("http", Http::Default, http)?,
            http_tls,
            log_level: self.one("log-level", Level::Info, str::parse)?,
            log_format: self.one("log-format", Format::Text, str::parse)?,
            file: file.map(Path::to_owned),
        })
    }
}

fn memory_limit(text: &str) -> Result<Option<u64>, String> {
    let bytes = parse_bytes(text).ok_or("expected a number of bytes or a size such as 2mib, 64mb or 1gb")?;
    Ok(Some(if bytes == 0 { u64::MAX } else { bytes }))
}

fn slow_us(text: &str) -> Result<i64, String> {
    let number = text.parse().ok().filter(|number| *number >= -1);
    number.ok_or_else(|| format!("expected a whole number from -1 to {}", i64::MAX))
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
        _ => Err("expected yes or no".to_owned()),
    }
}

fn whole(text: &str, low: u64, high: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (low..=high).contains(number));
    number.ok_or_else(|| format!("expected a whole number from {low} to {high}"))
}

#[cfg(test)]
#[path = "config_test.rs"]
mod tests;
