//! Which tables are merged next? A function of nothing but the tables there are and the targets.
//!
//! Sizes of levels hang from the largest: each level may be a tenth of the next one, and levels whose tenth would be below `base_bytes` are passed over. So nine tenths of
//! the data lie in the last level whatever the size of the store, which bounds what superseded versions take on disk to about a ninth. (RocksDB has the same under the name
//! of dynamic level targets: <https://rocksdb.org/blog/2015/07/23/dynamic-level.html>.)

use crate::lsm::manifest::{LEVELS, TableFacts, Version};

/// The most bytes of the lower level that an optional compaction may rewrite, for each byte of the upper level.
const TIDY_FACTOR: u64 = 16;

/// When is a level too large?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Targets {
    /// Tables of level 0 from which on they are merged.
    pub(crate) level0_tables: usize,
    /// The least that the first level below 0 may hold.
    pub(crate) base_bytes: u64,
    /// How much more each level may hold than the one above.
    pub(crate) multiplier: u64,
}

/// What is to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) level: usize,
    /// Numbers of tables of that level.
    pub(crate) upper: Vec<u64>,
    pub(crate) target: usize,
    /// Numbers of the tables of the target level that overlap them.
    pub(crate) lower: Vec<u64>,
    /// The upper tables do not overlap each other.
    pub(crate) is_apart: bool,
}

impl Choice {
    /// Nothing to merge with: the tables can be handed down as they are. So is all that is loaded in order.
    pub(crate) fn is_move(&self) -> bool {
        self.is_apart && self.lower.is_empty()
    }
}

/// What each level may hold, and the first one that is used below 0.
pub(crate) fn allowed(version: &Version, targets: &Targets) -> ([u64; LEVELS], usize) {
    let mut allowed = [u64::MAX; LEVELS];
    let last = (1..LEVELS).rev().find(|level| !version.levels[*level].is_empty()).unwrap_or(LEVELS - 1);
    let mut bytes = version.bytes(last).max(targets.base_bytes);
    let mut base = last;
    for level in (1..=last).rev() {
        allowed[level] = bytes;
        base = level;
        if bytes / targets.multiplier < targets.base_bytes {
            break;
        }
        bytes /= targets.multiplier;
    }
    // The last level has no bound but its own size; where it could have one more below it, it may grow into that.
    if last < LEVELS - 1 {
        allowed[last] = allowed[last].max(targets.base_bytes * targets.multiplier.pow(last as u32));
    } else {
        allowed[last] = u64::MAX;
    }
    (allowed, base)
}

/// What is most in need of being merged, if anything is.
///
/// What level 0 is merged with is the base level: the larger that has become, the longer it takes, and the
/// sooner it is the base level's turn. So neither grows far beyond what it may hold.
pub(crate) fn pick(version: &Version, targets: &Targets) -> Option<Choice> {
    let (allowed, base) = allowed(version, targets);
    let level0 = version.levels[0].len() as f64 / targets.level0_tables as f64;
    let in_base = version.bytes(base) as f64 / allowed[base] as f64;
    let mut worst = if level0 >= 1.0 { ((level0 / in_base.max(1.0)).max(1.0), 0) } else { (0.0, 0) };
    for (level, allowed) in allowed.iter().enumerate().take(LEVELS - 1).skip(1) {
        // Levels above the first that is used hold what an earlier, smaller store left there.
        let bytes = version.bytes(level) as f64;
        let score = if level < base && bytes > 0.0 {
            1.0 + bytes / targets.base_bytes as f64
        } else {
            bytes / *allowed as f64
        };
        if score > worst.0 && (score > 1.0) {
            worst = (score, level);
        }
    }
    match worst {
        (score, 0) if score >= 1.0 => Some(level0_choice(version, base)),
        (score, level) if score > 1.0 => Some(level_choice(version, level, (level + 1).max(base))),
        _ => None,
    }
}

/// What may be merged although nothing has to be: what level 0 holds, where not much more than that is to be written for it. Reads have fewer places to look then.
pub(crate) fn tidy(version: &Version, targets: &Targets) -> Option<Choice> {
    let base = allowed(version, targets).1;
    (!version.levels[0].is_empty())
        .then(|| level0_choice(version, base))
        .filter(|one| is_little(version, one))
}

/// An optional compaction of the base level, if two or more levels below it are used. For tables without
/// filters: there a lookup reads a block of every level whose key range includes the key.
pub(crate) fn tidy_base(version: &Version, targets: &Targets) -> Option<Choice> {
    let base = allowed(version, targets).1;
    let tables = &version.levels[base];
    let (first, last) = (tables.first()?, tables.last()?);
    let is_used = |level: &usize| !version.levels[*level].is_empty();
    let wanted = (base + 1..LEVELS).find(is_used)?;
    // The last level holds most of the data, which is too much to rewrite.
    (wanted + 1..LEVELS).find(is_used)?;
    let lower = overlapping(version, wanted, &first.facts.first_key, &last.facts.last_key);
    let upper = tables.iter().map(|table| table.facts.number).collect();
    Some(Choice { level: base, upper, target: wanted, lower, is_apart: true })
        .filter(|one| is_little(version, one))
}

/// Whether an optional compaction rewrites at most [`TIDY_FACTOR`] bytes for each byte of the upper level.
fn is_little(version: &Version, choice: &Choice) -> bool {
    let bytes = |level: usize, numbers: &[u64]| -> u64 {
        let tables = version.levels[level].iter().map(|table| &table.facts);
        tables.filter(|table| numbers.contains(&table.number)).map(|table| table.bytes).sum()
    };
    bytes(choice.target, &choice.lower) <= TIDY_FACTOR * bytes(choice.level, &choice.upper)
}

/// All of level 0: its tables overlap.
pub(super) fn level0_choice(version: &Version, base: usize) -> Choice {
    let tables = version.levels[0].iter().map(|table| &*table.facts);
    let first = tables.clone().map(|table| &table.first_key).min();
    let last = tables.clone().map(|table| &table.last_key).max();
    let (target, lower) = match (first, last) {
        (Some(first), Some(last)) => target(version, 0, base, first, last),
        _ => (base, Vec::new()),
    };
    let is_apart = are_apart(tables.clone());
    Choice { level: 0, upper: tables.map(|table| table.number).collect(), target, lower, is_apart }
}

/// Whether no two of these tables overlap.
pub(super) fn are_apart<'a>(tables: impl Iterator<Item = &'a TableFacts>) -> bool {
    let mut ranges: Vec<_> = tables.map(|table| (&table.first_key, &table.last_key)).collect();
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

/// Where tables of a range go that are to leave a level for a lower one, and the tables there that they overlap. A level in between that holds anything in the range may not be passed
/// by: the first such one is the target.
pub(super) fn target(
    version: &Version,
    level: usize,
    wanted: usize,
    first: &[u8],
    last: &[u8],
) -> (usize, Vec<u64>) {
    let mut between = (level + 1..wanted).map(|level| (level, overlapping(version, level, first, last)));
    between
        .find(|(_, lower)| !lower.is_empty())
        .unwrap_or_else(|| (wanted, overlapping(version, wanted, first, last)))
}

/// The table of a level that meets the fewest bytes below for each of its own.
fn level_choice(version: &Version, level: usize, wanted: usize) -> Choice {
    let mut below = version.levels[wanted].iter().map(|table| &*table.facts).peekable();
    // Both levels are in order: a table that ends before this one begins ends before the next one, too.
    let mut cost = |table: &TableFacts| {
        while below.next_if(|other| other.last_key < table.first_key).is_some() {}
        let met = below.clone().take_while(|other| other.first_key <= table.last_key);
        met.map(|other| other.bytes).sum::<u64>() as f64 / table.bytes.max(1) as f64
    };
    let tables = version.levels[level].iter().map(|table| &*table.facts);
    let costs: Vec<_> = tables.map(|table| (cost(table), table)).collect();
    let chosen = costs.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let (upper, (target, lower)) = chosen.map_or_else(Default::default, |(_, table)| {
        (vec![table.number], target(version, level, wanted, &table.first_key, &table.last_key))
    });
    Choice { level, upper, target, lower, is_apart: true }
}

/// The tables of a sorted level that meet a range.
pub(super) fn overlapping(version: &Version, level: usize, first: &[u8], last: &[u8]) -> Vec<u64> {
    let tables = &version.levels[level];
    let begin = tables.partition_point(|table| &table.facts.last_key[..] < first);
    let met = tables[begin..].iter().take_while(|table| &table.facts.first_key[..] <= last);
    met.map(|table| table.facts.number).collect()
}

/// Bytes by which levels are above what they may hold: the work that waits.
pub(crate) fn debt_bytes(version: &Version, targets: &Targets) -> u64 {
    let (allowed, _) = allowed(version, targets);
    let level0 = if version.levels[0].len() >= targets.level0_tables { version.bytes(0) } else { 0 };
    let below = (1..LEVELS).map(|level| version.bytes(level).saturating_sub(allowed[level]));
    level0 + below.sum::<u64>()
}
