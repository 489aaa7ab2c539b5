//! Access: bearer tokens with roles, and whom a request counts for.
//!
//! Only SHA-256 digests of tokens are kept. A token must be random, because a digest does not protect a
//! word that can be guessed. Without tokens everyone may read, and only this machine may write.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ipnet::IpNet;
use sha2::{Digest as _, Sha256};

use crate::limiter::Limiter;
use crate::problem::Problem;

/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;
/// Bytes of a token's name.
const MAX_NAME_BYTES: usize = 64;
/// Tokens of a server.
const MAX_TOKENS: usize = 1_000;
/// Addresses of `X-Forwarded-For` that are looked at.
const MAX_FORWARDED: usize = 32;

/// What a token allows. Each role includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reading documents and searching.
    Read,
    /// Writing documents.
    Write,
    /// Collections and maintenance.
    Admin,
}

impl Role {
    /// Its name in a file of tokens.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// The role with a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Read, Self::Write, Self::Admin].into_iter().find(|role| role.name() == name)
    }

    /// The role that a request needs.
    fn needed(method: &Method, path: &str) -> Self {
        let is_read = method == Method::GET || method == Method::HEAD;
        if is_read
            || (method == Method::POST && path.starts_with("/v1/collections/") && path.ends_with("/search"))
        {
            return Self::Read;
        }
        // By its place, because a collection may have any name, `documents` too.
        let mut segments = path.split('/').skip(1);
        match [(); 4].map(|()| segments.next()) {
            [Some("v1"), Some("collections"), Some(_), Some("documents")] => Self::Write,
            [Some("v1"), Some("keys"), Some(_), None] => Self::Write,
            _ => Self::Admin,
        }
    }
}

/// A token, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    name: String,
    role: Role,
    digest: [u8; DIGEST_BYTES],
}

/// The tokens of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tokens(Vec<Token>);

impl Tokens {
    /// Parses lines of `NAME ROLE DIGEST`; `#` begins a comment.
    ///
    /// # Errors
    /// The message has the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all: Vec<Token> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let fault = |fault: &str| format!("line {}: {fault}", number + 1);
            let [name, role, digest] = words[..] else {
                if words.is_empty() {
                    continue;
                }
                return Err(fault("expected NAME ROLE DIGEST"));
            };
            let role = Role::parse(role)
                .ok_or_else(|| fault(&format!("invalid role {role:?}: expected read, write or admin")))?;
            let digest =
                parse_digest(digest).ok_or_else(|| fault("the digest has not 64 hexadecimal digits"))?;
            if name.len() > MAX_NAME_BYTES || all.iter().any(|token| token.name == name) {
                return Err(fault(&format!(
                    "the name {name:?} is there twice, or longer than {MAX_NAME_BYTES} bytes"
                )));
            }
            if all.len() == MAX_TOKENS {
                return Err(fault(&format!("more than {MAX_TOKENS} tokens")));
            }
            all.push(Token { name: name.to_owned(), role, digest });
        }
        Ok(Self(all))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The token that was sent. Takes the same time whichever it is.
    fn find(&self, sent: &str) -> Option<&Token> {
        let digest: [u8; DIGEST_BYTES] = Sha256::digest(sent.as_bytes()).into();
        let mut found = None;
        for token in &self.0 {
            let difference =
                token.digest.iter().zip(&digest).fold(0, |all, (left, right)| all | (left ^ right));
            if difference == 0 {
                found = Some(token);
            }
        }
        found
    }
}

fn parse_digest(text: &str) -> Option<[u8; DIGEST_BYTES]> {
    let mut digest = [0; DIGEST_BYTES];
    if text.len() != 2 * DIGEST_BYTES || !text.is_ascii() {
        return None;
    }
    for (byte, at) in digest.iter_mut().zip((0..text.len()).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(digest)
}

/// The line of a token for the file of tokens.
#[must_use]
pub fn line_of(name: &str, role: Role, token: &str) -> String {
    let digest = Sha256::digest(token.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {} {hex}", role.name())
}

/// The address that a connection comes from; the server adds it to each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Who may do what, and how often.
pub struct Access {
    /// The tokens.
    pub tokens: Tokens,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub proxies: Vec<IpNet>,
    /// How many requests a token or an address may make; `None` for any number.
    pub limiter: Option<Limiter>,
}

impl Access {
    /// Everyone may read and this machine may write, without a limit.
    #[must_use]
    pub fn open() -> Self {
        Self { tokens: Tokens::default(), proxies: Vec::new(), limiter: None }
    }

    /// Decides about a request. The error is its response.
    fn admit(&self, method: &Method, path: &str, headers: &HeaderMap, peer: IpAddr) -> Result<(), Problem> {
        let authorization = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
        let credentials = Credentials { authorization };
        self.decide(Role::needed(method, path), &credentials, self.client(headers, peer))
    }

    /// Decides about a request that reads and came without proxies' headers.
    pub(crate) fn admit_reading(&self, credentials: &Credentials<'_>, peer: IpAddr) -> Result<(), Problem> {
        if self.tokens.is_empty() && self.limiter.is_none() && credentials.authorization.is_none() {
            return Ok(());
        }
        self.decide(Role::Read, credentials, peer)
    }

    fn decide(&self, needed: Role, credentials: &Credentials<'_>, address: IpAddr) -> Result<(), Problem> {
        let role = match credentials.bearer()? {
            Some(sent) => {
                let Some(token) = self.tokens.find(sent) else {
                    // Guesses count for the address, so that they are limited, too.
                    self.limit(&address)?;
                    return Err(unauthorized("the token is not known"));
                };
                self.limit(&format_args!("token {}", token.name))?;
                token.role
            }
            None if self.tokens.is_empty() => {
                self.limit(&address)?;
                if address.is_loopback() { Role::Admin } else { Role::Read }
            }
            None => {
                self.limit(&address)?;
                return Err(unauthorized("a token is needed: send `Authorization: Bearer TOKEN`"));
            }
        };
        if role >= needed {
            return Ok(());
        }
        let detail = if self.tokens.is_empty() {
            "without tokens only this machine may write".to_owned()
        } else {
            format!("the token may {}, and the request needs {}", role.name(), needed.name())
        };
        Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", detail))
    }

    fn limit(&self, client: &dyn std::fmt::Display) -> Result<(), Problem> {
        self.limiter.as_ref().map_or(Ok(()), |limiter| limiter.check(client.to_string()))
    }

    /// The address a request comes from: that of the connection, or what trusted proxies say.
    fn client(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let is_trusted = |address: &IpAddr| self.proxies.iter().any(|net| net.contains(address));
        if !is_trusted(&peer) {
            return peer;
        }
        let forwarded = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let all: Vec<&str> = forwarded.flat_map(|value| value.split(',')).map(str::trim).collect();
        let mut client = peer;
        for text in all.iter().rev().take(MAX_FORWARDED) {
            let Ok(address) = text.parse() else { break };
            client = address;
            if !is_trusted(&client) {
                break;
            }
        }
        client
    }
}

/// What a request says of its client.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Credentials<'a> {
    /// The header `Authorization`.
    pub(crate) authorization: Option<&'a str>,
}

impl<'a> Credentials<'a> {
    fn bearer(&self) -> Result<Option<&'a str>, Problem> {
        let Some(text) = self.authorization else { return Ok(None) };
        match text.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
            _ => Err(unauthorized("expected `Authorization: Bearer TOKEN`")),
        }
    }
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
}

/// Middleware that admits a request or answers it.
pub(crate) async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    // A server that does not tell the address is treated as the least trusted one.
    let peer = request.extensions().get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
    match access.admit(request.method(), request.uri().path(), request.headers(), peer) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            let is_unauthorized = problem.status() == StatusCode::UNAUTHORIZED;
            let mut response = problem.into_response();
            if is_unauthorized {
                response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(tokens: &str) -> Access {
        Access { tokens: Tokens::parse(tokens).unwrap(), ..Access::open() }
    }

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn status(access: &Access, method: Method, path: &str, all: &[(&'static str, &str)], peer: &str) -> u16 {
        let admitted = access.admit(&method, path, &headers(all), peer.parse().unwrap());
        admitted.map_or_else(|problem| problem.status().as_u16(), |()| 200)
    }

    const DOCUMENTS: &str = "/v1/collections/a/documents";

    #[test]
    fn a_token_allows_what_its_role_says() {
        let lines = [("r", Role::Read), ("w", Role::Write), ("a", Role::Admin)]
            .map(|(name, role)| line_of(name, role, &format!("secret {name}")));
        let access = access(&lines.join("\n# a comment\n\n"));
        let of = |method: Method, path: &str, token: &str| {
            status(
                &access,
                method,
                path,
                &[("authorization", &format!("Bearer secret {token}"))],
                "127.0.0.1",
            )
        };
        for (method, path, allowed) in [
            (Method::GET, DOCUMENTS, [200, 200, 200]),
            (Method::POST, "/v1/collections/a/search", [200, 200, 200]),
            (Method::POST, DOCUMENTS, [403, 200, 200]),
            (Method::DELETE, "/v1/collections/a/documents/x", [403, 200, 200]),
            (Method::PUT, "/v1/keys/x", [403, 200, 200]),
            (Method::DELETE, "/v1/collections/a", [403, 403, 200]),
            (Method::DELETE, "/v1/collections/documents", [403, 403, 200]),
            (Method::PUT, "/v1/collections/search", [403, 403, 200]),
            (Method::POST, "/v1/checkpoint", [403, 403, 200]),
        ] {
            assert_eq!(
                ["r", "w", "a"].map(|token| of(method.clone(), path, token)),
                allowed,
                "{method} {path}"
            );
        }
        assert_eq!(of(Method::GET, DOCUMENTS, "x"), 401);
        assert_eq!(status(&access, Method::GET, DOCUMENTS, &[], "127.0.0.1"), 401);
        assert_eq!(
            status(&access, Method::GET, DOCUMENTS, &[("authorization", "Basic x")], "127.0.0.1"),
            401
        );
    }

    #[test]
    fn without_tokens_only_this_machine_writes() {
        let access = access("");
        for (peer, write) in [("127.0.0.1", 200), ("::1", 200), ("10.0.0.1", 403), ("0.0.0.0", 403)] {
            assert_eq!(status(&access, Method::POST, DOCUMENTS, &[], peer), write, "{peer}");
            assert_eq!(status(&access, Method::GET, DOCUMENTS, &[], peer), 200, "{peer}");
        }
    }

    #[test]
    fn only_listed_proxies_are_believed() {
        let mut access = access("");
        let of = |access: &Access, peer: &str, forwarded: &str| {
            access.client(&headers(&[("x-forwarded-for", forwarded)]), peer.parse().unwrap()).to_string()
        };
        assert_eq!(of(&access, "10.0.0.1", "127.0.0.1"), "10.0.0.1");
        access.proxies = vec!["10.0.0.0/8".parse().unwrap()];
        assert_eq!(of(&access, "10.0.0.1", "1.2.3.4"), "1.2.3.4");
        assert_eq!(
            of(&access, "10.0.0.1", "127.0.0.1, 1.2.3.4, 10.0.0.2"),
            "1.2.3.4",
            "the client may write what it likes"
        );
        assert_eq!(of(&access, "10.0.0.1", "nonsense"), "10.0.0.1");
        // A proxy on this machine does not make its clients local.
        access.proxies = vec!["127.0.0.1/32".parse().unwrap()];
        assert_eq!(
            status(&access, Method::POST, DOCUMENTS, &[("x-forwarded-for", "1.2.3.4")], "127.0.0.1"),
            403
        );
    }

    #[test]
    fn faults_in_a_file_of_tokens_have_their_line() {
        let digest = "0".repeat(64);
        for (text, part) in [
            ("a read", "line 1: expected NAME"),
            (&*format!("\na owner {digest}"), "line 2: invalid role"),
            ("a read 00", "64 hexadecimal"),
            (&*format!("a read {}", "ü".repeat(32)), "64 hexadecimal"),
            (&*format!("a read {digest}\na write {digest}"), "line 2: the name"),
        ] {
            assert!(Tokens::parse(text).unwrap_err().contains(part), "{text}");
        }
    }
}
