//! TLS: what is served over it, who may connect, and certificates that are replaced while the server runs.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustix::process::Signal;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::server::{Server, plumbkv, refused};

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A certificate authority, and the folder with the server's files.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

/// A client's certificate and key.
type Proof = (CertificateDer<'static>, PrivateKeyDer<'static>);

impl Authority {
    /// An authority that has signed the server's certificate.
    fn new() -> Self {
        let authority = Self { issuer: issuer(), folder: tempfile::tempdir().unwrap() };
        authority.certify_server();
        authority
    }

    /// Writes another certificate for the server.
    fn certify_server(&self) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.path("server.pem"), certificate.pem()).unwrap();
        std::fs::write(self.path("server.key"), key.serialize_pem()).unwrap();
        std::fs::write(self.path("ca.pem"), self.issuer.pem()).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn proof(&self) -> Proof {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["client".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
    }

    fn flags(&self) -> Vec<String> {
        let path = |name| self.path(name).to_str().unwrap().to_owned();
        let flag = |name: &str, value: String| [name.to_owned(), value];
        [
            flag("--tls-listen", "127.0.0.1:0".to_owned()),
            flag("--tls-cert-file", path("server.pem")),
            flag("--tls-key-file", path("server.key")),
        ]
        .concat()
    }

    fn start(&self, more: &[&str]) -> Server {
        let flags = self.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Server::start(&flags)
    }

    /// A connection of a client that believes this authority.
    fn connect(&self, server: &Server, proof: Option<Proof>) -> Stream {
        self.connect_to(port(server), proof)
    }

    fn connect_to(&self, port: u16, proof: Option<Proof>) -> Stream {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match proof {
            Some((certificate, key)) => config.with_client_auth_cert(vec![certificate], key).unwrap(),
            None => config.with_no_client_auth(),
        };
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        StreamOwned::new(connection, plain(port))
    }
}

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Named as those that it signs, it would seem to be one of them.
    params.distinguished_name.push(DnType::CommonName, "an authority");
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn port(server: &Server) -> u16 {
    let ready = server.said().iter().find(|line| line.starts_with("plumbkv ready: ")).unwrap();
    ready.split("tls 127.0.0.1:").nth(1).unwrap().trim().parse().unwrap()
}

/// A connection to the port with TLS.
fn plain(port: u16) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

#[track_caller]
fn check(stream: &mut Stream, request: &[u8], reply: &[u8]) {
    stream.write_all(request).unwrap();
    let mut found = vec![0; reply.len()];
    stream.read_exact(&mut found).unwrap();
    assert!(found == reply, "{} in place of {}", found.escape_ascii(), reply.escape_ascii());
}

#[test]
fn requests_are_served_and_the_end_is_told() {
    let authority = Authority::new();
    let server = authority.start(&[]);
    let mut stream = authority.connect(&server, None);
    check(&mut stream, b"PING\r\n", b"+PONG\r\n");
    check(&mut stream, b"SET k v\r\nGET k\r\nINCR n\r\n", b"+OK\r\n$1\r\nv\r\n:1\r\n");
    let port = port(&server).to_string();
    let expected = format!("*2\r\n$8\r\ntls-port\r\n${}\r\n{port}\r\n", port.len());
    check(&mut stream, b"CONFIG GET tls-port\r\n", expected.as_bytes());
    // What is written over TLS is there for others.
    server.client().check("GET k", b"$1\r\nv\r\n");
    check(&mut stream, b"QUIT\r\n", b"+OK\r\n");
    // Cut off without a word it would be an error.
    assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0);
}

#[test]
fn long_values_arrive_whole() {
    let authority = Authority::new();
    let server = authority.start(&[]);
    let mut stream = authority.connect(&server, None);
    for length in [1, 16_383, 16_384, 16_385, 70_000, 3_000_000] {
        let value: Vec<u8> = (0..length).map(|place: u32| (place * 31 % 251) as u8).collect();
        let head = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${length}\r\n");
        check(&mut stream, &[head.as_bytes(), &value, b"\r\n"].concat(), b"+OK\r\n");
        let bulk = [format!("${length}\r\n").as_bytes(), &value, b"\r\n"].concat();
        check(&mut stream, b"GET k\r\n", &bulk);
        // Several of them at once, between short ones.
        let replies = [b"+PONG\r\n".as_slice(), &bulk, b":1\r\n", &bulk].concat();
        check(&mut stream, b"PING\r\nGET k\r\nEXISTS k\r\nGET k\r\n", &replies);
    }
}

#[test]
fn a_pipeline_that_is_written_whole_before_the_first_read_is_answered() {
    let authority = Authority::new();
    let server = authority.start(&[]);
    let mut stream = authority.connect(&server, None);
    let value = "x".repeat(1000);
    check(&mut stream, format!("SET k {value}\r\n").as_bytes(), b"+OK\r\n");
    const REQUESTS: usize = 20_000;
    stream.write_all(&b"GET k\r\n".repeat(REQUESTS)).unwrap();
    stream.flush().unwrap();
    let reply = format!("$1000\r\n{value}\r\n");
    let mut found = vec![0; reply.len() * REQUESTS];
    stream.read_exact(&mut found).unwrap();
    assert!(found.chunks(reply.len()).all(|one| one == reply.as_bytes()));
}

#[test]
fn many_clients_are_served_at_once() {
    let authority = Authority::new();
    let server = authority.start(&["--io-threads", "2"]);
    std::thread::scope(|scope| {
        for client in 0..24 {
            let (authority, port) = (&authority, port(&server));
            scope.spawn(move || {
                let mut stream = authority.connect_to(port, None);
                for number in 0..100 {
                    let value = format!("{client}-{number}");
                    let request = format!("SET k:{client} {value}\r\nGET k:{client}\r\n");
                    let reply = format!("+OK\r\n${}\r\n{value}\r\n", value.len());
                    check(&mut stream, request.as_bytes(), reply.as_bytes());
                }
            });
        }
    });
}

#[test]
fn transactions_and_scripts_are_answered_by_workers_too() {
    let authority = Authority::new();
    let server = authority.start(&[]);
    let mut stream = authority.connect(&server, None);
    check(
        &mut stream,
        b"MULTI\r\nSET a 1\r\nINCR a\r\nEXEC\r\n",
        b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:2\r\n",
    );
    let text = "return string.rep('x', ARGV[1])";
    let script = format!("*4\r\n$4\r\nEVAL\r\n${}\r\n{text}\r\n$1\r\n0\r\n$6\r\n200000\r\n", text.len());
    let reply = [b"$200000\r\n".as_slice(), &b"x".repeat(200_000), b"\r\n"].concat();
    check(&mut stream, script.as_bytes(), &reply);
}

#[test]
fn bytes_that_arrive_one_by_one_are_understood() {
    let authority = Authority::new();
    let server = authority.start(&[]);
    let mut stream = authority.connect(&server, None);
    let Stream { conn, sock } = &mut stream;
    sock.set_nodelay(true).unwrap();
    conn.writer().write_all(b"PING\r\n").unwrap();
    let mut found = Vec::new();
    while found.len() < 7 {
        let mut sealed = Vec::new();
        while conn.wants_write() {
            conn.write_tls(&mut sealed).unwrap();
        }
        for byte in sealed {
            sock.write_all(&[byte]).unwrap();
        }
        conn.read_tls(sock).unwrap();
        conn.process_new_packets().unwrap();
        let mut piece = [0; 64];
        match conn.reader().read(&mut piece) {
            Ok(count) => found.extend_from_slice(&piece[..count]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    assert_eq!(found, b"+PONG\r\n");
}

#[test]
fn a_client_that_speaks_no_tls_is_told_and_harms_nobody() {
    let authority = Authority::new();
    let mut server = authority.start(&[]);
    for bytes in [&b"PING\r\n"[..], b"*1\r\n$4\r\nPING\r\n", &[0x16, 3, 1, 0xff, 0xff], &[0; 4000]] {
        let mut socket = plain(port(&server));
        socket.write_all(bytes).unwrap();
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"+"), "{}", answer.escape_ascii());
    }
    // One that says nothing, and one that leaves within its first message.
    let silent = plain(port(&server));
    plain(port(&server)).write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
    server.assert_alive();
    check(&mut authority.connect(&server, None), b"PING\r\n", b"+PONG\r\n");
    drop(silent);
}

#[test]
fn clients_have_to_prove_who_they_are_where_that_is_asked() {
    let authority = Authority::new();
    let ca = authority.path("ca.pem");
    let server = authority.start(&["--tls-ca-cert-file", ca.to_str().unwrap()]);
    let fails = |proof: Option<Proof>| {
        let mut stream = authority.connect(&server, proof);
        let sent = stream.write_all(b"PING\r\n").and_then(|()| stream.flush());
        sent.and_then(|()| stream.read_exact(&mut [0; 7])).is_err()
    };
    assert!(fails(None));
    assert!(fails(Some(Authority::new().proof())), "a stranger has signed it");
    check(&mut authority.connect(&server, Some(authority.proof())), b"PING\r\n", b"+PONG\r\n");

    let optional =
        authority.start(&["--tls-ca-cert-file", ca.to_str().unwrap(), "--tls-auth-clients", "optional"]);
    check(&mut authority.connect(&optional, None), b"PING\r\n", b"+PONG\r\n");
    check(&mut authority.connect(&optional, Some(authority.proof())), b"PING\r\n", b"+PONG\r\n");
}

#[test]
fn a_certificate_is_replaced_while_the_server_runs() {
    let mut authority = Authority::new();
    let mut server = authority.start(&[]);
    let mut old = authority.connect(&server, None);
    check(&mut old, b"PING\r\n", b"+PONG\r\n");
    // Files that cannot be used change nothing.
    std::fs::write(authority.path("server.pem"), "no certificate").unwrap();
    server.signal(Signal::HUP);
    server.wait_for_line("the certificate stays as it was");
    check(&mut authority.connect(&server, None), b"PING\r\n", b"+PONG\r\n");

    authority.issuer = issuer();
    authority.certify_server();
    server.signal(Signal::HUP);
    server.wait_for_line("again");
    check(&mut authority.connect(&server, None), b"PING\r\n", b"+PONG\r\n");
    check(&mut old, b"PING\r\n", b"+PONG\r\n");
}

#[test]
fn settings_that_do_not_go_together_are_refused_with_a_way_out() {
    let authority = Authority::new();
    let path = |name| authority.path(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("server.pem"), path("server.key"));
    let other = KeyPair::generate().unwrap();
    std::fs::write(authority.path("other.key"), other.serialize_pem()).unwrap();
    let listen = ["--tls-listen", "127.0.0.1:0"];
    let files = |key: &'static str| path(key);
    for (args, code, part) in [
        (vec!["--tls-listen", "127.0.0.1:0"], 64, "needs --tls-cert-file and --tls-key-file"),
        (vec!["--tls-key-file", &key], 64, "needs --tls-listen"),
        (vec!["--tls-listen", "x"], 64, "expected HOST:PORT"),
        (
            vec!["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-auth-clients", "yes"],
            64,
            "needs --tls-listen",
        ),
    ] {
        check_refusal(&args, code, part);
    }
    let with = |key: &str, more: &[&str]| -> Vec<String> {
        let all = [&listen[..], &["--tls-cert-file", &certificate, "--tls-key-file", key], more].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    for (args, code, part) in [
        (with(&key, &["--tls-auth-clients", "yes"]), 64, "needs --tls-ca-cert-file"),
        (with(&key, &["--tls-auth-clients", "maybe"]), 64, "expected yes, no or optional"),
        (with(&files("nosuch"), &[]), 1, "cannot use"),
        (with(&files("other.key"), &[]), 1, "is not that of the certificate"),
        (with(&certificate, &[]), 1, "cannot use"),
        (with(&key, &["--tls-ca-cert-file", &key]), 1, "there is no certificate in PEM form"),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        check_refusal(&args, code, part);
    }
}

#[track_caller]
fn check_refusal(args: &[&str], code: i32, part: &str) {
    let all = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
    let (found, said) = refused(plumbkv(&all));
    assert_eq!(found, code, "{said}");
    assert!(said.contains(part), "{said}");
}

#[test]
fn metrics_are_served_with_the_same_certificate() {
    let authority = Authority::new();
    let flags = authority.flags();
    let mut command = plumbkv(&["serve", "--listen", "127.0.0.1:0", "--http-tls", "yes"]);
    command.args(&flags).args(["--http", "127.0.0.1:0"]);
    let mut server = Server::spawn(command);
    let address = server.said().iter().find_map(|line| line.split("metrics at https://127.0.0.1:").nth(1));
    let port: u16 = address.unwrap().split('/').next().unwrap().parse().unwrap();
    let get = |path: &str| {
        let mut stream = authority.connect_to(port, None);
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The end may come without a word of TLS.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    };
    assert!(get("/readyz").starts_with("HTTP/1.1 200 "));
    assert!(get("/metrics").contains("# EOF"));
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "{}", answer.escape_ascii());
    server.assert_alive();
}

#[test]
fn redis_cli_speaks_it() {
    let authority = Authority::new();
    let server = authority.start(&[]);
    let ca: &Path = &authority.path("ca.pem");
    let output = std::process::Command::new("redis-cli")
        .args([
            "--tls",
            "--sni",
            "localhost",
            "-h",
            "localhost",
            "-p",
            &port(&server).to_string(),
            "--cacert",
        ])
        .arg(ca)
        .arg("ping")
        .output();
    match output {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("Unrecognized option") => {
            println!("skipped: this redis-cli has no TLS");
        }
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "PONG\n", "{output:?}"),
        Err(error) => println!("skipped: redis-cli: {error}"),
    }
}
