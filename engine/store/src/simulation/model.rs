//! The model: what a client's keys should hold, every change since the store was opened, and whether a
//! store that was found after a cut or an end of the process is a state that it may have.

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) type State = BTreeMap<Vec<u8>, Entry>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) value: Arc<[u8]>,
    pub(super) until_ms: Option<u64>,
}

impl Entry {
    pub(super) fn is_live(&self, now_ms: u64) -> bool {
        self.until_ms.is_none_or(|until| until > now_ms)
    }
}

/// What becomes of keys.
pub(super) type Effect = Vec<(Vec<u8>, Option<Entry>)>;

/// A change since the store was opened.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) effect: Effect,
    /// Moments: calls of all clients are numbered as they begin and as they end.
    pub(super) begun: u64,
    pub(super) ended: u64,
    pub(super) is_ok: bool,
    /// How it is called in messages.
    pub(super) name: &'static str,
}

pub(super) fn apply(state: &mut State, effect: &Effect) {
    for (key, entry) in effect {
        match entry {
            Some(entry) => drop(state.insert(key.clone(), entry.clone())),
            None => drop(state.remove(key)),
        }
    }
}

/// One client's keys.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// When the store was opened.
    pub(super) base: State,
    pub(super) state: State,
    pub(super) changes: Vec<Change>,
    /// So many of the changes survive a power cut.
    pub(super) lasting: usize,
    /// So many survive the end of the process, as long as the power stays.
    pub(super) surviving: usize,
}

impl Part {
    /// Remembers a change, if it is one.
    pub(super) fn push(&mut self, change: Change) {
        if !change.effect.is_empty() {
            self.changes.push(change);
        }
    }

    /// What was acknowledged before the moment survives a power cut.
    pub(super) fn lasts(&mut self, moment: u64) {
        self.lasting = self.lasting.max(self.acknowledged_before(moment));
    }

    /// What was acknowledged survives the end of the process.
    pub(super) fn survives(&mut self) {
        self.surviving = self.acknowledged_before(u64::MAX);
    }

    /// The next life begins with this.
    pub(super) fn adopt(&mut self, found: State) {
        *self = Self { base: found.clone(), state: found, changes: Vec::new(), lasting: 0, surviving: 0 };
    }
}

/// The times between which an entry's end makes it uncertain whether it is there: time has been beyond,
/// and may be back. Nothing is uncertain unless the disk has damaged the store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) now_ms: u64,
    pub(super) latest_ms: u64,
}

impl Now {
    /// Whether it is certain that the entry is there, or is not.
    fn is_certain(self, entry: &Entry) -> bool {
        entry.until_ms.is_none_or(|until| until <= self.now_ms || until > self.latest_ms)
    }

    fn is_same(self, expected: &State, found: &State) -> bool {
        let seen = |entry: &&Entry| self.is_certain(entry) && entry.is_live(self.now_ms);
        let expected = expected.iter().filter(|(_, entry)| seen(entry));
        expected.eq(found.iter().filter(|(_, entry)| seen(entry)))
    }
}

/// How much of a part's changes may be in what was found.
struct Fit {
    /// Changes up to this one are in it.
    count: usize,
    /// The latest moment at which a change in it began.
    begun: u64,
}

impl Part {
    fn fits(&self, found: &State, now: Now, void_before: u64, least: usize) -> Vec<Fit> {
        let mut state = self.base.clone();
        let (mut fits, mut begun) = (Vec::new(), 0);
        for count in 0..=self.changes.len() {
            if count > 0 {
                let change = &self.changes[count - 1];
                if change.is_ok {
                    apply(&mut state, &change.effect);
                    begun = change.begun;
                }
            }
            if count >= least && now.is_same(&state, found) {
                fits.push(Fit { count, begun });
            }
        }
        // Failed changes after which nothing succeeded may have happened, each on its own.
        let succeeded = self.changes.iter().rposition(|change| change.is_ok).map_or(0, |place| place + 1);
        let perhaps: Vec<_> =
            self.changes[succeeded..].iter().filter(|change| change.ended >= void_before).take(8).collect();
        for chosen in 1..1_u32 << perhaps.len() {
            let mut state = state.clone();
            let mut begun = begun;
            for (_, change) in perhaps.iter().enumerate().filter(|(place, _)| chosen >> place & 1 == 1) {
                apply(&mut state, &change.effect);
                begun = change.begun;
            }
            if now.is_same(&state, found) {
                fits.push(Fit { count: self.changes.len(), begun });
            }
        }
        fits
    }

    /// How many changes were acknowledged before the moment, at least.
    fn acknowledged_before(&self, moment: u64) -> usize {
        let last = self.changes.iter().rposition(|change| change.is_ok && change.ended < moment);
        last.map_or(0, |place| place + 1)
    }
}

/// Whether all parts together may have been found so: each holds what lasts, and if a change is there, so
/// is every change that was acknowledged before it began.
pub(super) fn check(parts: &[Part], found: &[State], now: Now, is_any_prefix: bool) -> Result<(), String> {
    let changes = || parts.iter().flat_map(|part| &part.changes);
    // What failed before something later began and succeeded has not happened.
    let void_before = changes().filter(|change| change.is_ok).map(|change| change.begun).max().unwrap_or(0);
    let fits: Vec<_> = parts
        .iter()
        .zip(found)
        .map(|(part, found)| {
            let least = if is_any_prefix { 0 } else { part.lasting.max(part.surviving) };
            part.fits(found, now, void_before, least)
        })
        .collect();
    let mut chosen = vec![0; parts.len()];
    loop {
        let mut is_stable = true;
        for part in 0..parts.len() {
            let Some(fit) = fits[part].get(chosen[part]) else {
                return Err(difference(&parts[part], &found[part], now, part));
            };
            let needed = (0..parts.len()).filter(|other| *other != part).map(|other| {
                let begun = fits[other].get(chosen[other]).map_or(0, |fit| fit.begun);
                parts[part].acknowledged_before(begun)
            });
            if !is_any_prefix && needed.max().is_some_and(|needed| fit.count < needed) {
                chosen[part] += 1;
                is_stable = false;
            }
        }
        if is_stable {
            return Ok(());
        }
    }
}

/// What a part lacks or has too much, for the message.
fn difference(part: &Part, found: &State, now: Now, number: usize) -> String {
    let Part { base, state, changes, lasting, surviving } = part;
    let least = lasting.max(surviving);
    let mut lines = format!(
        "client {number}: not the state after any of {least} to {} changes, from {} entries at first, at {now:?}\n",
        changes.len(),
        base.len()
    );
    let live = |state: &State, key: &[u8]| state.get(key).filter(|entry| entry.is_live(now.now_ms)).cloned();
    for key in state.keys().chain(found.keys().filter(|key| !state.contains_key(*key))) {
        let (expected, there) = (live(state, key), live(found, key));
        if expected != there {
            lines +=
                &format!("  {:?}: newest {:?}, found {:?}\n", Bytes(key), short(&expected), short(&there));
        }
    }
    for (place, change) in changes.iter().enumerate().rev().take(12) {
        let keys: Vec<_> = change.effect.iter().take(3).map(|(key, _)| Bytes(key)).collect();
        let Change { begun, ended, is_ok, name, .. } = change;
        lines += &format!(
            "  change {place}: {name} {begun}..{ended} ok {is_ok}, {} keys {keys:?}\n",
            change.effect.len()
        );
    }
    lines
}

fn short(entry: &Option<Entry>) -> Option<(usize, Bytes<'_>, Option<u64>)> {
    entry
        .as_ref()
        .map(|entry| (entry.value.len(), Bytes(&entry.value[..entry.value.len().min(12)]), entry.until_ms))
}

/// Bytes as text where they are.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl std::fmt::Debug for Bytes<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (begin, rest) = self.0.split_at(self.0.len().min(16));
        let (gap, end) = rest.split_at(rest.len().saturating_sub(16));
        write!(out, "{}", begin.escape_ascii())?;
        if !gap.is_empty() {
            write!(out, "[{} more]", gap.len())?;
        }
        write!(out, "{}", end.escape_ascii())
    }
}
