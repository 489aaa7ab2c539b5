//! Stream of a connection that hyper serves: it sees when a request is over, and when the next one is for an I/O thread.
//!
//! Between two requests it looks at what arrives before hyper does. A lookup is not given to hyper: the
//! connection goes back to the I/O threads, with the bytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use plumbkv_documents_http::Lane;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Bytes that are looked at between two requests.
const LOOK_BYTES: usize = 8 << 10;

/// How long a body may stay away, and in which time a client has to take [`LEAST_BYTES`] of a response.
const PATIENCE: Duration = Duration::from_secs(10);
const LEAST_BYTES: usize = 10 << 10;

/// Requests of a connection, and how far each is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// Bodies of requests that are not read to their end. One that is given up stays here.
    open_bodies: AtomicUsize,
    /// Hyper has bytes of a request that has not begun.
    has_begin: AtomicBool,
    /// Hyper has more to write.
    is_dirty: AtomicBool,
    /// The connection is to go back.
    wants_back: AtomicBool,
}

impl Progress {
    /// A request has begun.
    pub(super) fn begin(self: &Arc<Self>, body: Incoming) -> Received {
        self.begun.fetch_add(1, SeqCst);
        self.has_begin.store(false, SeqCst);
        self.is_dirty.store(true, SeqCst);
        let is_open = !body.is_end_stream();
        self.open_bodies.fetch_add(usize::from(is_open), SeqCst);
        Received { body, progress: Arc::clone(self), is_open }
    }

    /// Whether every request that has begun is over, its response sent, and no other has begun.
    pub(super) fn is_between(&self) -> bool {
        self.begun.load(SeqCst) == self.ended.load(SeqCst)
            && self.open_bodies.load(SeqCst) == 0
            && !self.has_begin.load(SeqCst)
            && !self.is_dirty.load(SeqCst)
    }

    pub(super) fn wants_back(&self) -> bool {
        self.wants_back.load(SeqCst)
    }
}

/// The body of a request.
pub(super) struct Received {
    body: Incoming,
    progress: Arc<Progress>,
    is_open: bool,
}

impl HttpBody for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if self.is_open && (frame.is_none() || self.body.is_end_stream()) {
            self.is_open = false;
            self.progress.open_bodies.fetch_sub(1, SeqCst);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response: dropped when hyper has taken all of it.
pub(super) struct Sent {
    body: Body,
    progress: Arc<Progress>,
}

impl Sent {
    pub(super) fn new(body: Body, progress: Arc<Progress>) -> Self {
        Self { body, progress }
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.progress.ended.fetch_add(1, SeqCst);
    }
}

/// A stream whose requests are looked at before hyper has them.
pub(super) struct Switch<S> {
    stream: S,
    /// Received, and not yet given to hyper.
    received: Vec<u8>,
    progress: Arc<Progress>,
    returns: Returns,
    body_wait: Option<Pin<Box<Sleep>>>,
    write_wait: Option<(Pin<Box<Sleep>>, usize)>,
}

/// When a connection goes back to the I/O threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    Never,
    /// Before a lookup.
    ForLookups,
    /// After its first request.
    Always,
}

impl<S> Switch<S> {
    pub(super) fn new(stream: S, received: Vec<u8>, returns: Returns, progress: Arc<Progress>) -> Self {
        Self { stream, received, progress, returns, body_wait: None, write_wait: None }
    }

    /// The stream, and what hyper has not been given.
    pub(super) fn into_parts(self) -> (S, Vec<u8>) {
        (self.stream, self.received)
    }

    fn give(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.received.len().min(buffer.remaining());
        buffer.put_slice(&self.received[..count]);
        self.received.drain(..count);
        self.progress.has_begin.store(true, SeqCst);
    }

    fn goes_back(&self) -> bool {
        match self.returns {
            Returns::Never => false,
            Returns::ForLookups => Lane::may_serve(&self.received),
            Returns::Always => true,
        }
    }
}

fn too_slow(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<S: AsyncRead + Unpin> AsyncRead for Switch<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.received.is_empty() {
            this.give(buffer);
            return Poll::Ready(Ok(()));
        }
        if this.returns != Returns::Never
            && this.progress.begun.load(SeqCst) > 0
            && this.progress.is_between()
        {
            let mut space = [0; LOOK_BYTES];
            let mut look = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut look))?;
            this.received.extend_from_slice(look.filled());
            if this.received.is_empty() {
                // The client has ended its side.
                return Poll::Ready(Ok(()));
            }
            if this.goes_back() {
                this.progress.wants_back.store(true, SeqCst);
                return Poll::Pending;
            }
            this.give(buffer);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        match Pin::new(&mut this.stream).poll_read(context, buffer) {
            Poll::Ready(outcome) => {
                this.body_wait = None;
                if buffer.filled().len() > before && this.progress.open_bodies.load(SeqCst) == 0 {
                    this.progress.has_begin.store(true, SeqCst);
                }
                Poll::Ready(outcome)
            }
            Poll::Pending if this.progress.open_bodies.load(SeqCst) > 0 => {
                let wait = this.body_wait.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
                ready!(wait.as_mut().poll(context));
                Poll::Ready(Err(too_slow("the body did not go on")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> Switch<S> {
    /// Sees that a client takes enough of a response.
    fn wrote(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(outcome) => {
                if let (Some((_, taken)), Ok(count)) = (&mut self.write_wait, &outcome) {
                    *taken += count;
                }
                Poll::Ready(outcome)
            }
            Poll::Pending => {
                let (wait, taken) = self.write_wait.get_or_insert_with(|| (Box::pin(sleep(PATIENCE)), 0));
                while wait.as_mut().poll(context).is_ready() {
                    if *taken < LEAST_BYTES {
                        return Poll::Ready(Err(too_slow("the client does not take the response")));
                    }
                    (*wait, *taken) = (Box::pin(sleep(PATIENCE)), 0);
                }
                Poll::Pending
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Switch<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.progress.is_dirty.store(true, SeqCst);
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.wrote(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.progress.is_dirty.store(true, SeqCst);
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Hyper calls it when it has written all that it has.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(Pin::new(&mut this.stream).poll_flush(context))?;
        this.write_wait = None;
        this.progress.is_dirty.store(false, SeqCst);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
