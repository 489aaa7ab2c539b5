//! Connections that hyper serves: those that an I/O thread has handed over, and those with TLS.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use plumbkv_documents_http::{MAX_HEAD_BYTES, Peer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::switch::{Progress, Returns, Sent, Switch};
use super::web::{Departures, is_observing};
use crate::reactor::admission::CONNECTION_BYTES;
use crate::reactor::{Arrival, OverHttp};
use crate::shared::Shared;
use crate::tls::Tls;

/// How long a client may take to send the head of a request, or to shake hands.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How long a connection without requests stays here before it goes back to the I/O threads.
const LINGER: Duration = Duration::from_secs(1);

/// What a client has sent that is thrown away so that it sees the last response: bytes and time.
const FAREWELL_BYTES: usize = 256 << 10;
const FAREWELL: Duration = Duration::from_secs(1);

/// Wait after a connection could not be accepted, for want of file descriptors for instance.
const PAUSE: Duration = Duration::from_millis(100);

/// Requests that are served once before the first one comes.
const WARM: usize = 32;

type Answer = Pin<Box<dyn Future<Output = Result<Response<Sent>, Infallible>> + Send>>;

/// A connection outside of the I/O threads; counted until it is dropped.
struct Seat {
    shared: Arc<Shared>,
    counted: u64,
    is_given_up: bool,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.is_given_up {
            self.shared.web.release(&self.shared, self.counted);
        }
    }
}

impl Seat {
    /// Its connection goes back to an I/O thread, which counts it from now on.
    fn give_up(mut self) -> u64 {
        self.is_given_up = true;
        self.counted
    }
}

/// Serves every connection that departs from the I/O threads, and those of a listener with TLS.
pub(super) async fn serve(
    encrypted: Option<TcpListener>,
    mut departures: Departures,
    router: Router,
    shared: Arc<Shared>,
) {
    loop {
        tokio::select! {
            departed = departures.recv() => match departed {
                Some(arrival) => drop(tokio::spawn(serve_departed(arrival, router.clone(), Arc::clone(&shared)))),
                None => return,
            },
            accepted = accept(encrypted.as_ref()) => match accepted {
                Ok((socket, address)) => {
                    if shared.web.take_place() {
                        let seat = seat(&shared);
                        drop(tokio::spawn(serve_encrypted(socket, address.ip(), router.clone(), seat)));
                    }
                }
                Err(error) => {
                    tracing::debug!("cannot accept an HTTP connection: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<(TcpStream, std::net::SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

fn seat(shared: &Arc<Shared>) -> Seat {
    let taken = shared.client_memory.take(&shared.database, CONNECTION_BYTES);
    let counted = if taken.is_ok() { CONNECTION_BYTES } else { 0 };
    Seat { shared: Arc::clone(shared), counted, is_given_up: false }
}

async fn serve_encrypted(socket: TcpStream, peer: IpAddr, router: Router, seat: Seat) {
    let Some(config) = seat.shared.tls.as_ref().map(Tls::config) else { return };
    // A handshake that fails says that the client has gone, or speaks no TLS.
    if let Ok(Ok(stream)) = timeout(HEAD_TIME, TlsAcceptor::from(config).accept(socket)).await {
        converse(stream, Vec::new(), Returns::Never, peer.to_canonical(), router).await;
    }
}

async fn serve_departed(arrival: Arrival, router: Router, shared: Arc<Shared>) {
    let Arrival { socket, entry, counted, http, .. } = arrival;
    let seat = Seat { shared, counted, is_given_up: false };
    let Some(OverHttp { peer, received }) = http else { return };
    let returns = if is_observing(&received) { Returns::Always } else { Returns::ForLookups };
    let Ok(stream) = to_stream(socket) else { return };
    if let Some((stream, received)) = converse(stream, received, returns, peer, router).await
        && let Ok(socket) = to_socket(stream, &seat.shared)
    {
        let shared = Arc::clone(&seat.shared);
        let (counted, http) = (seat.give_up(), Some(OverHttp { peer, received }));
        let arrival = Arrival { socket, entry, counted, encryption: None, http };
        if let Err(stays) = shared.web.hand_back(arrival) {
            shared.web.release(&shared, stays.counted);
        }
    }
}

fn to_stream(socket: OwnedFd) -> io::Result<TcpStream> {
    let stream = std::net::TcpStream::from(socket);
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

/// The socket as the I/O threads have them: io_uring would not wait for one that does not block.
fn to_socket(stream: TcpStream, shared: &Shared) -> io::Result<OwnedFd> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(shared.facts.io_backend != "io_uring")?;
    Ok(stream.into())
}

/// Answers requests until the conversation is over, or its next request is for an I/O thread: then the stream comes
/// back, with what was received.
async fn converse<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    stream: S,
    received: Vec<u8>,
    returns: Returns,
    peer: IpAddr,
    router: Router,
) -> Option<(S, Vec<u8>)> {
    let progress = Arc::new(Progress::default());
    let stream = Switch::new(stream, received, returns, Arc::clone(&progress));
    let router = TowerToHyperService::new(router);
    let of_requests = Arc::clone(&progress);
    let service = service_fn(move |request: Request<Incoming>| -> Answer {
        let mut request = request.map(|body| of_requests.begin(body));
        request.extensions_mut().insert(Peer(peer));
        let (response, progress) = (router.call(request), Arc::clone(&of_requests));
        Box::pin(async move { response.await.map(|response| response.map(|body| Sent::new(body, progress))) })
    });
    let mut connection = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service);
    loop {
        let over = timeout(
            LINGER,
            poll_fn(|context| {
                let polled = connection.poll_without_shutdown(context);
                if progress.wants_back() { Poll::Ready(None) } else { polled.map(Some) }
            }),
        );
        match over.await {
            // The bytes that follow are no request that hyper can read, or the client has gone: it was told.
            Ok(Some(_)) => break,
            Ok(None) => return Some(go_back(connection.into_parts())),
            Err(_) if returns != Returns::Never && progress.is_between() => {
                return Some(go_back(connection.into_parts()));
            }
            Err(_) => {}
        }
    }
    let (mut stream, _) = connection.into_parts().io.into_inner().into_parts();
    let _ = timeout(FAREWELL, part_from(&mut stream)).await;
    None
}

/// What hyper had is before what it was not given.
fn go_back<S, T>(parts: http1::Parts<TokioIo<Switch<S>>, T>) -> (S, Vec<u8>) {
    let (stream, received) = parts.io.into_inner().into_parts();
    let mut all = parts.read_buf.to_vec();
    all.extend_from_slice(&received);
    (stream, all)
}

/// Ends a conversation so that the last response arrives: a socket with unread bytes would reset the connection.
async fn part_from(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    stream.shutdown().await?;
    let mut scratch = [0; 4096];
    let mut left = FAREWELL_BYTES;
    while left > 0 {
        match stream.read(&mut scratch).await? {
            0 => break,
            count => left = left.saturating_sub(count),
        }
    }
    Ok(())
}

/// Serves some requests before the first one comes: what they take is taken from the start, and does not look like
/// growth under the memory cap.
pub(super) async fn warm(router: &Router) -> io::Result<()> {
    let mut clients = Vec::with_capacity(WARM);
    for _ in 0..WARM {
        let (mut client, server) = UnixStream::pair()?;
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: warm\r\nConnection: close\r\n\r\n").await?;
        let local = IpAddr::from([127, 0, 0, 1]);
        tokio::spawn(converse(server, Vec::new(), Returns::Never, local, router.clone()));
        clients.push(client);
    }
    let mut answer = Vec::new();
    for mut client in clients {
        answer.clear();
        client.read_to_end(&mut answer).await?;
    }
    Ok(())
}
