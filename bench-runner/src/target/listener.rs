//! Lookup of the process that listens on a socket of this machine, for the CPU time and the memory of a server that
//! the runner did not start.

use super::cpu_time::descendants;
use crate::load::client::{Address, Endpoint};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Programs that hand what they are sent to a container or to another machine: what they use is not what the server
/// uses.
const GO_BETWEENS: [&str; 9] = [
    "docker-proxy",
    "rootlesskit",
    "rootlessport",
    "slirp4netns",
    "pasta",
    "pasta.avx2",
    "ssh",
    "socat",
    "kubectl",
];

/// The process that listens at an address. `None` where it is not on this machine, belongs to another user, hands
/// all on to another process, or where several listen that are not of one family.
pub(super) fn listener(address: &Address) -> Option<u32> {
    let inode = match &address.endpoint {
        Endpoint::Unix(path) => unix_inode(&fs::read_to_string("/proc/net/unix").ok()?, path)?,
        other => {
            let socket = other.socket().filter(|socket| socket.ip().is_loopback())?;
            let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
            tables.iter().find_map(|path| tcp_inode(&fs::read_to_string(path).ok()?, socket))?
        }
    };
    let socket = format!("socket:[{inode}]");
    let holders = holders(&socket);
    // The first of a family of processes that share it, as those of nginx do. One that has let go of it since was about
    // to become another program.
    let first = *holders.iter().find(|pid| {
        let family = descendants(**pid);
        holders.iter().all(|holder| family.contains(holder) || !holds(*holder, &socket))
    })?;
    let name = fs::read_to_string(format!("/proc/{first}/comm")).ok()?;
    (!GO_BETWEENS.contains(&name.trim())).then_some(first)
}

/// Processes that have a file of this name open.
fn holders(name: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| holds(*pid, name)).collect()
}

/// Whether a process has a file of this name open, as far as this user may know.
fn holds(pid: u32, name: &str) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| fs::read_link(file.path()).ok()).any(|link| link == Path::new(name))
}

/// State of a socket that listens, in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// The inode of the socket that takes connections to an address, by the lines of `/proc/net/tcp` or `tcp6`.
fn tcp_inode(table: &str, wanted: SocketAddr) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let local = parse_address(fields.next()?)?;
        let state = fields.nth(1)?;
        // tx_queue:rx_queue, tr:tm->when, retrnsmt, uid, timeout.
        let inode = fields.nth(5)?;
        // A socket for every address of IPv6 takes IPv4 too, not the other way round.
        let takes_all = local.ip().is_unspecified() && (local.is_ipv6() || wanted.is_ipv4());
        let takes = takes_all || local.ip().to_canonical() == wanted.ip();
        (state == LISTENS && local.port() == wanted.port() && takes).then(|| inode.parse().ok())?
    })
}

/// `0100007F:1F90`: words of four bytes as the machine has them, then the port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words =
        ip.as_bytes().chunks(8).map(|word| u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok());
    let bytes: Vec<u8> =
        words.collect::<Option<Vec<u32>>>()?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Flags of a socket that takes connections, in `/proc/net/unix`.
const ACCEPTS: &str = "00010000";

/// The inode of the socket with this path, by the lines of `/proc/net/unix`.
fn unix_inode(table: &str, path: &Path) -> Option<u64> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, flags, _, _, inode, name] = fields[..] else { return None };
        (flags == ACCEPTS && Path::new(name) == path).then(|| inode.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
    use std::os::unix::net::UnixListener;

    #[test]
    fn this_process_is_found_by_the_sockets_it_listens_on() {
        let own = Some(std::process::id());
        for ip in [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            IpAddr::from(Ipv6Addr::LOCALHOST),
            Ipv4Addr::UNSPECIFIED.into(),
        ] {
            let Ok(socket) = TcpListener::bind((ip, 0)) else { continue };
            let port = socket.local_addr().unwrap().port();
            let ip = if ip.is_ipv6() { ip } else { Ipv4Addr::LOCALHOST.into() };
            let address = Address::tcp(SocketAddr::new(ip, port));
            assert_eq!(listener(&address), own, "{ip}");
            drop(socket);
            // A child that another test is starting holds it too, until it becomes another program.
            let is_gone = (0..100).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                listener(&address).is_none()
            });
            assert!(is_gone, "{ip}: the socket is closed");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = UnixListener::bind(&path).unwrap();
        assert_eq!(listener(&Address::of(Endpoint::Unix(path))), own);
        // Another machine's processes are not looked for.
        assert_eq!(listener(&Address::tcp("192.0.2.1:80".parse().unwrap())), None);
    }

    /// A copy of `cat` by the name of a go-between, which holds a socket that was handed to it.
    #[test]
    fn a_go_between_is_not_taken_for_the_server() {
        use std::os::fd::OwnedFd;
        use std::process::{Command, Stdio};
        let folder = tempfile::tempdir().unwrap();
        for (name, is_found) in [("socat", false), ("docker-proxy", false), ("a-server", true)] {
            let program = folder.path().join(name);
            fs::copy("/bin/cat", &program).unwrap();
            let socket = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = Address::tcp(socket.local_addr().unwrap());
            let mut command = Command::new(&program);
            command.stdin(Stdio::piped()).stdout(OwnedFd::from(socket));
            // Another test may be starting a program that holds the copy open for writing.
            let started = (0..100).find_map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                command.spawn().ok()
            });
            let mut child = started.unwrap();
            drop(command);
            let wanted = is_found.then_some(child.id());
            // A child of another test holds it too, until it becomes another program.
            let is_told = (0..100).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                holders_of(&address) == [child.id()] && listener(&address) == wanted
            });
            let _ = child.kill();
            let _ = child.wait();
            assert!(is_told, "{name}");
        }
    }

    /// Processes that hold the socket of an address.
    fn holders_of(address: &Address) -> Vec<u32> {
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let inode = tcp_inode(&table, address.endpoint.socket().unwrap());
        inode.map_or_else(Vec::new, |inode| holders(&format!("socket:[{inode}]")))
    }

    #[test]
    fn a_line_of_the_kernels_table_is_read() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 x";
        let table = format!("  sl  local_address rem_address   st\n{line}\n");
        assert_eq!(tcp_inode(&table, "127.0.0.1:8080".parse().unwrap()), Some(4711));
        assert_eq!(tcp_inode(&table, "127.0.0.1:8081".parse().unwrap()), None);
        let any = table.replace("0100007F", "00000000");
        assert_eq!(tcp_inode(&any, "127.0.0.1:8080".parse().unwrap()), Some(4711));
        assert_eq!(tcp_inode(&any, "[::1]:8080".parse().unwrap()), None);
        assert_eq!(tcp_inode(&table.replace(" 0A ", " 01 "), "127.0.0.1:8080".parse().unwrap()), None);
    }
}
