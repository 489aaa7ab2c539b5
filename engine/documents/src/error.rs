//! Errors of the document store: what happened, and what to do about it.

/// Result of a call on collections.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Class of an error; an HTTP server derives the status code from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A parameter or a document is not valid.
    Invalid,
    /// A collection or a document does not exist.
    NotFound,
    /// A collection with this name exists.
    Exists,
    /// A condition about a document's version does not hold.
    Precondition,
    /// A document, a batch or an answer exceeds a limit.
    TooLarge,
    /// A cursor belongs to another query or to an earlier schema.
    Stale,
    /// The index is being built; try again later.
    NotReady,
    /// A version did not become searchable in time.
    Timeout,
    /// There is no room on the disk or under the memory cap. Nothing was changed.
    NoSpace,
    /// The store failed in another way.
    Storage,
    /// A non-blocking caller would wait.
    WouldBlock,
}

/// An error with its class and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    pub(crate) fn storage(message: impl Into<String>) -> Self {
        Self::new(Kind::Storage, message)
    }

    /// Its class.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl From<plumbkv::Error> for Error {
    fn from(error: plumbkv::Error) -> Self {
        let kind = match &error {
            plumbkv::Error::WouldBlock => Kind::WouldBlock,
            plumbkv::Error::Io { kind: std::io::ErrorKind::StorageFull, .. } => Kind::NoSpace,
            plumbkv::Error::OutOfMemory | plumbkv::Error::TooLargeForCap { .. } => Kind::NoSpace,
            plumbkv::Error::KeyTooLong { .. } => Kind::Invalid,
            plumbkv::Error::TooLargeForBudget { .. }
            | plumbkv::Error::BatchTooLong { .. }
            | plumbkv::Error::ValueTooLong { .. } => Kind::TooLarge,
            _ => Kind::Storage,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<tantivy::TantivyError> for Error {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::storage(format!("the index failed: {error}"))
    }
}
