//! Commands of transactions: MULTI, EXEC, DISCARD, WATCH and UNWATCH.

use super::args::Arguments;
use super::table::Id;
use super::{CommandError, Context};
use crate::session::Transaction;
use crate::watches;

/// Commands of transactions.
#[derive(Debug)]
pub(crate) enum Command<'a> {
    Multi,
    Exec,
    Discard,
    Watch { keys: Arguments<'a> },
    Unwatch,
}

impl<'a> Command<'a> {
    pub(crate) fn parse(id: Id, words: Arguments<'a>) -> Result<Self, CommandError> {
        Ok(match id {
            Id::Multi => Self::Multi,
            Id::Exec => Self::Exec,
            Id::Discard => Self::Discard,
            Id::Watch => Self::Watch { keys: words },
            Id::Unwatch => Self::Unwatch,
            _ => return Err(CommandError::not_served()),
        })
    }

    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        let database = context.keys();
        let client = &mut *context.client;
        match self {
            Self::Multi if client.transaction.is_some() => {
                return Err(CommandError::fixed("ERR MULTI calls can not be nested"));
            }
            Self::Multi => {
                client.transaction = Some(Box::<Transaction>::default());
                client.entry.record_queued(Some(0));
            }
            // A transaction that can be executed is executed by the session.
            Self::Exec if client.transaction.is_none() => {
                return Err(CommandError::fixed("ERR EXEC without MULTI"));
            }
            Self::Exec => {
                client.discard(context.shared);
                return Err(CommandError::fixed(
                    "EXECABORT Transaction discarded because of previous errors.",
                ));
            }
            Self::Discard if client.transaction.is_none() => {
                return Err(CommandError::fixed("ERR DISCARD without MULTI"));
            }
            Self::Discard => client.discard(context.shared),
            Self::Watch { .. } if client.transaction.is_some() => {
                return Err(CommandError::fixed("ERR WATCH inside MULTI is not allowed"));
            }
            Self::Watch { keys } => {
                for key in keys {
                    watches::watch(context.shared, &client.entry, &database.stored(key))?;
                }
            }
            Self::Unwatch => watches::unwatch(context.shared, &client.entry),
        }
        context.ok()
    }
}

#[cfg(test)]
#[path = "transaction_test.rs"]
mod tests;
