//! HTTP/1.1 under load: documents by key on connections that are kept.
//!
//! A codec like the others: bytes in, bytes out. A read is a GET of the key's path, a write a PUT, a delete a DELETE.
//! The status is looked at before anything else: fifty thousand refusals a second are no throughput.

mod reply;
mod request;

pub use reply::{judge, status};
pub use request::write;

/// Where documents are found on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What stands in the `Host` header.
    pub host: String,
    /// What the path begins with, before the key: `/documents/`.
    pub path_prefix: String,
}
