//! Where does a target listen, and what does it want to hear first?

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What carries the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix domain socket.
    Unix(PathBuf),
    /// TLS over TCP.
    Tls(TlsEndpoint),
}

/// A server that is spoken to over TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsEndpoint {
    /// Its TCP socket.
    pub socket: SocketAddr,
    /// The name its certificate must be for.
    pub server_name: String,
    /// PEM file of the certificates that are believed; None: what the system believes.
    pub roots: Option<PathBuf>,
}

impl Endpoint {
    /// Its TCP socket, if it has one.
    #[must_use]
    pub fn socket(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket) => Some(*socket),
            Self::Tls(tls) => Some(tls.socket),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(socket) => write!(f, "{socket}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tls(tls) => write!(f, "{} over TLS", tls.socket),
        }
    }
}

/// Where a target listens, and what it wants to hear first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Its socket.
    pub endpoint: Endpoint,
    /// The user to authenticate as, where that is not the default one.
    pub user: Option<String>,
    /// Its password, if it was given one.
    pub password: Option<String>,
    /// The numbered database to select, where that is not the first.
    pub database: Option<u32>,
    /// What every key of ours begins with there. Not empty: the server is somebody else's, and nothing but keys
    /// that begin with it is written or deleted.
    pub key_prefix: Vec<u8>,
}

impl Address {
    /// A TCP socket, without password.
    #[must_use]
    pub fn tcp(socket: SocketAddr) -> Self {
        Self::of(Endpoint::Tcp(socket))
    }

    /// An endpoint, without password.
    #[must_use]
    pub fn of(endpoint: Endpoint) -> Self {
        Self { endpoint, user: None, password: None, database: None, key_prefix: Vec::new() }
    }

    /// The same, with a password if there is one.
    #[must_use]
    pub fn with_password(self, password: Option<String>) -> Self {
        Self { password, ..self }
    }
}
