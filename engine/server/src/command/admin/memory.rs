//! MEMORY: what memory is used for.

use std::time::Duration;

use super::counting;
use crate::command::args::{self, Arguments, is};
use crate::command::table::Id;
use crate::command::{CommandError, Context};
use crate::process;
use crate::shared::Shared;

/// What MEMORY is asked.
#[derive(Debug)]
pub(crate) enum Query<'a> {
    Usage { key: &'a [u8] },
    Stats,
    Doctor,
    Purge,
    MallocStats,
}

/// How long MEMORY PURGE works, at most.
const PURGE: Duration = Duration::from_millis(100);

/// With less memory in use MEMORY DOCTOR says nothing, as in Redis, in bytes.
const LITTLE: u64 = 5 << 20;

impl<'a> Query<'a> {
    pub(crate) fn parse(id: Id, words: Arguments<'a>) -> Result<Self, CommandError> {
        Ok(match id {
            Id::MemoryUsage => Self::parse_usage(words)?,
            Id::MemoryStats => Self::Stats,
            Id::MemoryDoctor => Self::Doctor,
            Id::MemoryPurge => Self::Purge,
            Id::MemoryMallocStats => Self::MallocStats,
            _ => return Err(CommandError::not_served()),
        })
    }

    fn parse_usage(mut words: Arguments<'a>) -> Result<Self, CommandError> {
        let key = words.word();
        while let Some(option) = words.next() {
            // Values are not nested, so that there is nothing to sample; the number is still checked.
            let number = words.next().filter(|_| is(option, "SAMPLES")).ok_or(CommandError::SYNTAX)?;
            if args::integer(number)? < 0 {
                return Err(CommandError::SYNTAX);
            }
        }
        Ok(Self::Usage { key })
    }

    pub(crate) fn answer(self, context: &mut Context<'_>) -> Result<(), CommandError> {
        match self {
            Self::Usage { key } => {
                match context.keys().memory_usage(key)? {
                    Some(bytes) => context.reply().integer(bytes as i64),
                    None => context.reply().null(),
                }
                Ok(())
            }
            Self::Stats => stats(context),
            Self::Doctor => {
                let text = diagnose(&Figures::of(context.shared));
                context.reply().verbatim("txt", text.as_bytes());
                Ok(())
            }
            Self::Purge => {
                context.shared.database.maintain(PURGE);
                context.ok()
            }
            Self::MallocStats => {
                context.reply().verbatim("txt", b"Stats not supported for the current allocator");
                Ok(())
            }
        }
    }
}

/// Bytes that INFO's Memory section shows, too.
#[derive(Debug, Clone, Copy)]
struct Figures {
    used: u64,
    peak: u64,
    startup: u64,
    entries: u64,
    resident: u64,
    cap: u64,
}

impl Figures {
    fn of(shared: &Shared) -> Self {
        let stats = shared.database.stats();
        Self {
            used: stats.accounted_bytes,
            peak: shared.peak_bytes(),
            startup: shared.state.startup().accounted_bytes,
            entries: stats.entry_bytes,
            resident: process::resident_bytes().unwrap_or(0),
            cap: stats.cap_bytes,
        }
    }

    fn overhead(&self) -> u64 {
        self.used.saturating_sub(self.entries)
    }

    fn fragmentation(&self) -> f64 {
        self.resident as f64 / self.used.max(1) as f64
    }
}

/// A figure of MEMORY STATS.
enum Figure {
    Bytes(u64),
    Difference(i64),
    Ratio(f64),
}

/// MEMORY STATS, in Redis's names. The allocator's own figures are left out: they are not known.
fn stats(context: &mut Context<'_>) -> Result<(), CommandError> {
    use Figure::{Bytes, Difference, Ratio};
    let shared = context.shared;
    let keys = counting::all_at_once(&shared.database)?;
    let figures = Figures::of(shared);
    let data = figures.used.saturating_sub(figures.startup);
    let percent = |part: u64, whole: u64| Ratio(part as f64 * 100.0 / whole.max(1) as f64);
    let scripts = shared.scripts.bytes();
    let clients = shared.client_memory.used(&shared.database);
    let table = figures.overhead().saturating_sub(figures.startup).saturating_sub(clients);
    let before = [
        ("peak.allocated", Bytes(figures.peak)),
        ("total.allocated", Bytes(figures.used)),
        ("startup.allocated", Bytes(figures.startup)),
        ("replication.backlog", Bytes(0)),
        ("clients.slaves", Bytes(0)),
        ("clients.normal", Bytes(clients)),
        ("cluster.links", Bytes(0)),
        ("aof.buffer", Bytes(0)),
        ("lua.caches", Bytes(scripts)),
        ("functions.caches", Bytes(0)),
    ];
    let behind = [
        ("overhead.total", Bytes(figures.overhead())),
        ("keys.count", Bytes(keys.keys)),
        ("keys.bytes-per-key", Bytes(data.checked_div(keys.keys).unwrap_or(0))),
        ("dataset.bytes", Bytes(figures.entries)),
        ("dataset.percentage", percent(figures.entries.min(data), data)),
        ("peak.percentage", percent(figures.used, figures.peak)),
        ("fragmentation", Ratio(figures.fragmentation())),
        ("fragmentation.bytes", Difference(figures.resident as i64 - figures.used as i64)),
    ];
    let has_keys = keys.keys > 0;
    let mut reply = context.reply();
    reply.map(before.len() + usize::from(has_keys) + behind.len());
    let write = |reply: &mut plumbkv_resp::ReplyWriter<'_>, (name, figure): (&str, Figure)| {
        reply.bulk(name.as_bytes());
        match figure {
            Bytes(bytes) => reply.integer(i64::try_from(bytes).unwrap_or(i64::MAX)),
            Difference(bytes) => reply.integer(bytes),
            Ratio(ratio) => reply.double(ratio),
        }
    };
    before.into_iter().for_each(|one| write(&mut reply, one));
    if has_keys {
        reply.bulk(b"db.0");
        reply.map(3);
        // One table has keys and their lifetimes.
        write(&mut reply, ("overhead.hashtable.main", Bytes(table)));
        write(&mut reply, ("overhead.hashtable.expires", Bytes(0)));
        write(&mut reply, ("overhead.hashtable.slot-to-keys", Bytes(0)));
    }
    behind.into_iter().for_each(|one| write(&mut reply, one));
    Ok(())
}

/// The text of MEMORY DOCTOR.
fn diagnose(figures: &Figures) -> String {
    let Figures { used, peak, resident, cap, .. } = *figures;
    if used < LITTLE {
        return format!("Less than {} MiB are in use: too little for a judgement.", LITTLE >> 20);
    }
    let mib = |bytes: u64| bytes >> 20;
    let mut found = Vec::new();
    if peak > used.saturating_mul(3) / 2 {
        found.push(format!(
            "Peak memory: {} MiB were in use once, and {} MiB are now. What was freed is given back to the system piece by piece; \
             MEMORY PURGE does some of it at once.",
            mib(peak),
            mib(used)
        ));
    }
    if figures.fragmentation() > 1.4 && resident.saturating_sub(used) > 10 << 20 {
        found.push(format!(
            "Resident memory: the process has {} MiB, of which {} MiB are accounted for. A peak in the past, or an allocator other than \
             glibc's, explains such a difference.",
            mib(resident),
            mib(used)
        ));
    }
    if cap != u64::MAX && used > cap / 100 * 95 {
        found.push(format!(
            "Memory cap: {} MiB of {} MiB (maxmemory) are in use. Under a policy of eviction this is how a cache works; under \
             noeviction writes are about to be refused.",
            mib(used),
            mib(cap)
        ));
    }
    if found.is_empty() {
        return "No memory problem was found.".to_owned();
    }
    found.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::test_support::Driver;

    #[test]
    fn figures_are_those_of_info() {
        let driver = Driver::new();
        let mut client = driver.connect();
        let stats = client.ask("memory stats");
        assert!(stats.starts_with("*36\r\n$14\r\npeak.allocated\r\n:"), "{stats}");
        assert!(stats.contains("$10\r\nkeys.count\r\n:0\r\n") && !stats.contains("db.0"), "{stats}");
        client.ask("set k v");
        let stats = client.ask("memory stats");
        assert!(stats.starts_with("*38\r\n") && stats.contains("$10\r\nkeys.count\r\n:1\r\n"), "{stats}");
        let used = driver.shared.database.used();
        assert!(stats.contains(&format!("$15\r\ntotal.allocated\r\n:{used}\r\n")), "{stats} {used}");
        client.check("memory purge", "+OK\r\n");
        assert!(client.ask("memory malloc-stats").contains("not supported"));
        assert!(client.ask("memory doctor").contains("too little"));
    }

    #[test]
    fn the_doctor_finds_a_peak_a_difference_and_a_full_cap() {
        let healthy = Figures {
            used: 100 << 20,
            peak: 100 << 20,
            startup: 0,
            entries: 90 << 20,
            resident: 110 << 20,
            cap: u64::MAX,
        };
        assert_eq!(diagnose(&healthy), "No memory problem was found.");
        assert!(diagnose(&Figures { peak: 151 << 20, ..healthy }).starts_with("Peak memory: 151 MiB"));
        assert!(
            diagnose(&Figures { resident: 141 << 20, ..healthy })
                .starts_with("Resident memory: the process has 141")
        );
        assert!(
            diagnose(&Figures { cap: 102 << 20, ..healthy }).starts_with("Memory cap: 100 MiB of 102 MiB")
        );
        assert_eq!(diagnose(&Figures { cap: 110 << 20, ..healthy }), "No memory problem was found.");
    }
}
