//! Gaps: ranges without live keys, which walks seek past instead of reading tombstones. A walk that
//! passes many deleted versions leaves a wish; the store checks that range again and lists it as a gap.
//!
//! A gap holds for readers from its number on. It is exact: it is listed, not yet in force, under the
//! lock of commits; then a walk at the number published by then has to find nothing in it; and from the
//! moment it is listed, a write of a value into it cuts it there before that write is published. So a
//! reader that loads the list after its own number sees each cut that matters to it. An expired value
//! ends a gap, because a reader with an earlier time still sees it.

use crate::lsm::record::Sequence;
use crate::lsm::sync::Mutex;
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Gaps that are remembered: what comes then is walked through.
const MOST: usize = 256;

/// Deleted keys that a walk passes before it leaves a wish. The few keys of tests are to be enough.
pub(super) const MANY: usize = if cfg!(test) { 3 } else { 100 };

/// Not yet in force.
const PENDING: Sequence = Sequence::MAX;

/// From a key on, and up to another one or the end.
pub(crate) type Span = (Vec<u8>, Option<Vec<u8>>);

/// Keys from `from` on and below `to`, none of which lives for readers from `since` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: Arc<[u8]>,
    pub(crate) to: Option<Arc<[u8]>>,
    since: Sequence,
    /// Which look it is of, while it is not in force.
    look: u64,
}

impl Gap {
    fn ends_behind(&self, key: &[u8]) -> bool {
        self.to.as_ref().is_none_or(|to| key < &to[..])
    }

    fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }
}

/// By key; they do not overlap.
pub(crate) type List = Vec<Gap>;

/// The gap that contains a key, for a reader at this number.
pub(super) fn gap_of<'a>(list: &'a List, key: &[u8], at: Sequence) -> Option<&'a Gap> {
    holding(list, key).map(|place| &list[place]).filter(|gap| gap.since <= at)
}

fn holding(list: &List, key: &[u8]) -> Option<usize> {
    let place = list.partition_point(|gap| &gap.from[..] <= key).checked_sub(1)?;
    list[place].ends_behind(key).then_some(place)
}

/// The gaps of a tree.
#[derive(Default)]
pub(crate) struct Gaps {
    list: ArcSwap<List>,
    /// Whether there is one in the list: all that a write looks at otherwise.
    is_any: AtomicBool,
    /// Held while the list changes.
    change: Mutex<()>,
    wish: Mutex<Option<Span>>,
    has_wish: AtomicBool,
    looks: AtomicU64,
}

impl Gaps {
    /// As it is now: for a reader that knows its number already.
    pub(crate) fn list(&self) -> Arc<List> {
        self.list.load_full()
    }

    /// Whether none is listed. Exact for the holder of the lock of commits, under which a list gets its
    /// first gap.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_any.load(Ordering::Acquire)
    }

    /// A walk has passed many deleted keys there.
    pub(super) fn wish(&self, span: Span) {
        *self.wish.lock() = Some(span);
        self.has_wish.store(true, Ordering::Relaxed);
    }

    /// Whether a walk has left a wish.
    #[inline]
    pub(crate) fn has_wish(&self) -> bool {
        self.has_wish.load(Ordering::Relaxed)
    }

    pub(crate) fn take_wish(&self) -> Option<Span> {
        self.has_wish.store(false, Ordering::Relaxed);
        self.wish.lock().take()
    }

    /// Lists a gap that is to be looked at, but for where there are some already. The caller holds the lock of commits.
    pub(crate) fn begin(&self, (from, to): &Span) -> u64 {
        let look = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
        self.edit(|list| {
            let mut all = List::with_capacity(list.len() + 1);
            let mut at: Option<Arc<[u8]>> = Some(from[..].into());
            let end: Option<Arc<[u8]>> = to.as_ref().map(|to| to[..].into());
            let pending = |from: Arc<[u8]>, to: Option<Arc<[u8]>>| Gap { from, to, since: PENDING, look };
            for gap in list {
                if let Some(from) = at.take_if(|at| gap.ends_behind(at)) {
                    let is_behind = end.as_ref().is_some_and(|end| *end <= gap.from);
                    let to = if is_behind { end.clone() } else { Some(Arc::clone(&gap.from)) };
                    let before = pending(Arc::clone(&from), to);
                    if !before.is_empty() {
                        all.push(before);
                    }
                    at = if is_behind { None } else { gap.to.clone() };
                    at = at.filter(|at| end.as_ref().is_none_or(|end| at < end));
                }
                all.push(gap.clone());
            }
            if let Some(from) = at {
                all.push(pending(from, end));
            }
            (all.len() <= MOST).then_some(all)
        });
        look
    }

    /// Puts what was listed for a look in force, for readers from this number on, or takes it away.
    pub(crate) fn end(&self, look: u64, since: Option<Sequence>) {
        self.edit(|list| {
            let mut all = List::with_capacity(list.len());
            for gap in list {
                let mut gap = gap.clone();
                if gap.look == look {
                    let Some(since) = since else { continue };
                    (gap.since, gap.look) = (since, 0);
                }
                match all.last_mut() {
                    Some(last) if last.to.as_ref() == Some(&gap.from) && last.look == 0 && gap.look == 0 => {
                        last.since = last.since.max(gap.since);
                        last.to = gap.to;
                    }
                    _ => all.push(gap),
                }
            }
            Some(all)
        });
    }

    /// A key gets a value, which is not published yet.
    #[inline]
    pub(crate) fn cut(&self, key: &[u8]) {
        if holding(&self.list.load(), key).is_some() {
            self.cut_out(key);
        }
    }

    #[cold]
    fn cut_out(&self, key: &[u8]) {
        self.edit(|list| {
            let place = holding(list, key)?;
            let gap = list[place].clone();
            let before = Gap { to: Some(key.into()), ..gap.clone() };
            let behind = Gap { from: [key, &[0]].concat().into(), ..gap };
            let mut all = list.clone();
            all.splice(place..=place, [before, behind].into_iter().filter(|gap| !gap.is_empty()));
            if all.len() > MOST {
                all.truncate(MOST / 2);
            }
            Some(all)
        });
    }

    /// Keys come from elsewhere.
    pub(crate) fn clear(&self) {
        self.edit(|list| (!list.is_empty()).then(List::new));
    }

    fn edit(&self, change: impl FnOnce(&List) -> Option<List>) {
        let _alone = self.change.lock();
        let changed = change(&self.list.load());
        if let Some(list) = changed {
            let is_any = !list.is_empty();
            self.list.store(Arc::new(list));
            self.is_any.store(is_any, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Keys of a single byte, so that each can be looked up.
        #[test]
        fn no_gap_holds_a_key_that_was_written_since_and_each_holds_what_was_looked_at(
            steps in prop::collection::vec((0_u8..4, 0_u8..20, prop::option::of(0_u8..20), any::<bool>()), 1..60),
        ) {
            let gaps = Gaps::default();
            let (mut inside, mut sequence) = (BTreeSet::new(), 0);
            for (step, from, to, is_empty) in steps {
                sequence += 1;
                if step == 0 {
                    gaps.cut(&[from]);
                    inside.remove(&from);
                } else if to.is_none_or(|to| from < to) {
                    let look = gaps.begin(&(vec![from], to.map(|to| vec![to])));
                    let within: BTreeSet<_> = (from..to.unwrap_or(20)).collect();
                    gaps.cut(&[from]);
                    gaps.end(look, is_empty.then_some(sequence));
                    if is_empty {
                        inside.extend(within);
                    }
                    inside.remove(&from);
                }
                let list = gaps.list();
                prop_assert_eq!(gaps.is_empty(), list.is_empty());
                prop_assert!(list.windows(2).all(|pair| pair[0].to.as_ref().is_some_and(|to| *to <= pair[1].from)));
                prop_assert!(list.iter().all(|gap| !gap.is_empty() && gap.look == 0));
                for key in 0..20 {
                    prop_assert_eq!(gap_of(&list, &[key], sequence).is_some(), inside.contains(&key), "{}", key);
                }
                prop_assert!((0..20).all(|key| gap_of(&list, &[key], 0).is_none()));
            }
        }
    }
}
