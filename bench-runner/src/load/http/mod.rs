//! HTTP/1.1 under load: documents by key, on connections that are kept or that serve one request each.
//!
//! A codec like the others: bytes in, bytes out. A read is a GET of the key's path, a write a PUT, a delete a DELETE.
//! Of a server that is not ours one [`Page`] is read. The status is looked at before anything else: fifty thousand
//! refusals a second are no throughput.

mod page;
mod reply;
mod request;

pub use page::Page;
pub use reply::{judge, status};
pub use request::write;

/// Where documents are found on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What stands in the `Host` header.
    pub host: String,
    /// What the path begins with, before the key: `/documents/`.
    pub path_prefix: String,
    /// Every request asks for its connection to be closed, and so has one of its own.
    pub close: bool,
}
