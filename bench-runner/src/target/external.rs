//! How is a server measured that somebody else runs, without harming it?
//!
//! The runner writes only under a random prefix of its own and deletes exactly what it wrote, by name. It refuses
//! a server beyond loopback (a load test of a server that is not yours is an attack), a database that already
//! holds something, and a store that would evict its owner's keys to make room for ours, unless it is told that
//! the owner agrees. What may be sent at all is listed in `load/permit.rs`. Of an HTTP server one page is
//! read, by GET, and nothing else: see [`Page`].

use super::external_memcached::{delete_own, look};
use crate::load::client::{Address, Answered, Client, ClientError, Endpoint, TlsEndpoint, info_field};
use crate::load::http::Page;
use crate::load::stream::Connector;
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

/// What every prefix of ours begins with.
const FAMILY: &str = "plumb:";
const TIMEOUT: Duration = Duration::from_secs(10);
/// The password, where it should not stand on a command line.
pub const PASSWORD_VARIABLE: &str = "BENCH_RUNNER_TARGET_PASSWORD";

/// A server that was already running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// Where it is, with our prefix.
    pub address: Address,
    /// Its address for people: without the password.
    pub shown: String,
    /// Our keys there are `0..keys_max`.
    pub keys_max: u64,
    /// The page that is read of an HTTP server. Absent: it speaks another protocol.
    pub page: Option<Page>,
    /// It speaks memcached's protocol. Neither this nor a page: the Redis protocol.
    pub is_memcached: bool,
}

/// What the owner of the server allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Consent {
    /// It may be on another machine.
    pub remote: bool,
    /// The database may hold keys already.
    pub non_empty: bool,
}

/// A prefix that nobody else has: `plumb:` and sixteen random hexadecimal digits.
#[must_use]
pub fn draw_prefix() -> String {
    format!("{FAMILY}{:016x}:", fastrand::u64(..))
}

/// Whether a text is a prefix as [`draw_prefix`] makes them.
#[must_use]
pub fn is_prefix(text: &str) -> bool {
    let digits = text.strip_prefix(FAMILY).and_then(|rest| rest.strip_suffix(':'));
    digits.is_some_and(|digits| {
        digits.len() == 16
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

/// Whether an address is that of an HTTP server.
#[must_use]
pub fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// Whether a word names a running server and not a target of the catalogue, whose keys have no colon.
#[must_use]
pub fn is_address(word: &str) -> bool {
    word.contains(':')
}

/// Reads `redis://[user:password@]host[:port][/database]`, `rediss://…` (TLS), `unix:///path`,
/// `memcached://host[:port]`, `http://host[:port][/path]` or `https://…`; `host:port` is `redis://host:port`.
///
/// # Errors
/// It is no such address, or its host has none; says what an address looks like.
pub fn parse(url: &str) -> Result<External, String> {
    const SHAPES: &str = "write redis://[user:password@]host:port[/database], rediss://… for TLS, unix:///path, \
                          memcached://host:port, or http://host:port/path";
    if is_http(url) {
        return parse_http(url);
    }
    let with_scheme;
    let url: &str = if is_address(url) && !url.contains("://") {
        // Without a scheme, nothing tells that there is a password to be hidden.
        if url.contains('@') {
            return Err(format!("a name and a password need a scheme: {SHAPES}"));
        }
        with_scheme = format!("redis://{url}");
        &with_scheme
    } else {
        url
    };
    let (scheme, rest) =
        url.split_once("://").ok_or_else(|| format!("'{}' is no address: {SHAPES}", redacted(url)))?;
    if scheme == "memcached" {
        if rest.is_empty() || rest.contains(['@', '/']) {
            return Err(format!("memcached is named by host and port alone: {SHAPES}"));
        }
        let with_port = if has_port(rest) { rest.to_owned() } else { format!("{rest}:11211") };
        let address = Address::of(endpoint(&with_port, false, url)?);
        return Ok(External { address, shown: url.to_owned(), keys_max: 0, page: None, is_memcached: true });
    }
    let password = std::env::var(PASSWORD_VARIABLE).ok().filter(|it| !it.is_empty());
    if scheme == "unix" {
        let path = PathBuf::from(rest);
        if !path.is_absolute() {
            return Err(format!("the path of a unix socket begins with /: {SHAPES}"));
        }
        let address = Address::of(Endpoint::Unix(path)).with_password(password);
        return Ok(External { address, shown: url.to_owned(), keys_max: 0, page: None, is_memcached: false });
    }
    let tls = match scheme {
        "redis" => false,
        "rediss" => true,
        other => return Err(format!("the scheme '{other}' is not known: {SHAPES}")),
    };
    let (credentials, place) = match rest.rsplit_once('@') {
        Some((credentials, place)) => (Some(credentials), place),
        None => (None, rest),
    };
    let (host, database) = match place.split_once('/') {
        Some((host, "")) => (host, None),
        Some((host, number)) => {
            let number = number.parse().map_err(|_| format!("'{number}' is no database number: {SHAPES}"))?;
            (host, Some(number))
        }
        None => (place, None),
    };
    let bracketed_without_port = host.ends_with(']');
    let with_port =
        if host.contains(':') && !bracketed_without_port { host.to_owned() } else { format!("{host}:6379") };
    let endpoint = endpoint(&with_port, tls, url)?;
    let (user, given) = match credentials.map(|it| it.split_once(':').unwrap_or(("", it))) {
        Some((user, password)) => (user, Some(password.to_owned()).filter(|it| !it.is_empty())),
        None => ("", None),
    };
    let address = Address {
        user: Some(user.to_owned()).filter(|it| !it.is_empty()),
        database,
        ..Address::of(endpoint).with_password(given.or(password))
    };
    Ok(External { address, shown: redacted(url), keys_max: 0, page: None, is_memcached: false })
}

/// Reads `http://host[:port][/path][?query]` and `https://…`.
fn parse_http(url: &str) -> Result<External, String> {
    const SHAPE: &str = "write http://host:port/path, or https://… for TLS";
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let rest = rest.split('#').next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    if host.contains('@') {
        return Err(format!("a name and a password are not sent to an HTTP server: {SHAPE}"));
    }
    if host.is_empty() {
        return Err(format!("'{url}' names no host: {SHAPE}"));
    }
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("'{url}' holds what a path may not: write it as %20 and the like"));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let tls = scheme == "https";
    let with_port =
        if has_port(host) { host.to_owned() } else { format!("{host}:{}", if tls { 443 } else { 80 }) };
    let address = Address::of(endpoint(&with_port, tls, url)?);
    let page = Some(Page::new(host, &path));
    Ok(External { address, shown: url.to_owned(), keys_max: 0, page, is_memcached: false })
}

/// Whether a host is followed by a port; colons in brackets are its own.
fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'))
}

/// Looks up `host:port`; `url` is only named in errors.
fn endpoint(with_port: &str, tls: bool, url: &str) -> Result<Endpoint, String> {
    let told = |error: std::io::Error| format!("the host of '{}' has no address: {error}", redacted(url));
    let socket = with_port.to_socket_addrs().map_err(told)?.next();
    let socket = socket.ok_or_else(|| format!("the host of '{}' has no address", redacted(url)))?;
    let name = with_port.rsplit_once(':').map(|(name, _)| name).unwrap_or_default();
    let server_name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(if tls {
        Endpoint::Tls(TlsEndpoint { socket, server_name, roots: None })
    } else {
        Endpoint::Tcp(socket)
    })
}

/// An address without its password.
#[must_use]
pub fn redacted(url: &str) -> String {
    let (Some((scheme, rest)), true) = (url.split_once("://"), url.contains('@') && !is_http(url)) else {
        return url.to_owned();
    };
    match rest.rsplit_once('@') {
        Some((credentials, place)) => {
            let user = credentials.split_once(':').map_or("", |(user, _)| user);
            format!("{scheme}://{user}:…@{place}")
        }
        None => url.to_owned(),
    }
}

/// Why nothing is sent to a server on another machine whose owner has not agreed.
#[must_use]
pub fn remote(shown: impl std::fmt::Display) -> String {
    format!(
        "{shown} is not on this machine. A load test of a server that is not yours is an attack; if it is yours, or its \
         owner agrees, add --allow-remote"
    )
}

impl External {
    /// The same, with the prefix under which we write there.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.address.key_prefix = prefix.as_bytes().to_vec();
        self
    }

    fn is_loopback(&self) -> bool {
        self.address.endpoint.socket().is_none_or(|socket| socket.ip().is_loopback())
    }

    /// Looks whether it may be measured; nothing is written.
    ///
    /// # Errors
    /// It is beyond loopback or holds keys and its owner has not agreed, its memory cap has no room for
    /// `planned_bytes`, or it does not answer. Each says what to do.
    pub fn admit(&self, consent: Consent, planned_bytes: u64) -> Result<(), String> {
        let shown = &self.shown;
        if !self.is_loopback() && !consent.remote {
            return Err(remote(shown));
        }
        if let Some(page) = &self.page {
            return page
                .look(&self.address, TIMEOUT)
                .map(drop)
                .map_err(|reason| format!("{shown}: {reason}{}", self.tls_hint(&reason)));
        }
        if self.is_memcached {
            let told = look(&self.address, TIMEOUT).map_err(|error| format!("{shown}: {error}"))?;
            self.may_hold((told.items > 0).then(|| format!("holds {} items", told.items)), consent)?;
            return room(told.cap, told.used, planned_bytes).map_err(|reason| format!("{shown}: {reason}"));
        }
        let told = |error: ClientError| format!("{shown}: {error}");
        let connected = Client::connect(&self.address, TIMEOUT);
        let mut client =
            connected.map_err(|error| format!("{shown}: {error}{}", self.tls_hint(&error.to_string())))?;
        let holds = match client.call(&[b"DBSIZE"]).map_err(told)? {
            Answered::Integer(0) => None,
            Answered::Integer(held) => Some(format!("holds {held} keys")),
            other => Some(format!(
                "does not say how many keys it holds (DBSIZE was answered by {})",
                other.describe()
            )),
        };
        self.may_hold(holds, consent)?;
        // One that does not know the command says nothing of a cap.
        let Answered::Bulk(info) = client.call(&[b"INFO"]).map_err(told)? else { return Ok(()) };
        let info = String::from_utf8_lossy(&info);
        let number = |field| info_field(&info, field).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        room(number("maxmemory"), number("used_memory"), planned_bytes)
            .map_err(|reason| format!("{shown}: {reason}"))
    }

    /// An error where it holds something, as `holds` says, and its owner has not agreed.
    fn may_hold(&self, holds: Option<String>, consent: Consent) -> Result<(), String> {
        let Some(holds) = holds.filter(|_| !consent.non_empty) else { return Ok(()) };
        if self.address.key_prefix.is_empty() {
            return Err(format!(
                "{} {holds}, and nothing was written. Keys that begin with key: would be read, overwritten or deleted: if that may be, \
                 add --allow-non-empty",
                self.shown
            ));
        }
        Err(format!(
            "{} {holds}, and nothing was written. The runner writes only keys of its own under a \
             random prefix and deletes them afterwards, but the load competes with the server's other clients: if \
             that may be, add --allow-non-empty",
            self.shown
        ))
    }

    /// What to do about a connection that failed because of TLS, as `said`: only one side speaks it, or the certificate is unknown.
    fn tls_hint(&self, said: &str) -> &'static str {
        // Of an HTTP server most failures have another cause; it is not sent anything else for those.
        let signs = ["status 400", "no HTTP", "closed the connection"];
        let no_tls = ["corrupt message", "unexpected end of file", "reset by peer"];
        let may_be_tls = self.page.is_none() || signs.iter().any(|sign| said.contains(sign));
        match &self.address.endpoint {
            Endpoint::Tls(_) if no_tls.iter().any(|sign| said.contains(sign)) => {
                "; it does not seem to speak TLS: write redis:// or http://"
            }
            Endpoint::Tls(_) if said.contains("UnknownIssuer") => {
                "; give the certificate that signed it, or its own, with --tls-roots FILE"
            }
            Endpoint::Tcp(socket) if may_be_tls && speaks_tls(*socket) => {
                "; it speaks TLS: write rediss:// or https://"
            }
            _ => "",
        }
    }

    /// The same, believing the certificates of a PEM file, where it is spoken to over TLS.
    #[must_use]
    pub fn believing(mut self, roots: Option<PathBuf>) -> Self {
        if let Endpoint::Tls(tls) = &mut self.address.endpoint {
            tls.roots = roots;
        }
        self
    }

    /// Deletes every key that we may have written there. Returns how many were there.
    ///
    /// # Errors
    /// It cannot be reached; names the prefix under which keys were left.
    pub fn clean(&self) -> Result<u64, String> {
        if self.page.is_some() {
            // Only read.
            return Ok(0);
        }
        let prefix = String::from_utf8_lossy(&self.address.key_prefix).into_owned();
        if !is_prefix(&prefix) {
            return Err(format!("'{prefix}' is no prefix of the runner"));
        }
        if self.is_memcached {
            return delete_own(&self.address, self.keys_max, TIMEOUT).map_err(|error| {
                format!("keys that begin with {prefix} may be left on {}: {error}", self.shown)
            });
        }
        Client::connect(&self.address, TIMEOUT).and_then(|mut client| client.delete_own(self.keys_max)).map_err(
            |error| {
                format!(
                    "keys that begin with {prefix} may be left on {}: {error}; remove them with `bench-runner clean \
                     --target {} --prefix {prefix}`",
                    self.shown, self.shown
                )
            },
        )
    }

    /// Prefixes of the runner's under which there are keys, and how many.
    ///
    /// # Errors
    /// It cannot be reached, or does not answer SCAN.
    pub fn left_behind(&self) -> Result<BTreeMap<String, u64>, String> {
        let mut found = BTreeMap::new();
        self.scan(format!("{FAMILY}*").as_bytes(), |key| {
            let text = String::from_utf8_lossy(key);
            if let Some(prefix) = text.get(..FAMILY.len() + 17).filter(|prefix| is_prefix(prefix)) {
                *found.entry(prefix.to_owned()).or_insert(0) += 1;
            }
            Vec::new()
        })?;
        Ok(found)
    }

    /// Deletes what an earlier run left under its prefix, found by SCAN.
    ///
    /// # Errors
    /// As [`External::left_behind`].
    pub fn remove_left_behind(&self) -> Result<u64, String> {
        let prefix = self.address.key_prefix.clone();
        let pattern = [prefix.as_slice(), b"key:*"].concat();
        self.scan(&pattern, |key| if key.starts_with(&prefix) { key.to_vec() } else { Vec::new() })
    }

    /// Every key that matches, once or more; deletes those that `each` returns.
    fn scan(&self, pattern: &[u8], mut each: impl FnMut(&[u8]) -> Vec<u8>) -> Result<u64, String> {
        if self.is_memcached {
            return Err(format!(
                "{} cannot list its keys, as no memcached can: what an interrupted run left there is deleted by \
                 `bench-runner run --resume`",
                self.shown
            ));
        }
        let told = |error: ClientError| format!("{}: {error}", self.shown);
        let mut client = Client::connect(&self.address, TIMEOUT).map_err(told)?;
        let (mut cursor, mut deleted) = (b"0".to_vec(), 0);
        loop {
            let (next, keys) = client.scan(&cursor, pattern).map_err(told)?;
            let doomed: Vec<Vec<u8>> =
                keys.iter().map(|key| each(key)).filter(|key| !key.is_empty()).collect();
            if !doomed.is_empty() {
                let mut request: Vec<&[u8]> = vec![b"DEL"];
                request.extend(doomed.iter().map(Vec::as_slice));
                deleted += u64::try_from(client.expect_integer(&request).map_err(told)?).unwrap_or(0);
            }
            if next == b"0" {
                return Ok(deleted);
            }
            cursor = next;
        }
    }
}

/// Whether a server answers a TLS handshake, with whatever certificate.
fn speaks_tls(socket: SocketAddr) -> bool {
    let endpoint = TlsEndpoint { socket, server_name: socket.ip().to_string(), roots: None };
    // Without the system's certificates nothing can be said.
    let Ok(connector) = Connector::new(&Address::of(Endpoint::Tls(endpoint))) else { return false };
    let connected = connector.connect(Duration::from_secs(1));
    connected.map_or_else(|error| error.to_string().contains("certificate"), |_| true)
}

/// Whether a store has room for ours without throwing away its owner's keys.
fn room(cap: u64, used: u64, planned_bytes: u64) -> Result<(), String> {
    if cap == 0 || used.saturating_add(planned_bytes) <= cap {
        return Ok(());
    }
    Err(format!(
        "its memory cap is {cap} bytes, of which {used} are used, and the plan writes up to {planned_bytes}: it would \
         evict its own keys or refuse ours. Raise the cap, or write less: a smaller --profile of run, fewer --keys of load"
    ))
}

#[cfg(test)]
#[path = "external_test.rs"]
mod tests;
