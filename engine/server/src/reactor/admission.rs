//! May this peer connect? Protected mode and the limit on connections, decided from the peer's address.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{SendFlags, SocketAddrAny, send};

use super::connection::{ENCRYPTION_BYTES, Encryption};
use super::peer::hang_up;
use super::placement::Arrival;
use crate::listener::Listener;
use crate::shared::Shared;

/// Connections accepted from a listener in one go, so that a storm of them leaves the served ones their turn.
pub(super) const ACCEPTS: usize = 64;

/// What a connection costs while it is idle, in bytes: what is known of it, its place among the others, and what the allocator adds.
pub(crate) const CONNECTION_BYTES: u64 = 1024;

const TOO_MANY: &str = "-ERR max number of clients reached\r\n";

const NO_MEMORY: &str = "-OOM no memory for another connection under the cap (maxmemory)\r\n";

const PROTECTED: &str = "-DENIED PlumbKV is running in protected mode: no password is set, so only connections \
     from this host are served. To connect from elsewhere, set a password (--password, PLUMBKV_PASSWORD or CONFIG SET \
     requirepass from this host), or switch the protection off with --protected-mode no where the network is trusted.\r\n";

/// Registers a connection that a listener has accepted; one that may not stay is told why, and closed.
pub(super) fn receive(
    shared: &Shared,
    listener: &Listener,
    (socket, address): (OwnedFd, Option<SocketAddrAny>),
    scratch: &mut Vec<u8>,
) -> Option<Arrival> {
    let peer = address.and_then(|address| SocketAddr::try_from(address).ok());
    shared.counters.connections.add(1);
    let tls = shared.tls.as_ref().filter(|_| listener.is_encrypted);
    let own_bytes = CONNECTION_BYTES + if tls.is_some() { ENCRYPTION_BYTES } else { 0 };
    let counted = match admit(shared, peer, own_bytes) {
        Ok(counted) => counted,
        Err(text) => {
            shared.counters.rejected.add(1);
            // The socket buffer of a new connection has room; if not, closing says enough. So it does to one who expects TLS.
            if tls.is_none() {
                let _ = send(&socket, text.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
            hang_up(&socket, scratch);
            return None;
        }
    };
    let encryption = match tls.map(|tls| Encryption::new(tls.config())).transpose() {
        Ok(encryption) => encryption.map(Box::new),
        Err(error) => {
            tracing::error!("cannot begin TLS: {error}");
            shared.client_memory.give_back(&shared.database, counted);
            return None;
        }
    };
    let (peer, local) = listener.names(&socket, peer);
    tracing::debug!("{peer} connected");
    let entry = shared.clients.add(peer, local, socket.as_raw_fd(), shared.clock_ms());
    Some(Arrival { socket, entry, counted, encryption })
}

/// Lets a peer in and counts the connection under the memory cap, evicting keys for it; answers how many bytes were counted.
///
/// # Errors
/// The error line to send before closing.
fn admit(shared: &Shared, peer: Option<SocketAddr>, bytes: u64) -> Result<u64, &'static str> {
    match refusal(shared, peer) {
        Some(text) => Err(text),
        None => count(shared, bytes),
    }
}

/// The error line for a peer who may not stay. A peer without an address comes
/// through a Unix socket, which file permissions guard.
fn refusal(shared: &Shared, peer: Option<SocketAddr>) -> Option<&'static str> {
    if shared.clients.count() as u64 >= shared.settings.max_clients() {
        return Some(TOO_MANY);
    }
    let guarded = shared.settings.protected_mode() && shared.acl.users.default_user().is_nopass();
    (guarded && peer.is_some_and(|peer| !is_loopback(peer.ip()))).then_some(PROTECTED)
}

/// The first few connections always find room (`client_memory.rs`).
fn count(shared: &Shared, bytes: u64) -> Result<u64, &'static str> {
    let taken = shared.client_memory.take(&shared.database, bytes);
    taken.map(|()| bytes).map_err(|_| NO_MEMORY)
}

/// 127.0.0.0/8 and ::1, also when IPv4 comes dressed as IPv6.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::Driver;

    #[test]
    fn loopback_is_known_in_every_spelling() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("::ffff:10.0.0.1", false),
            ("10.0.0.1", false),
            ("0.0.0.0", false),
            ("fe80::1", false),
        ] {
            assert_eq!(is_loopback(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn strangers_need_a_password_or_no_protection() {
        let driver = Driver::new();
        let stranger = Some("10.1.2.3:4".parse().unwrap());
        let near = Some("127.0.0.1:4".parse().unwrap());
        assert_eq!(refusal(&driver.shared, stranger), Some(PROTECTED));
        assert_eq!(refusal(&driver.shared, near), None);
        assert_eq!(refusal(&driver.shared, None), None);
        driver.shared.set_password(Some("secret".to_owned()));
        assert_eq!(refusal(&driver.shared, stranger), None);
        driver.shared.set_password(None);
        driver.shared.settings.set_protected_mode(false);
        assert_eq!(refusal(&driver.shared, stranger), None);
        driver.shared.settings.set_max_clients(1);
        let _first = driver.connect();
        assert_eq!(refusal(&driver.shared, near), Some(TOO_MANY));
    }

    #[test]
    fn a_full_store_takes_a_few_connections_and_no_more() {
        let driver = Driver::with_options(|options| options.policy(plumbkv::Policy::NoEviction), 2 << 20);
        while driver.shared.database.set(&driver.shared.database.len().to_be_bytes(), &[1; 500]).is_ok() {}
        let taken = (0..1000).take_while(|_| count(&driver.shared, CONNECTION_BYTES).is_ok()).count();
        assert!((64..600).contains(&taken), "{taken} connections");
        assert_eq!(count(&driver.shared, CONNECTION_BYTES), Err(NO_MEMORY));
    }
}
