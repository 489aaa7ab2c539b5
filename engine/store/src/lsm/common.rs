//! What most keys of a memtable or of the tables begin with, and the eight bytes behind it by which they are told apart.
//!
//! Keys of one family (`session:…`) differ behind what all share. Where there are several families, all
//! of them share little or nothing, and eight bytes are used up by the name of the family: each search
//! would have to look at a dozen keys. So families are known by name: the first byte of the eight says
//! which one it is, the others come from behind its name.

use super::record::{prefix, shared_len};

/// Families that are known by name.
const MOST: usize = 32;

/// Bytes that neighbours share, behind what all share, if they are of one family.
const NAME: usize = 4;

/// A guess of what keys begin with; any key may come all the same.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Common {
    /// All.
    shared: Box<[u8]>,
    /// And behind that those of each family, in order; none of them is a beginning of another one.
    families: Vec<Box<[u8]>>,
    /// Of each of those the first eight bytes, as of a key: which one may be a key's is found without
    /// a branch that depends on the key.
    heads: Vec<u64>,
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Common {
    fn from(shared: &T) -> Self {
        Self { shared: shared.as_ref().into(), ..Self::default() }
    }
}

impl Common {
    /// Of keys from the first to the last one, and some in between, in order.
    pub(crate) fn of(first: &[u8], last: &[u8], between: &[&[u8]]) -> Self {
        let shared = &first[..shared_len(first, last)];
        let keys: Vec<_> = between.iter().filter_map(|key| key.strip_prefix(shared)).collect();
        let mut families: Vec<Box<[u8]>> = Vec::new();
        // A name is worth its byte of the eight where it saves many keys more.
        let many = keys.len().div_ceil(MOST).max(4);
        for run in keys.chunk_by(|one, other| shared_len(one, other) >= NAME) {
            if let [first, .., last] = run
                && run.len() >= many
            {
                families.push(first[..shared_len(first, last)].into());
            }
        }
        let heads = families.iter().map(|name| prefix(name, b"")).collect();
        Self { shared: shared.into(), families, heads }
    }

    /// Eight bytes of a key, as a number that never sorts otherwise than the keys do.
    #[inline]
    pub(crate) fn prefix(&self, key: &[u8]) -> u64 {
        if self.families.is_empty() { prefix(key, &self.shared) } else { self.prefix_in_family(key) }
    }

    fn prefix_in_family(&self, key: &[u8]) -> u64 {
        let rest = if self.shared.is_empty() { Some(key) } else { key.strip_prefix(&*self.shared) };
        let Some(rest) = rest else {
            return if *key < *self.shared { 0 } else { u64::MAX };
        };
        let head = prefix(rest, b"");
        // The last one whose name is not behind the key is the key's, or the key is between it and the next. No two
        // names have one head: they would share `NAME` bytes.
        let mut behind: usize = self.heads.iter().map(|name| usize::from(*name <= head)).sum();
        if behind > 0 && self.heads[behind - 1] == head && self.is_behind(behind - 1, rest) {
            behind -= 1;
        }
        let (class, rest) = match behind.checked_sub(1).and_then(|at| self.behind_name(at, head, rest)) {
            Some(rest) => (2 * behind - 1, rest),
            None => (2 * behind, rest),
        };
        // At most twice `MOST`: below the largest number, which is for what sorts behind all.
        (class as u64) << 56 | prefix(rest, b"") >> 8
    }

    /// Whether a name sorts behind a key that has the same head.
    #[inline]
    fn is_behind(&self, at: usize, rest: &[u8]) -> bool {
        let name = &*self.families[at];
        // One of eight bytes at most is a beginning of each key with its head that is as long.
        (name.len() > 8 || name.len() > rest.len()) && *name > *rest
    }

    /// What comes behind the name of a family, if the key begins with it. The head is the key's.
    #[inline]
    fn behind_name<'k>(&self, at: usize, head: u64, rest: &'k [u8]) -> Option<&'k [u8]> {
        let name = &*self.families[at];
        if name.len() > 8 {
            return rest.strip_prefix(name);
        }
        // Names are of `NAME` bytes at least, so this shifts by less than 64.
        let behind = 64 - 8 * name.len() as u32;
        if head >> behind == self.heads[at] >> behind { rest.get(name.len()..) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        let family = prop::sample::select(vec![
            "",
            "k",
            "k:account",
            "k:account:",
            "k:account:eu:",
            "k:accounts",
            "k:order",
            "k:order\0\0",
            "k:orderline:",
            "k:session:",
            "k:z",
            "z",
        ]);
        let end = prop::collection::vec(prop::sample::select(vec![0_u8, 1, b'a', b'e', 255]), 0..10);
        (family, end).prop_map(|(family, end)| [family.as_bytes(), &end].concat())
    }

    proptest! {
        #[test]
        fn prefixes_never_sort_otherwise_than_keys(
            known in prop::collection::btree_set(key(), 0..100),
            mut keys in prop::collection::vec(key(), 2..60),
        ) {
            let known: Vec<_> = known.iter().map(|key| &key[..]).collect();
            let common = match (known.first(), known.last()) {
                (Some(first), Some(last)) => Common::of(first, last, &known),
                _ => Common::default(),
            };
            prop_assert!(common.families.len() <= MOST);
            keys.extend(known.iter().map(|key| key.to_vec()));
            keys.sort();
            prop_assert!(keys.is_sorted_by_key(|key| common.prefix(key)));
        }
    }

    #[test]
    fn keys_of_many_families_differ_in_their_prefixes() {
        const FAMILIES: [&str; 5] = ["account:", "invoice:", "orderline:", "product:", "session:"];
        let shapes: [fn(u64) -> String; 2] =
            [|at| format!("{:016x}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15)), |at| format!("{at:012}")];
        for shape in shapes {
            let keys: BTreeSet<_> = FAMILIES
                .iter()
                .flat_map(|family| (0..2_000).map(move |at| (family.to_string() + &shape(at)).into_bytes()))
                .collect();
            let keys: Vec<_> = keys.iter().map(|key| &key[..]).collect();
            let sample: Vec<_> = keys.iter().copied().step_by(20).collect();
            let common = Common::of(keys[0], keys[keys.len() - 1], &sample);
            assert_eq!(common.families.len(), 5, "{common:?}");
            let prefixes: BTreeSet<_> = keys.iter().map(|key| common.prefix(key)).collect();
            assert!(prefixes.len() * 10 > keys.len() * 9, "{} of {}", prefixes.len(), keys.len());
            // One family is as it was: what all share, and eight bytes.
            let one: Vec<_> = keys.iter().copied().filter(|key| key.starts_with(b"session:")).collect();
            let sample: Vec<_> = one.iter().copied().step_by(20).collect();
            assert_eq!(Common::of(one[0], one[one.len() - 1], &sample).families.len(), 0);
        }
    }
}
