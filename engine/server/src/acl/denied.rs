//! What the rules of a user do not allow.

/// What a user may not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denied {
    Command,
    /// Use the key at this place of the request.
    Key(usize),
}
