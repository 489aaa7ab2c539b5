//! Servers of a few lines that can be told to misbehave, for tests of whole stretches of load.

use super::address::{Address, Endpoint, TlsEndpoint};
use plumbkv_resp::{Limits, Parsed, RequestParser};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A store that every connection's thread shares, and what it was told to do wrong.
#[derive(Default)]
pub(super) struct Store {
    pub(super) map: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    pub(super) requests: AtomicU64,
    /// Before this request nobody is answered for this long.
    pub(super) stall: Option<(u64, Duration)>,
}

impl Store {
    pub(super) fn stalling(request: u64, stall: Duration) -> Arc<Self> {
        Arc::new(Self { stall: Some((request, stall)), ..Self::default() })
    }

    pub(super) fn maybe_stall(&self) {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let Some((request, stall)) = self.stall else { return };
        if number == request {
            // The lock is held: all other connections wait, too.
            let _map = self.map.lock().unwrap();
            std::thread::sleep(stall);
        }
    }

    pub(super) fn serve_resp(&self, mut stream: impl Read + Write) {
        let mut parser = RequestParser::new(Limits::default());
        let (mut input, mut piece, mut resp3) = (Vec::new(), vec![0; 16 * 1024], false);
        loop {
            let (mut used, mut output) = (0, Vec::new());
            while let Parsed::Complete { value, consumed } = parser.parse(&input[used..]) {
                let words: Vec<Vec<u8>> =
                    (0..).map_while(|place| value.get(place).map(<[u8]>::to_vec)).collect();
                used += consumed;
                self.answer_resp(&words, &mut resp3, &mut output);
            }
            input.drain(..used);
            if stream.write_all(&output).and_then(|()| stream.flush()).is_err() {
                return;
            }
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return,
                Ok(count) => input.extend_from_slice(&piece[..count]),
            }
        }
    }

    pub(super) fn answer_resp(&self, words: &[Vec<u8>], resp3: &mut bool, out: &mut Vec<u8>) {
        match words[0].as_slice() {
            b"PING" => out.extend_from_slice(b"+PONG\r\n"),
            b"HELLO" => {
                *resp3 = true;
                out.extend_from_slice(b"%1\r\n+proto\r\n:3\r\n");
            }
            b"SET" => {
                self.maybe_stall();
                self.map.lock().unwrap().insert(words[1].clone(), words[2].clone());
                out.extend_from_slice(b"+OK\r\n");
            }
            b"GET" => {
                self.maybe_stall();
                match self.map.lock().unwrap().get(&words[1]) {
                    Some(value) => {
                        out.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
                        out.extend_from_slice(value);
                        out.extend_from_slice(b"\r\n");
                    }
                    None => out.extend_from_slice(if *resp3 { b"_\r\n" } else { b"$-1\r\n" }),
                }
            }
            b"DEL" => {
                let removed = self.map.lock().unwrap().remove(&words[1]).is_some();
                out.extend_from_slice(if removed { b":1\r\n" } else { b":0\r\n" });
            }
            other => panic!("the load sent {}", String::from_utf8_lossy(other)),
        }
    }

    pub(super) fn serve_memcached(&self, mut stream: TcpStream) {
        let (mut input, mut piece) = (Vec::<u8>::new(), vec![0; 16 * 1024]);
        loop {
            while let Some(end) = input.windows(2).position(|pair| pair == b"\r\n") {
                let line = String::from_utf8(input[..end].to_vec()).unwrap();
                let words: Vec<&str> = line.split(' ').collect();
                let mut map = self.map.lock().unwrap();
                let mut next = end + 2;
                let reply = match words[..] {
                    ["set", key, "0", "0", length] => {
                        let length: usize = length.parse().unwrap();
                        if input.len() < next + length + 2 {
                            break;
                        }
                        map.insert(key.into(), input[next..next + length].to_vec());
                        next += length + 2;
                        b"STORED\r\n".to_vec()
                    }
                    ["get", key] => match map.get(key.as_bytes()) {
                        Some(value) => {
                            let head = format!("VALUE {key} 0 {}\r\n", value.len());
                            [head.as_bytes(), value, b"\r\nEND\r\n"].concat()
                        }
                        None => b"END\r\n".to_vec(),
                    },
                    ["delete", key] if map.remove(key.as_bytes()).is_some() => b"DELETED\r\n".to_vec(),
                    ["delete", _] => b"NOT_FOUND\r\n".to_vec(),
                    _ => panic!("the load sent {line}"),
                };
                input.drain(..next);
                if stream.write_all(&reply).is_err() {
                    return;
                }
            }
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return,
                Ok(count) => input.extend_from_slice(&piece[..count]),
            }
        }
    }
}

/// Serves every connection on a thread of its own; ends with the test's process.
pub(super) fn serve(
    store: &Arc<Store>,
    handle: impl Fn(&Store, TcpStream) + Send + Sync + 'static,
) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::tcp(listener.local_addr().unwrap());
    let (store, handle) = (store.clone(), Arc::new(handle));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (store, handle, stream) = (store.clone(), handle.clone(), stream.unwrap());
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || handle(&store, stream));
        }
    });
    address
}

pub(super) fn serve_resp(store: &Arc<Store>) -> Address {
    serve(store, |store, stream| store.serve_resp(stream))
}

pub(super) fn serve_unix(store: &Arc<Store>, path: &Path) -> Address {
    let listener = UnixListener::bind(path).unwrap();
    let store = store.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (store, stream) = (store.clone(), stream.unwrap());
            std::thread::spawn(move || store.serve_resp(stream));
        }
    });
    Address::of(Endpoint::Unix(path.to_owned()))
}

/// Over TLS, with a certificate for `server.test` that is written to `pem`.
pub(super) fn serve_tls(store: &Arc<Store>, pem: &Path) -> Address {
    serve_tls_by(store, pem, |store, stream| store.serve_resp(stream))
}

/// What a TLS connection is to the server.
pub(super) type Encrypted = rustls::StreamOwned<rustls::ServerConnection, TcpStream>;

/// As [`serve_tls`], but every connection is answered by `each`.
pub(super) fn serve_tls_by(
    store: &Arc<Store>,
    pem: &Path,
    each: impl Fn(&Store, Encrypted) + Send + Sync + 'static,
) -> Address {
    let made = rcgen::generate_simple_self_signed(vec!["server.test".to_owned()]).unwrap();
    std::fs::write(pem, made.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let plain = serve(store, move |store, stream| {
        let session = rustls::ServerConnection::new(config.clone()).unwrap();
        each(store, rustls::StreamOwned::new(session, stream));
    });
    let socket = plain.endpoint.socket().unwrap();
    Address::of(Endpoint::Tls(TlsEndpoint {
        socket,
        server_name: "server.test".to_owned(),
        roots: Some(pem.to_owned()),
    }))
}
