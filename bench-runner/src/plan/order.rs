//! In which order do the targets of a round run, so that none is favoured by its place?
//!
//! Rows of a Williams design (E. J. Williams, "Experimental designs balanced for the estimation of residual
//! effects of treatments", 1949): over n rows everything stands once at every place, and once (odd n:
//! over 2n rows twice) right after everything else, so neither the drift of a machine nor what the one
//! before left behind (a warm cache, a busy host) sticks to one target. A run takes as many rows as it has trials.

use fastrand::Rng;

/// Arranges `owners` (the target of each unit) so that neighbours differ where that is possible; what is
/// left open is drawn from `seed`. Returns indices into `owners`.
pub(super) fn arrange(owners: &[&str], seed: u64) -> Vec<usize> {
    let mut rng = Rng::with_seed(seed);
    let mut names: Vec<&str> = Vec::new();
    for owner in owners {
        if !names.contains(owner) {
            names.push(owner);
        }
    }
    rng.shuffle(&mut names);
    let mut heaps: Vec<Vec<usize>> = names
        .iter()
        .map(|name| {
            let mut heap: Vec<usize> = (0..owners.len()).filter(|i| owners.get(*i) == Some(name)).collect();
            rng.shuffle(&mut heap);
            heap
        })
        .collect();
    let mut arranged = Vec::with_capacity(owners.len());
    let mut last = None;
    while arranged.len() < owners.len() {
        // The fullest heap that was not just taken from; the one just taken from only when alone.
        let fullest = (0..heaps.len())
            .filter(|heap| heaps.get(*heap).is_some_and(|heap| !heap.is_empty()))
            .max_by_key(|heap| (Some(*heap) != last, heaps.get(*heap).map_or(0, Vec::len)));
        let Some(unit) = fullest.and_then(|heap| heaps.get_mut(heap)).and_then(Vec::pop) else { break };
        arranged.push(unit);
        last = fullest;
    }
    arranged
}

/// Row `row` of the Williams design over `n` things: a permutation of `0..n`.
pub(super) fn row(n: usize, row: usize) -> Vec<usize> {
    if n == 0 {
        return Vec::new();
    }
    let mirrored = n % 2 == 1 && (row / n) % 2 == 1;
    let zigzag = (0..n).map(|place| if place % 2 == 0 { place / 2 } else { n - place.div_ceil(2) });
    let mut order: Vec<usize> = zigzag.map(|thing| (thing + row) % n).collect();
    if mirrored {
        order.reverse();
    }
    order
}

/// Where the phases of a process start in trial `trial` of `trials`: each trial a different one first.
pub(super) fn rotation(phases: usize, trial: u32, trials: u32) -> usize {
    (phases * trial as usize / trials.max(1) as usize) % phases.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn an_even_design_is_balanced_for_place_and_for_neighbour() {
        let rows: Vec<_> = (0..4).map(|r| row(4, r)).collect();
        for place in 0..4 {
            assert_eq!(rows.iter().map(|r| r[place]).collect::<HashSet<_>>().len(), 4);
        }
        let pairs: HashSet<_> = rows.iter().flat_map(|r| r.windows(2).map(|w| (w[0], w[1]))).collect();
        assert_eq!(pairs.len(), 12, "every ordered pair once");
    }

    #[test]
    fn an_odd_design_is_balanced_over_twice_as_many_rows() {
        let mut pairs = std::collections::HashMap::new();
        for r in 0..10 {
            for w in row(5, r).windows(2) {
                *pairs.entry((w[0], w[1])).or_insert(0) += 1;
            }
        }
        assert_eq!(pairs.len(), 20);
        assert!(pairs.values().all(|count| *count == 2), "{pairs:?}");
    }

    proptest! {
        #[test]
        fn a_row_is_a_permutation(n in 1usize..40, r in 0usize..100) {
            let order = row(n, r);
            prop_assert_eq!(order.iter().collect::<HashSet<_>>().len(), n);
            prop_assert!(order.iter().all(|thing| *thing < n));
        }

        #[test]
        fn arranging_keeps_everything_and_parts_equals_where_it_can(
            owners in prop::collection::vec(0usize..4, 1..20), seed: u64,
        ) {
            let names = ["a", "b", "c", "d"];
            let owners: Vec<&str> = owners.into_iter().map(|owner| names[owner]).collect();
            let arranged = arrange(&owners, seed);
            prop_assert_eq!(arranged.iter().collect::<HashSet<_>>().len(), owners.len());
            let most = names.iter().map(|n| owners.iter().filter(|o| *o == n).count()).max().unwrap_or(0);
            if most <= owners.len().div_ceil(2) {
                prop_assert!(arranged.windows(2).all(|w| owners[w[0]] != owners[w[1]]), "{:?}", arranged);
            }
        }

        #[test]
        fn rotations_differ_between_trials(phases in 9usize..40, trials in 2u32..9) {
            let starts: HashSet<_> = (0..trials).map(|t| rotation(phases, t, trials)).collect();
            prop_assert_eq!(starts.len(), trials as usize);
        }
    }
}
