//! The end of a red gate: its word is final, so what is undecided is measured for a while only.

use super::series::Collected;

/// A red gate ends after so many times the blocks that it took.
const TIMES: usize = 2;

/// When a gate became red.
#[derive(Debug, Clone, Copy, Default)]
pub struct Red {
    after: Option<usize>,
}

impl Red {
    /// Looks at all series after a block; `blocks` is how many there are now.
    pub fn look(&mut self, blocks: usize, all: &[Collected]) {
        if self.after.is_none() && all.iter().any(|one| one.evidence.is_worse()) {
            self.after = Some(blocks);
        }
    }

    /// After so many blocks: why the gate ends, though `open` of its `all` series are undecided. `None` while it goes on.
    #[must_use]
    pub fn ended(&self, blocks: usize, open: usize, all: usize) -> Option<String> {
        let after = self.after.filter(|after| blocks >= after * TIMES)?;
        Some(format!(
            "The gate was red after {after} blocks, and ended after {blocks}: {open} of {all} series are undecided."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Rules;
    use super::super::series::{Figures, Series};
    use super::*;

    /// A series after so many blocks of a head that takes `head` where base takes 100.
    fn series(head: f64, blocks: usize) -> Collected {
        let series =
            Series { scenario: "get".to_owned(), label: "GET".to_owned(), metric: "server_cpu_ns_per_op" };
        let mut one = Collected::of(series, 12, &Rules::default());
        for place in 0..blocks {
            let head = head + (place % 3) as f64 / 100.0;
            one.take(Figures::of([100.0; 2], [head; 2]).ok_or_else(String::new), 0.0);
        }
        one
    }

    /// The blocks after which a gate of two series has ended.
    fn end(head: f64) -> Option<(usize, String)> {
        let mut red = Red::default();
        (1..200).find_map(|blocks| {
            red.look(blocks, &[series(100.0, blocks), series(head, blocks)]);
            red.ended(blocks, 1, 2).map(|why| (blocks, why))
        })
    }

    #[test]
    fn a_red_gate_goes_on_for_as_many_blocks_again() {
        let red_after = (1..80).find(|blocks| series(110.0, *blocks).evidence.is_worse()).unwrap();
        let (blocks, why) = end(110.0).unwrap();
        assert_eq!(blocks, 2 * red_after);
        assert!(
            why.contains(&format!("red after {red_after} blocks, and ended after {blocks}: 1 of 2")),
            "{why}"
        );
    }

    #[test]
    fn a_gate_that_is_not_red_goes_on() {
        assert_eq!([end(100.0), end(90.0), end(101.0)], [None, None, None]);
    }
}
