//! How is the server observed from outside? `/metrics`, `/healthz` and `/readyz` over HTTP, on a thread of their own.
//!
//! What happens here takes no turn of the reactor's, and little memory: [`serve`] bounds it, and all of it is touched before the server is ready.

mod metrics;
mod serve;
mod storage;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::sync::oneshot;

use crate::listener::{ListenError, Listener};
use crate::shared::Shared;

/// Where the endpoint is when nobody says.
const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8379);

/// Stack of the thread, in bytes; what is deepest is the writing of a log line.
const STACK_BYTES: usize = 256 << 10;

/// Where the endpoint shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Http {
    Off,
    /// On port 8379 of this host, if nobody else is there.
    Default,
    /// There and nowhere else.
    At(SocketAddr),
}

/// Takes the address. Nobody asked for the default one, so that a server without it is better than none.
pub(crate) fn listen(http: Http) -> Result<Option<Listener>, ListenError> {
    match http {
        Http::Off => Ok(None),
        Http::At(address) => Listener::tcp(address).map(Some),
        Http::Default => Ok(Listener::tcp(DEFAULT)
            .inspect_err(|error| tracing::warn!("no /metrics: {error} (--http HOST:PORT, or off)"))
            .ok()),
    }
}

/// The thread that answers.
pub(crate) struct Server {
    thread: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Server {
    /// Answers nobody any more, and lets go of what it shares.
    pub(crate) fn end(self) {
        // One that has ended by itself hears nothing.
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

/// Answers there from now on, until it is told to end.
pub(crate) fn start(listener: Listener, shared: Arc<Shared>) -> io::Result<Server> {
    let listener = TcpListener::from(listener.socket);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let (ready, is_ready) = mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let thread = thread::Builder::new().name("http".to_owned()).stack_size(STACK_BYTES).spawn(move || {
        runtime.block_on(async move {
            let router = router(Arc::clone(&shared));
            let listener = match serve::warm(&router).await {
                Ok(()) => tokio::net::TcpListener::from_std(listener),
                Err(error) => Err(error),
            };
            match listener {
                Ok(listener) => {
                    let _ = ready.send(Ok(()));
                    tokio::select! {
                        () = serve::serve(listener, router, shared) => {}
                        _ = stopped => {}
                    }
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
        });
    })?;
    is_ready.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended")))?;
    Ok(Server { thread, stop })
}

fn router(shared: Arc<Shared>) -> Router {
    let registry = Arc::new(metrics::registry(Arc::clone(&shared)));
    let metrics = move || {
        let registry = Arc::clone(&registry);
        async move {
            match metrics::write(&registry) {
                Ok(text) => (StatusCode::OK, [(CONTENT_TYPE, metrics::CONTENT_TYPE)], text),
                Err(error) => {
                    let text = error.to_string();
                    (StatusCode::INTERNAL_SERVER_ERROR, [(CONTENT_TYPE, "text/plain")], text)
                }
            }
        }
    };
    let readiness = move || {
        let is_ready = shared.state.is_ready();
        async move {
            if is_ready {
                (StatusCode::OK, "ready\n")
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, "starting or stopping\n")
            }
        }
    };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "alive\n" }))
        .route("/readyz", get(readiness))
}

/// One scrape, without a socket.
#[cfg(test)]
pub(crate) fn scrape(shared: Shared) -> String {
    metrics::write(&metrics::registry(Arc::new(shared))).unwrap_or_default()
}

#[cfg(test)]
#[path = "http_test.rs"]
mod tests;
