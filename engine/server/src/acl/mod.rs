//! Access control lists (ACL): users with passwords and rules, and the log of what was refused.
//!
//! A [`User`] is an immutable snapshot. `ACL SETUSER` changes a copy and puts it into the table;
//! each connection holds the snapshot of its user and takes a new one when the version of the
//! settings has grown ([`crate::session::Identity`]). So a request of a user with all rights costs
//! one branch and no lock. [`authorize`] is the one place where requests are checked.
//!
//! A user's rules form selectors ([`selector`]): the user's own, and those in parentheses. One of
//! them has to allow the command ([`commands`], [`category`]) and all of its keys ([`patterns`]).

mod access;
pub(crate) mod category;
mod command_set;
mod commands;
mod denied;
pub(crate) mod log;
mod password;
mod patterns;
mod rule;
mod selector;
mod user;
mod users;

pub(crate) use access::{authorize, explain};
pub(crate) use password::hex;
pub(crate) use user::{DEFAULT, User};
pub(crate) use users::LONGEST_PASSWORD;
use users::Users;

use crate::acl::log::Log;

/// The users of a server, and its security log.
#[derive(Debug)]
pub(crate) struct Acl {
    pub(crate) users: Users,
    pub(crate) log: Log,
}

impl Acl {
    /// The default user alone, with this password or none.
    pub(crate) fn new(password: Option<&str>) -> Self {
        Self { users: Users::new(password), log: Log::default() }
    }
}
