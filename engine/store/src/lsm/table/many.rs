//! How are several keys found in a table? Each as one alone, but in their order: a block that holds several of them is read once.

use super::reader::Table;
use crate::error::Result;
use crate::lsm::record::Stamp;

impl Table {
    /// As [`get`](Self::get), for keys in ascending order, each with its hash. `f` is handed the place of each key that is there, and its version.
    pub(crate) fn get_many(
        &self,
        keys: &[(&[u8], u64)],
        stamp: Stamp,
        mut f: impl FnMut(usize, Stamp, &[u8]),
    ) -> Result<()> {
        let may_be_here = keys.iter().enumerate().filter(|(_, (_, hash))| self.may_hold(*hash));
        let mut wanted = may_be_here
            .map(|(place, (key, _))| (place, *key, self.index.find(key)))
            .filter(|(_, _, block)| *block < self.index.blocks())
            .peekable();
        let mut together = Vec::new();
        while let Some((place, key, number)) = wanted.next() {
            together.clear();
            together.push((place, key));
            while let Some((place, key, _)) = wanted.next_if(|(_, _, block)| *block == number) {
                together.push((place, key));
            }
            self.with_block(number, |block| {
                for (place, key) in &together {
                    if let Some((stamp, value)) = block.get(key, stamp)? {
                        f(*place, stamp, value);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
