//! Where does the server listen? Parsing addresses, binding TCP and Unix sockets, and cleaning up after them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};

/// Connections the kernel may hold until they are accepted; it takes `net.core.somaxconn` if that is less.
const BACKLOG: i32 = 1024;

/// After this long without traffic the kernel asks whether the peer is still there, as Redis's `tcp-keepalive` does.
const KEEPALIVE: Duration = Duration::from_secs(300);

/// How long a port in use is tried again, and the time between two attempts. The kernel frees the memory of a killed
/// process before it closes its sockets.
const IN_USE_PATIENCE: Duration = Duration::from_secs(2);
const IN_USE_PAUSE: Duration = Duration::from_millis(10);

/// A socket that accepts connections.
pub(crate) struct Listener {
    pub(crate) socket: OwnedFd,
    /// As the ready line names it: `tcp 127.0.0.1:6379` or `unix /run/plumbkv.sock`.
    pub(crate) address: String,
    /// Connections speak TLS.
    pub(crate) is_encrypted: bool,
    place: Place,
}

enum Place {
    Tcp(SocketAddr),
    Unix(SocketFile),
}

/// The file of a Unix socket, removed when the server ends, unless another server has put its own there.
struct SocketFile {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

/// Why a socket could not be had, in one line that says what to do next.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {reason}; {advice}")]
pub(crate) struct ListenError {
    address: String,
    reason: String,
    advice: &'static str,
    is_in_use: bool,
}

/// Reads `127.0.0.1:6379`, `[::1]:6379`, `localhost:6379`, `*:6379` or `:6379`. Only numbers and `localhost` are names
/// here: a resolver would need the C library's plug-ins, which a static binary does not have.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let bad = || "expected HOST:PORT with a numeric host, such as 127.0.0.1:6379".to_owned();
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
    let port: u16 = port.parse().map_err(|_| bad())?;
    let ip = match host {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        "*" | "" => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        _ => return Err(bad()),
    };
    Ok(SocketAddr::new(ip, port))
}

impl Listener {
    /// Listens on a TCP address; port 0 takes a free one.
    pub(crate) fn tcp(address: SocketAddr) -> Result<Self, ListenError> {
        let listen = || -> io::Result<(Socket, SocketAddr)> {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
            socket.set_reuse_address(true)?;
            if address.is_ipv6() {
                // So that 0.0.0.0 and [::] can both be given.
                socket.set_only_v6(true)?;
            }
            // Linux hands these two on to the accepted sockets, which saves two system calls a connection.
            socket.set_tcp_nodelay(true)?;
            socket
                .set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3))?;
            if address.ip().is_loopback() {
                // No network lies in between. What paces replies for the sake of one, as BBR does, holds some of them back for milliseconds.
                let _ = socket.set_tcp_congestion(b"reno");
            }
            socket.set_nonblocking(true)?;
            socket.bind(&SockAddr::from(address))?;
            socket.listen(BACKLOG)?;
            let taken = socket.local_addr()?.as_socket().unwrap_or(address);
            Ok((socket, taken))
        };
        let (socket, taken) = listen().map_err(|error| ListenError::new(address.to_string(), &error))?;
        Ok(Self {
            socket: socket.into(),
            address: format!("tcp {taken}"),
            is_encrypted: false,
            place: Place::Tcp(taken),
        })
    }

    /// As [`tcp`](Self::tcp); a port in use is tried again for a while, because a server that was killed may still be ending.
    pub(crate) fn tcp_in_time(address: SocketAddr) -> Result<Self, ListenError> {
        let end = Instant::now() + IN_USE_PATIENCE;
        loop {
            match Self::tcp(address) {
                Err(error) if error.is_in_use && Instant::now() < end => std::thread::sleep(IN_USE_PAUSE),
                outcome => return outcome,
            }
        }
    }

    /// The same for connections with TLS.
    pub(crate) fn encrypted(mut self) -> Self {
        self.is_encrypted = true;
        self.address = self.address.replacen("tcp ", "tls ", 1);
        self
    }

    /// Listens on a Unix socket. A socket file that no server answers behind is left over from a crash and is replaced.
    pub(crate) fn unix(path: &Path) -> Result<Self, ListenError> {
        let listen = || -> io::Result<(UnixListener, (u64, u64))> {
            remove_stale(path)?;
            let listener = UnixListener::bind(path)?;
            listener.set_nonblocking(true)?;
            let file = std::fs::symlink_metadata(path)?;
            Ok((listener, (file.dev(), file.ino())))
        };
        let shown = path.display().to_string();
        let (listener, device_and_inode) =
            listen().map_err(|error| ListenError::new(shown.clone(), &error))?;
        Ok(Self {
            socket: listener.into(),
            address: format!("unix {shown}"),
            is_encrypted: false,
            place: Place::Unix(SocketFile { path: path.to_owned(), device_and_inode }),
        })
    }

    /// The TCP address that was taken.
    pub(crate) fn tcp_address(&self) -> Option<SocketAddr> {
        match self.place {
            Place::Tcp(address) => Some(address),
            Place::Unix(_) => None,
        }
    }

    /// Both ends of an accepted connection, as CLIENT LIST names them.
    pub(crate) fn names(&self, socket: &OwnedFd, peer: Option<SocketAddr>) -> (String, String) {
        match &self.place {
            Place::Tcp(address) => {
                let local = if address.ip().is_unspecified() {
                    let local = socket2::SockRef::from(&socket.as_fd()).local_addr().ok();
                    local.and_then(|local| local.as_socket()).unwrap_or(*address)
                } else {
                    *address
                };
                (peer.map_or_else(|| "?:0".to_owned(), |peer| peer.to_string()), local.to_string())
            }
            Place::Unix(file) => {
                let name = format!("{}:0", file.path.display());
                (name.clone(), name)
            }
        }
    }
}

/// Removes a socket file nobody listens behind; leaves anything else alone.
fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(file) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !file.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the path exists and is not a socket"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = std::fs::symlink_metadata(&self.path)
            .is_ok_and(|file| (file.dev(), file.ino()) == self.device_and_inode);
        if ours {
            // The server is ending; a file that cannot be removed is recognised as stale by the next one.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl ListenError {
    fn new(address: String, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "choose another with --listen or --unix-socket, or stop the other server"
            }
            io::ErrorKind::AddrNotAvailable => {
                "this machine has no such address; `ip addr` lists those it has"
            }
            io::ErrorKind::PermissionDenied => "choose a port above 1023 or a directory this user may write",
            io::ErrorKind::NotFound => "create the directory first",
            io::ErrorKind::AlreadyExists => "remove it or choose another path with --unix-socket",
            io::ErrorKind::InvalidInput => "a Unix socket's path may have 107 bytes",
            _ => "choose another with --listen or --unix-socket",
        };
        let reason = match error.kind() {
            io::ErrorKind::AddrInUse => "address already in use".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => {
                let text = error.to_string();
                text.split(" (os error").next().unwrap_or_default().to_lowercase()
            }
        };
        Self { address, reason, advice, is_in_use: error.kind() == io::ErrorKind::AddrInUse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_numbers_or_localhost() {
        for (text, expected) in [
            ("127.0.0.1:6379", "127.0.0.1:6379"),
            ("[::1]:0", "[::1]:0"),
            ("localhost:1", "127.0.0.1:1"),
            ("*:2", "0.0.0.0:2"),
            (":3", "0.0.0.0:3"),
        ] {
            assert_eq!(parse_address(text).unwrap().to_string(), expected);
        }
        for text in ["", "6379", "example.org:1", "127.0.0.1:70000", "::1:1", "127.0.0.1:"] {
            assert!(parse_address(text).unwrap_err().contains("HOST:PORT"), "{text}");
        }
    }

    #[test]
    fn a_taken_port_says_what_to_do() {
        let first = Listener::tcp("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = Listener::tcp(first.tcp_address().unwrap()).err().unwrap().to_string();
        let expected = format!(
            "cannot listen on {}: address already in use; choose another with --listen or --unix-socket, or stop \
             the other server",
            first.tcp_address().unwrap()
        );
        assert_eq!(error, expected);
    }

    #[test]
    fn accepted_connections_inherit_what_makes_replies_prompt() {
        let listener = Listener::tcp("127.0.0.1:0".parse().unwrap()).unwrap();
        let _client = std::net::TcpStream::connect(listener.tcp_address().unwrap()).unwrap();
        let accepted = rustix::net::accept(&listener.socket).unwrap();
        assert!(socket2::SockRef::from(&accepted).tcp_nodelay().unwrap());
        assert!(socket2::SockRef::from(&accepted).keepalive().unwrap());
        assert!(socket2::SockRef::from(&accepted).tcp_congestion().unwrap().starts_with(b"reno"));
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_or_foreign_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.sock");
        // std leaves the file behind, as a killed server does.
        drop(UnixListener::bind(&path).unwrap());
        let listener = Listener::unix(&path).unwrap();
        assert!(Listener::unix(&path).err().unwrap().to_string().contains("address already in use"));
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "precious").unwrap();
        assert!(Listener::unix(&path).err().unwrap().to_string().contains("not a socket"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        let missing = directory.path().join("no/such.sock");
        assert!(
            Listener::unix(&missing)
                .err()
                .unwrap()
                .to_string()
                .contains("no such file or directory; create the directory first")
        );
    }

    #[test]
    fn a_socket_file_of_another_server_survives_ours() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.sock");
        let ours = Listener::unix(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let _theirs = UnixListener::bind(&path).unwrap();
        drop(ours);
        assert!(path.exists());
    }
}
