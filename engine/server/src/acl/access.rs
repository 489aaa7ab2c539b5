//! Enforcement: whether the user of a client may execute a request, and the error where not.
//!
//! [`authorize`] is the only place. It is called before a request is executed or queued, again for
//! each queued request at EXEC, and before a script's command; never for a user with all rights.

use super::denied::Denied;
use super::log::{Reason, Refusal};
use crate::client_limits::Limit;
use crate::command::CommandError;
use crate::command::glob;
use crate::command::key_spec::Words;
use crate::command::table::{Spec, flag};
use crate::session::{Client, Origin};
use crate::shared::Shared;

/// Checks a request of a client that is not known to have all rights. The request has a length that
/// `spec` accepts.
///
/// # Errors
/// The client has to authenticate, or its user may not do this; the log records the latter.
#[inline(never)]
pub(crate) fn authorize<W: Words + ?Sized>(
    shared: &Shared,
    client: &Client,
    spec: &'static Spec,
    words: &W,
) -> Result<(), CommandError> {
    if !client.identity.is_authenticated() {
        return if spec.has(flag::NO_AUTH) { Ok(()) } else { Err(CommandError::NO_AUTH) };
    }
    let mut budget = glob::Budget(shared.settings.limits.get(Limit::PatternSteps));
    let user = client.identity.user();
    let Err(denied) = user.check(spec, words, &mut budget) else { return Ok(()) };
    let (reason, object) = match denied {
        Denied::Command => (Reason::Command, spec.name.as_bytes()),
        Denied::Key(place) => (Reason::Key, words.word(place)),
    };
    shared.acl.log.record(shared, client, Refusal { reason, object, user: user.name() });
    Err(error(client.origin, spec, denied))
}

/// The error in the words of Redis 7.0.
fn error(origin: Origin, spec: &Spec, denied: Denied) -> CommandError {
    match (origin, denied) {
        (Origin::Client, Denied::Command) => CommandError::new(format!(
            "NOPERM this user has no permissions to run the '{}' command",
            spec.name
        )),
        (Origin::Client, Denied::Key(_)) => CommandError::fixed(
            "NOPERM this user has no permissions to access one of the keys used as arguments",
        ),
        (Origin::Transaction, Denied::Command) => CommandError::fixed(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This \
             command is no longer allowed for the following reason: no permission to execute the command or \
             subcommand",
        ),
        (Origin::Transaction, Denied::Key(_)) => CommandError::fixed(
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This \
             command is no longer allowed for the following reason: no permission to touch the specified keys",
        ),
        (Origin::Script, Denied::Command) => {
            CommandError::fixed("ERR The user executing the script can't run this command or subcommand")
        }
        (Origin::Script, Denied::Key(_)) => CommandError::fixed(
            "ERR The user executing the script can't access at least one of the keys mentioned in the command \
             arguments",
        ),
    }
}

/// The reply of `ACL DRYRUN` where a request is denied.
pub(crate) fn explain<W: Words + ?Sized>(spec: &Spec, words: &W, denied: Denied) -> Vec<u8> {
    match denied {
        Denied::Command => {
            format!("This user has no permissions to run the '{}' command", spec.name).into_bytes()
        }
        Denied::Key(place) => {
            [b"This user has no permissions to access the '", words.word(place), b"' key"].concat()
        }
    }
}
