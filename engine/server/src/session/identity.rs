//! Identity of a client: its user, and whether it has authenticated.

use std::sync::Arc;

use crate::acl::User;
use crate::command::table::Id;
use crate::shared::Shared;

/// Who a client is, as far as the server knows at the version of the settings it has seen last.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    user: Arc<User>,
    is_authenticated: bool,
    /// Authenticated as a user with all rights: requests are executed without a further check.
    is_unrestricted: bool,
    /// The version of the settings ([`crate::client_limits::Limits::version`]) before the user was
    /// looked up.
    version: u64,
}

impl Identity {
    /// Of a new connection: the default user, authenticated unless that one has a password.
    pub(crate) fn of_connection(shared: &Shared) -> Self {
        let version = shared.settings.limits.version();
        let user = shared.acl.users.default_user();
        let is_authenticated = user.is_open();
        Self::new(user, is_authenticated, version)
    }

    fn new(user: Arc<User>, is_authenticated: bool, version: u64) -> Self {
        let is_unrestricted = is_authenticated && user.is_unrestricted();
        Self { user, is_authenticated, is_unrestricted, version }
    }

    /// Of a client that has logged in.
    pub(crate) fn log_in(&mut self, user: Arc<User>) {
        *self = Self::new(user, true, self.version);
    }

    /// Takes the rules that hold now. A deleted user has no rights, until its connection ends.
    pub(crate) fn refresh(&mut self, shared: &Shared) {
        let version = shared.settings.limits.version();
        if version == self.version {
            return;
        }
        let name = self.user.name();
        let user = shared.acl.users.get(name).unwrap_or_else(|| Arc::new(User::new(name)));
        // Without a password to give there is nothing left to wait for.
        let is_authenticated = self.is_authenticated || (user.is_default() && user.is_open());
        *self = Self::new(user, is_authenticated, version);
    }

    /// For the commands of a script, which are checked where the script calls them.
    pub(crate) fn of_script(&self) -> Self {
        Self { is_authenticated: true, is_unrestricted: true, ..self.clone() }
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn user(&self) -> &User {
        &self.user
    }

    pub(crate) fn is_authenticated(&self) -> bool {
        self.is_authenticated
    }

    /// Whether a command without keys may be executed.
    pub(super) fn may_execute(&self, id: Id) -> bool {
        self.is_unrestricted || self.user.may_execute(id)
    }

    /// Whether every request may be executed.
    #[inline]
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.is_unrestricted
    }
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Client,
    /// A queue that EXEC executes.
    Transaction,
    Script,
}
