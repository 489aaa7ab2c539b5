//! How do bytes get to a target and back? TCP, a Unix socket or TLS behind one face.
//!
//! Blocking for conversations, non-blocking under load. Only TLS keeps bytes of its own: what it holds back for
//! sending is told by [`Stream::holds_back`], and a short read of it does not mean that nothing more is there.

use super::address::{Address, Endpoint, TlsEndpoint};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The certificates that Debian and its kin believe.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Opens connections to one endpoint; certificates are read once.
#[derive(Debug)]
pub struct Connector {
    endpoint: Endpoint,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Connector {
    /// For the endpoint of an address.
    ///
    /// # Errors
    /// The certificates to believe cannot be read, or the server's name is none.
    pub fn new(address: &Address) -> io::Result<Self> {
        let tls = match &address.endpoint {
            Endpoint::Tls(tls) => Some(configure(tls)?),
            Endpoint::Tcp(_) | Endpoint::Unix(_) => None,
        };
        Ok(Self { endpoint: address.endpoint.clone(), tls })
    }

    /// A blocking connection whose reads and writes wait at most `timeout`.
    ///
    /// # Errors
    /// No connection within `timeout`, or no handshake.
    pub fn connect(&self, timeout: Duration) -> io::Result<Stream> {
        let tcp = |socket| {
            let stream = TcpStream::connect_timeout(&socket, timeout)?;
            stream.set_nodelay(true)?;
            Ok::<_, io::Error>(stream)
        };
        let mut stream = match &self.endpoint {
            Endpoint::Tcp(socket) => Stream::Tcp(tcp(*socket)?),
            Endpoint::Unix(path) => Stream::Unix(UnixStream::connect(path)?),
            Endpoint::Tls(tls) => {
                let Some((config, name)) = &self.tls else {
                    return Err(io::Error::other("no certificates were read for this endpoint"));
                };
                let session =
                    ClientConnection::new(config.clone(), name.clone()).map_err(io::Error::other)?;
                Stream::Tls(Box::new(TlsStream { session, socket: tcp(tls.socket)? }))
            }
        };
        stream.set_timeout(timeout)?;
        if let Stream::Tls(tls) = &mut stream {
            while tls.session.is_handshaking() {
                tls.session.complete_io(&mut tls.socket)?;
            }
        }
        Ok(stream)
    }
}

fn configure(tls: &TlsEndpoint) -> io::Result<(Arc<ClientConfig>, ServerName<'static>)> {
    let path = tls.roots.as_deref().unwrap_or(Path::new(SYSTEM_ROOTS));
    let unreadable = |error| io::Error::other(format!("certificates in {}: {error}", path.display()));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
        // A bundle may hold certificates of a kind that nobody here can judge; one good root is enough.
        let _ = roots.add(certificate.map_err(unreadable)?);
    }
    if roots.is_empty() {
        return Err(io::Error::other(format!("{} holds no usable certificate", path.display())));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(tls.server_name.clone())
        .map_err(|_| io::Error::other(format!("'{}' is no name of a TLS server", tls.server_name)))?;
    Ok((Arc::new(config), name))
}

/// A connection to a target.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TLS over TCP.
    Tls(Box<TlsStream>),
}

impl Stream {
    fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Tls(tls) => Some(&tls.socket),
            Self::Unix(_) => None,
        }
    }

    /// Reads and writes wait at most this long from now on.
    ///
    /// # Errors
    /// The system refuses, as it does for a wait of nothing.
    pub fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        if let Some(stream) = self.tcp() {
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
        }
        if let Self::Unix(stream) = self {
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
        }
        Ok(())
    }

    /// Whether reads and writes return at once instead of waiting.
    ///
    /// # Errors
    /// The system refuses.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(nonblocking),
            Self::Tcp(stream) => stream.set_nonblocking(nonblocking),
            Self::Tls(tls) => tls.socket.set_nonblocking(nonblocking),
        }
    }

    /// Whether a read that did not fill its buffer has taken all there was.
    #[must_use]
    pub fn short_read_is_all(&self) -> bool {
        !matches!(self, Self::Tls(_))
    }

    /// Whether bytes that were written wait here for the socket to take them; [`Write::flush`] tries again.
    #[must_use]
    pub fn holds_back(&self) -> bool {
        matches!(self, Self::Tls(tls) if tls.session.wants_write())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
            Self::Tls(tls) => tls.socket.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(out),
            Self::Unix(stream) => stream.read(out),
            Self::Tls(tls) => tls.read(out),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
            Self::Tls(tls) => tls.push(),
        }
    }
}

/// A TLS session and its socket.
#[derive(Debug)]
pub struct TlsStream {
    session: ClientConnection,
    socket: TcpStream,
}

impl TlsStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(out) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if self.session.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            self.session.process_new_packets().map_err(io::Error::other)?;
            // A key update wants an answer of ours.
            self.push_what_goes()?;
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.session.writer().write(bytes)?;
        self.push_what_goes()?;
        if count == 0 && !bytes.is_empty() { Err(ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn push(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            self.session.write_tls(&mut self.socket)?;
        }
        Ok(())
    }

    fn push_what_goes(&mut self) -> io::Result<()> {
        match self.push() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            other => other,
        }
    }
}
