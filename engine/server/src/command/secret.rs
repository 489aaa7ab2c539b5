//! Words of requests that no log and no monitor shows: passwords, and arguments about users, as in Redis.

use plumbkv_resp::Request;

use super::args::is;
use super::table::{Id, Spec};

/// Whether the word at `place` is one of them.
pub(crate) fn is_secret(spec: &Spec, request: &Request<'_>, place: usize) -> bool {
    let before = |distance: usize| place.checked_sub(distance).filter(|place| *place > 1);
    match spec.id {
        Id::Auth => place > 0,
        Id::AclSetuser | Id::AclGetuser | Id::AclDeluser => place > 1,
        Id::ConfigSet => before(1).is_some_and(|name| is(request.arg(name), "requirepass")),
        Id::Hello => [before(1), before(2)].iter().flatten().any(|option| is(request.arg(*option), "AUTH")),
        _ => false,
    }
}
