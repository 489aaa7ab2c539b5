//! A random key of a durable store: one of those behind a place that is drawn between its first key and its last one.

use super::Durable;
use crate::error::Result;

/// Keys from which one is drawn. Keys are seldom spread evenly over all bytes: without these most would never be drawn. Once in so
/// many times they are the first keys of the store: a place that is drawn is always behind the first key, which would never be drawn otherwise.
pub(super) const CANDIDATES: usize = 100;

impl Durable {
    pub(crate) fn random_key(&self) -> Result<Option<Vec<u8>>> {
        self.commit_written()?;
        let mut walk = self.tree.snapshot().walk();
        walk.last()?;
        let Some(last) = walk.pair().map(|(key, _)| key.to_vec()) else { return Ok(None) };
        walk.first()?;
        let Some(first) = walk.pair().map(|(key, _)| key.to_vec()) else { return Ok(None) };
        if fastrand::usize(..CANDIDATES) > 0 {
            walk.seek(&between(&first, &last))?;
        }
        let mut drawn = last;
        for seen in 0..CANDIDATES {
            let Some((key, _)) = walk.pair() else { break };
            if fastrand::usize(..=seen) == 0 {
                key.clone_into(&mut drawn);
            }
            walk.next()?;
        }
        Ok(Some(drawn))
    }
}

/// What two keys begin with, and eight bytes drawn from what follows in them.
pub(super) fn between(first: &[u8], last: &[u8]) -> Vec<u8> {
    let shared = first.iter().zip(last).take_while(|(one, other)| one == other).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        for (byte, of_key) in bytes.iter_mut().zip(&key[shared..]) {
            *byte = *of_key;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(first), number(last));
    let drawn = fastrand::u64(low..=high.max(low));
    [&first[..shared], &drawn.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_place_is_between_both_keys() {
        for (first, last) in
            [(&b"a"[..], &b"b"[..]), (b"key:1", b"key:9"), (b"", b"\xff\xff"), (b"x", b"x"), (b"a", b"a\0")]
        {
            for _ in 0..100 {
                let drawn = between(first, last);
                // Eight bytes and no more of the last key are looked at.
                let high = [last, &[0; 8]].concat();
                assert!(drawn.as_slice() >= first && drawn <= high, "{drawn:?} of {first:?} and {last:?}");
            }
        }
    }
}
