//! How much memory may the server use when nobody says? 80 % of the cgroup's limit, else of the machine's memory.

use plumbkv::MemoryLimit;
use std::path::Path;

use crate::units::show_bytes;

/// A default cap and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefaultCap {
    pub(crate) bytes: u64,
    /// For the start-up line: `80 % of the cgroup's limit of 2 GiB (/sys/fs/cgroup/memory.max)`.
    pub(crate) origin: String,
}

impl DefaultCap {
    /// The cap on clients alone, where a store has a budget of its own: what that leaves; but clients are not shut out where it leaves nothing.
    pub(crate) fn beside_store(self, budget: u64) -> Self {
        let bytes = self.bytes.saturating_sub(budget).max(self.bytes / LEAST_PART);
        let origin = format!("what the store's {} leave of {}", show_bytes(budget), self.origin);
        Self { bytes, origin }
    }
}

/// The part of the cap that clients have in any case.
const LEAST_PART: u64 = 8;

/// Share of what there is, in percent: the rest is for connections, tables in growth and the allocator's slack.
const SHARE_PERCENT: u64 = 80;

/// The default cap of this process, with `/proc` and `/sys` below a root; `None` where neither cgroup nor machine says anything.
pub(crate) fn default_cap(root: &Path) -> Option<DefaultCap> {
    let limit = MemoryLimit::below(root)?;
    let what = match limit.file {
        Some(file) => format!("the cgroup's limit of {} ({})", show_bytes(limit.bytes), file.display()),
        None => format!("the machine's memory of {}", show_bytes(limit.bytes)),
    };
    Some(DefaultCap {
        bytes: limit.bytes / 100 * SHARE_PERCENT,
        origin: format!("{SHARE_PERCENT} % of {what}"),
    })
}

#[cfg(test)]
#[path = "limits_test.rs"]
mod tests;
