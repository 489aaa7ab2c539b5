//! How are a few requests served over HTTP in bounded memory and time? One request a connection, a few connections at once, a deadline each.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::shared::Shared;
use crate::tls::Tls;

/// Connections served at once; the kernel keeps further ones waiting.
const CONNECTIONS: usize = 16;

/// What a connection may take from the first byte to the last.
const DEADLINE: Duration = Duration::from_secs(10);

/// The longest head of a request, in bytes; a longer one is answered by 431.
const HEAD_BYTES: usize = 8 << 10;

/// Wait after a connection could not be accepted, for want of file descriptors for instance.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves every connection, with TLS if HTTP is configured for it.
pub(super) async fn serve(listener: TcpListener, router: Router, shared: Arc<Shared>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    // Nobody closes the semaphore.
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        match listener.accept().await {
            Ok((socket, _)) => {
                let router = router.clone();
                let tls = shared.tls.as_ref().filter(|_| shared.facts.has_https).map(Tls::config);
                tokio::spawn(async move {
                    match tls {
                        None => converse(socket, router).await,
                        Some(config) => {
                            let accepted = TlsAcceptor::from(config).accept(socket);
                            // Whom the handshake fails has gone, or speaks no TLS.
                            if let Ok(Ok(stream)) = tokio::time::timeout(DEADLINE, accepted).await {
                                converse(stream, router).await;
                            }
                        }
                    }
                    drop(slot);
                });
            }
            Err(error) => {
                tracing::debug!("cannot accept an HTTP connection: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Answers one request.
async fn converse(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, router: Router) {
    let connection = http1::Builder::new()
        // Else idle connections would hold the few that there are.
        .keep_alive(false)
        .max_buf_size(HEAD_BYTES)
        // The deadline is enough.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // Whom an error or the deadline meets has gone, or should.
    let _ = tokio::time::timeout(DEADLINE, connection).await;
}

/// As many requests as can be answered at once, before the first one comes: what they take is taken from the start, and does not look like
/// growth under the memory cap.
pub(super) async fn warm(router: &Router) -> io::Result<()> {
    let mut clients = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let (mut client, server) = UnixStream::pair()?;
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: warm\r\n\r\n").await?;
        tokio::spawn(converse(server, router.clone()));
        clients.push(client);
    }
    let mut answer = Vec::new();
    for mut client in clients {
        answer.clear();
        client.read_to_end(&mut answer).await?;
    }
    Ok(())
}
