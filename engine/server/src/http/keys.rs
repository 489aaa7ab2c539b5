//! Keys of Redis clients over HTTP: those of database 0, with what clients that watch or track them are told.

use std::net::IpAddr;
use std::sync::Arc;

use plumbkv::{Expiry, Lifetime, SetOptions};
use plumbkv_documents_http::{Keys as HttpKeys, Problem};

use crate::databases::Keys;
use crate::shared::Shared;
use crate::tracking;

/// No client has this number: every client that tracks a key is told.
const NO_CLIENT: u64 = 0;

/// Keys for a thread that has a turn.
pub(super) struct InTurn<'a>(pub(super) &'a Shared);

/// Keys for a thread that has none: each call takes one.
pub(super) struct WithTurns(pub(super) Arc<Shared>);

impl InTurn<'_> {
    fn keys(&self) -> Keys<'_> {
        Keys::new(&self.0.database, self.0.databases.keyspace(0))
    }

    fn changed(&self, key: &[u8]) {
        let stored = self.keys().stored(key);
        if !self.0.watches.is_empty() {
            self.0.watches.touch(&stored);
        }
        if !self.0.tracking.is_empty() {
            tracking::invalidate(self.0, &stored, NO_CLIENT);
        }
    }
}

impl HttpKeys for InTurn<'_> {
    /// Without tokens HTTP is no way around the password or protected mode.
    fn admit(&self, peer: IpAddr) -> Result<(), Problem> {
        if !self.0.web.access().tokens.is_empty() {
            return Ok(());
        }
        if !self.0.acl.users.default_user().is_nopass() {
            return Err(Problem::forbidden(
                "a password protects the keys: give the server --http-tokens, and send one of the tokens",
            ));
        }
        if self.0.settings.protected_mode() && !peer.is_loopback() {
            return Err(Problem::forbidden(
                "in protected mode keys are served to this machine only: give the server --http-tokens, and send one of \
                 the tokens",
            ));
        }
        Ok(())
    }

    fn read(&self, key: &[u8], f: &mut dyn FnMut(&[u8], Option<u64>)) -> plumbkv::Result<bool> {
        let keys = self.keys();
        let left_ms = match keys.expiry(key)? {
            Lifetime::Until(at) => Some(at.saturating_sub(keys.now_ms())),
            _ => None,
        };
        Ok(self.0.database.read(&keys.stored(key), |value| f(value, left_ms))?.is_some())
    }

    fn set(&self, key: &[u8], value: &[u8], ttl_ms: Option<u64>) -> plumbkv::Result<()> {
        let keys = self.keys();
        let expiry = ttl_ms.map_or(Expiry::Clear, |ms| Expiry::At(keys.now_ms().saturating_add(ms)));
        let outcome = keys.set_with(key, value, SetOptions::new().expiry(expiry));
        self.changed(key);
        outcome.map(drop)
    }

    fn delete(&self, key: &[u8]) -> plumbkv::Result<bool> {
        let outcome = self.keys().delete(key);
        self.changed(key);
        outcome
    }
}

impl HttpKeys for WithTurns {
    fn admit(&self, peer: IpAddr) -> Result<(), Problem> {
        InTurn(&self.0).admit(peer)
    }

    fn read(&self, key: &[u8], f: &mut dyn FnMut(&[u8], Option<u64>)) -> plumbkv::Result<bool> {
        let _turn = self.0.turns.shared();
        InTurn(&self.0).read(key, f)
    }

    fn set(&self, key: &[u8], value: &[u8], ttl_ms: Option<u64>) -> plumbkv::Result<()> {
        let _turn = self.0.turns.shared();
        InTurn(&self.0).set(key, value, ttl_ms)
    }

    fn delete(&self, key: &[u8]) -> plumbkv::Result<bool> {
        let _turn = self.0.turns.shared();
        InTurn(&self.0).delete(key)
    }
}
