//! Keys that all clients change at the same time: a counter, of which no increment may be lost, and a
//! lease, which one of them gets.

use super::client::{COUNTER, Client, LEASE};
use super::world::World;
use crate::durable::Durable;
use crate::error::{Error, Result};
use crate::memory::{Condition, SetOptions};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct Shared {
    /// Whether the keys are as they should be at first.
    has_begun: bool,
    increments: AtomicU64,
    leases: AtomicU64,
}

impl Shared {
    /// No client is at work.
    pub(super) fn begin(world: &World, db: &Durable) -> Self {
        let done = db.set(COUNTER, b"0").and_then(|()| db.delete(LEASE));
        if let Err(error) = &done {
            world.failed("a shared key", error);
        }
        Self { has_begun: done.is_ok(), increments: AtomicU64::new(0), leases: AtomicU64::new(0) }
    }

    /// A step of a client.
    pub(super) fn change(&self, client: &mut Client, (world, db): (&World, &Durable)) {
        if !self.has_begun {
            return;
        }
        world.count("changes of shared keys");
        let done = if client.random.u32(..4) > 0 { self.increment(db) } else { self.ask(client, db) };
        world.note(&done.as_ref().ok());
        if let Err(error) = done {
            client.failures += 1;
            world.failed("a shared key", &error);
        }
    }

    fn increment(&self, db: &Durable) -> Result<i64> {
        let found = db.increment(COUNTER, 1)?;
        self.increments.fetch_add(1, Ordering::Relaxed);
        Ok(found)
    }

    fn ask(&self, client: &Client, db: &Durable) -> Result<i64> {
        let options = SetOptions { condition: Condition::IfAbsent, ..SetOptions::default() };
        let is_mine = db.set_with(LEASE, &[client.id], options)?.written;
        let given = self.leases.fetch_add(u64::from(is_mine), Ordering::Relaxed);
        assert!(!is_mine || given == 0, "two clients have the lease");
        Ok(i64::from(is_mine))
    }

    /// All clients are done.
    pub(super) fn end(self, world: &World, db: &Durable) {
        let found = db.read(COUNTER, <[u8]>::to_vec);
        match found {
            Ok(found) if self.has_begun => {
                let expected = self.increments.into_inner().to_string().into_bytes();
                assert!(found.as_ref() == Some(&expected), "{found:?} increments, {expected:?} acknowledged");
            }
            Ok(_) => {}
            Err(error @ Error::Closed) => panic!("{error}"),
            Err(error) => world.failed("a shared key", &error),
        }
    }
}
