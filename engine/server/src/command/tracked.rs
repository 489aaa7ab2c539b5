//! CLIENT TRACKING, CACHING and TRACKINGINFO: what is tracked for a connection ([`crate::tracking`]).

use super::args::{self, Arguments, is};
use super::table::Id;
use super::{CommandError, Context};
use crate::clients::Entry;
use crate::tracking::{self, bit};

/// What is asked about tracking.
#[derive(Debug)]
pub(crate) enum Query<'a> {
    /// ON or OFF, and options.
    Change(Arguments<'a>),
    Caching {
        yes: bool,
    },
    BadCaching,
    Info,
}

/// How a client wants to track.
#[derive(Debug, Default)]
pub(crate) struct Options<'a> {
    /// Bits of [`bit`].
    bits: u8,
    /// The client that messages go to; 0 for the client itself.
    redirect: u64,
    prefixes: Vec<&'a [u8]>,
}

const ONE_CLIENT: CommandError =
    CommandError::fixed("ERR A client can only redirect to a single other client");
const NO_CLIENT: CommandError = CommandError::fixed("ERR The client ID you want redirect to does not exist");
const NO_BCAST: CommandError = CommandError::fixed("ERR PREFIX option requires BCAST mode to be enabled");
const BOTH: CommandError = CommandError::fixed("ERR You can't specify both OPTIN mode and OPTOUT mode");
const NOT_WITH_BCAST: CommandError =
    CommandError::fixed("ERR OPTIN and OPTOUT are not compatible with BCAST");
const OTHER_BCAST: CommandError = CommandError::fixed(
    "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different \
     mode.",
);
const OTHER_OPT: CommandError = CommandError::fixed(
    "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different \
     mode.",
);
const NO_OPT: CommandError = CommandError::fixed(
    "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
);
const NO_OPT_IN: CommandError =
    CommandError::fixed("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
const NO_OPT_OUT: CommandError =
    CommandError::fixed("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");

impl<'a> Query<'a> {
    pub(crate) fn parse(id: Id, mut words: Arguments<'a>) -> Result<Self, CommandError> {
        if id == Id::ClientTrackinginfo {
            return Ok(Self::Info);
        }
        if id == Id::ClientCaching {
            let word = words.word();
            return Ok(match word {
                _ if is(word, "YES") => Self::Caching { yes: true },
                _ if is(word, "NO") => Self::Caching { yes: false },
                // Whether the client tracks is looked at first.
                _ => Self::BadCaching,
            });
        }
        Ok(Self::Change(words))
    }

    pub(crate) fn execute(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        let entry = &context.client.entry;
        match self {
            Self::Change(mut words) => {
                let word = words.word();
                let options = Options::parse(words, context)?;
                match word {
                    _ if is(word, "ON") => {
                        options.check(entry)?;
                        let Options { bits, redirect, prefixes } = options;
                        tracking::start(context.shared, entry, bits, redirect, &prefixes)?;
                    }
                    _ if is(word, "OFF") => tracking::stop(context.shared, entry),
                    _ => return Err(CommandError::SYNTAX),
                }
            }
            Self::Caching { .. } | Self::BadCaching
                if !entry.tracking.has(bit::OPT_IN) && !entry.tracking.has(bit::OPT_OUT) =>
            {
                return Err(NO_OPT);
            }
            Self::BadCaching => return Err(CommandError::SYNTAX),
            Self::Caching { yes: true } if !entry.tracking.has(bit::OPT_IN) => return Err(NO_OPT_IN),
            Self::Caching { yes: false } if !entry.tracking.has(bit::OPT_OUT) => return Err(NO_OPT_OUT),
            Self::Caching { .. } => entry.tracking.begin_caching(),
            Self::Info => {
                describe(context);
                return Ok(());
            }
        }
        context.ok()
    }
}

impl<'a> Options<'a> {
    /// Whether a client exists is looked at where it is named, before what follows is read, as in Redis.
    fn parse(mut words: Arguments<'a>, context: &Context<'_>) -> Result<Self, CommandError> {
        let mut options = Options::default();
        while let Some(option) = words.next() {
            match option {
                _ if is(option, "REDIRECT") && words.len() > 0 => {
                    if options.redirect != 0 {
                        return Err(ONE_CLIENT);
                    }
                    let id = u64::try_from(args::integer(words.word())?).ok();
                    let id = id.filter(|id| context.shared.clients.get(*id).is_some());
                    options.redirect = id.ok_or(NO_CLIENT)?;
                }
                _ if is(option, "PREFIX") && words.len() > 0 => options.prefixes.push(words.word()),
                _ if is(option, "BCAST") => options.bits |= bit::BROADCAST,
                _ if is(option, "OPTIN") => options.bits |= bit::OPT_IN,
                _ if is(option, "OPTOUT") => options.bits |= bit::OPT_OUT,
                _ if is(option, "NOLOOP") => options.bits |= bit::NO_LOOP,
                _ => return Err(CommandError::SYNTAX),
            }
        }
        Ok(options)
    }

    /// Refuses what does not go together, in Redis's order.
    fn check(&self, entry: &Entry) -> Result<(), CommandError> {
        let wants = |bits| self.bits & bits == bits;
        let mode = &entry.tracking;
        if !wants(bit::BROADCAST) && !self.prefixes.is_empty() {
            return Err(NO_BCAST);
        }
        if mode.has(bit::ON) && mode.has(bit::BROADCAST) != wants(bit::BROADCAST) {
            return Err(OTHER_BCAST);
        }
        if wants(bit::BROADCAST) && (wants(bit::OPT_IN) || wants(bit::OPT_OUT)) {
            return Err(NOT_WITH_BCAST);
        }
        if wants(bit::OPT_IN | bit::OPT_OUT) {
            return Err(BOTH);
        }
        if wants(bit::OPT_IN) && mode.has(bit::OPT_OUT) || wants(bit::OPT_OUT) && mode.has(bit::OPT_IN) {
            return Err(OTHER_OPT);
        }
        self.check_prefixes(&mode.prefixes())
    }

    /// Two prefixes of which one begins with the other would tell a client twice.
    fn check_prefixes(&self, own: &[Box<[u8]>]) -> Result<(), CommandError> {
        let overlap = |one: &[u8], other: &[u8]| one.starts_with(other) || other.starts_with(one);
        let refused = |prefix: &[u8], words: &str, other: &[u8]| {
            let end = "'. Prefixes for a single client must not overlap.";
            CommandError::quoting_two("ERR Prefix '", prefix, words, other, end)
        };
        for (place, prefix) in self.prefixes.iter().enumerate() {
            if let Some(other) = own.iter().find(|other| overlap(prefix, other)) {
                return Err(refused(prefix, "' overlaps with an existing prefix '", other));
            }
            if let Some(other) = self.prefixes[place + 1..].iter().find(|other| overlap(prefix, other)) {
                return Err(refused(prefix, "' overlaps with another provided prefix '", other));
            }
        }
        Ok(())
    }
}

/// TRACKINGINFO.
fn describe(context: &mut Context<'_>) {
    let mode = &context.client.entry.tracking;
    let is_exception = mode.has(bit::CACHING);
    let flags: Vec<&str> = [
        (!mode.has(bit::ON), "off"),
        (mode.has(bit::ON), "on"),
        (mode.has(bit::BROADCAST), "bcast"),
        (mode.has(bit::OPT_IN), "optin"),
        (mode.has(bit::OPT_IN) && is_exception, "caching-yes"),
        (mode.has(bit::OPT_OUT), "optout"),
        (mode.has(bit::OPT_OUT) && is_exception, "caching-no"),
        (mode.has(bit::NO_LOOP), "noloop"),
        (mode.has(bit::BROKEN), "broken_redirect"),
    ]
    .into_iter()
    .filter_map(|(is_set, name)| is_set.then_some(name))
    .collect();
    let redirection = context.client.entry.redirection();
    let prefixes: Vec<Box<[u8]>> = mode.prefixes().clone();
    let mut reply = context.reply();
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"redirect");
    reply.integer(redirection);
    reply.bulk(b"prefixes");
    reply.array(prefixes.len());
    prefixes.iter().for_each(|prefix| reply.bulk(prefix));
}
