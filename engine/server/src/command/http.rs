//! Does a client speak HTTP? Then it may be a browser whose page tries to reach this server, and nothing more is read.
//!
//! A page can make a browser send a request here, and choose some lines of it; they must not be taken for commands. The
//! first line gives it away, or the `Host:` line at the latest, as in Redis.

use plumbkv_resp::Request;

use crate::log::{PAUSE_SECONDS, Sparingly};
use crate::session::Client;

static LOGGED: Sparingly = Sparingly::new();

/// Whether a request that is no command is the start of an HTTP request, or its `Host:` line.
pub(super) fn is_http(request: &Request<'_>) -> bool {
    let name = request.arg(0);
    let is = |verb: &&str| name.eq_ignore_ascii_case(verb.as_bytes());
    if ["POST", "Host:"].iter().any(is) {
        return true;
    }
    ["GET", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"].iter().any(is)
        && request.len() == 3
        && request.arg(2).starts_with(b"HTTP/")
}

/// Ends the conversation without a reply.
pub(super) fn close(client: &mut Client) {
    client.closing = true;
    if LOGGED.is_due() {
        tracing::warn!(
            "closed a connection that spoke HTTP: a page may try to reach this server through a browser (said at \
                 most once in {PAUSE_SECONDS} s)"
        );
    }
}
