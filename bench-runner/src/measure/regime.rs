//! Regimes of a load: pauses, and changes of the throughput within a trial. The median of a trial with two regimes
//! describes neither.

use crate::load::recorder::SLOT_NS;

/// Slots without a reply from which on that is a pause: 100 ms.
const PAUSE_SLOTS: usize = 10;
/// Replies that were to be expected in it; fewer may be missing by chance.
const EXPECTED_MIN: f64 = 20.0;
/// The rate is looked at in so many parts of the load, of which one at either end may be odd.
const PARTS: usize = 10;
/// Slots that a part has at least: how the scheduler takes turns alone makes shorter ones differ.
const PART_SLOTS_MIN: usize = 8;
/// Replies that a part has at least on average; with fewer, chance alone makes parts differ.
const PART_REPLIES_MIN: f64 = 200.0;
/// A rate of so many times another one is another rate.
const RATES: f64 = 2.0;

/// The slots that lie wholly within a load of such a length.
pub(crate) fn whole_slots(slots: &[u32], elapsed_ns: u64) -> impl Iterator<Item = u32> {
    let count = (elapsed_ns / SLOT_NS) as usize;
    slots.iter().copied().chain(std::iter::repeat(0)).take(count)
}

/// What broke it into more than one regime, by the replies in each slot; none where nothing did.
pub(crate) fn broken(slots: &[u32]) -> Option<String> {
    paused(slots).or_else(|| at_two_rates(slots))
}

fn paused(slots: &[u32]) -> Option<String> {
    let all: u64 = slots.iter().copied().map(u64::from).sum();
    let mean = all as f64 / slots.len().max(1) as f64;
    let pauses: Vec<usize> = slots
        .chunk_by(|one, next| (*one == 0) == (*next == 0))
        .filter(|run| run[0] == 0 && run.len() >= PAUSE_SLOTS && run.len() as f64 * mean >= EXPECTED_MIN)
        .map(<[u32]>::len)
        .collect();
    let (longest, whole) = (*pauses.iter().max()?, pauses.iter().sum::<usize>());
    let times = if pauses.len() == 1 { "once".to_owned() } else { format!("{} times", pauses.len()) };
    Some(format!(
        "replies stopped {times}, for {} ms at the longest and {:.0} % of the time",
        longest as u64 * SLOT_NS / 1_000_000,
        whole as f64 / slots.len() as f64 * 100.0
    ))
}

fn at_two_rates(slots: &[u32]) -> Option<String> {
    let length = slots.len() / PARTS;
    if length < PART_SLOTS_MIN {
        return None;
    }
    let per_second = |part: &[u32]| {
        let replies: u64 = part.iter().copied().map(u64::from).sum();
        replies as f64 / (part.len() as f64 * SLOT_NS as f64 / 1e9)
    };
    let mut rates: Vec<f64> = slots.chunks_exact(length).take(PARTS).map(per_second).collect();
    let replies = rates.iter().sum::<f64>() / PARTS as f64 * (length as f64 * SLOT_NS as f64 / 1e9);
    rates.sort_by(f64::total_cmp);
    let (low, high) = (rates[1], rates[PARTS - 2]);
    (replies >= PART_REPLIES_MIN && high >= RATES * low).then(|| {
        format!("the rate was not one: {low:.0} and {high:.0} requests per second in tenths of the trial")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(count: usize, replies: u32) -> Vec<u32> {
        // A little uneven, as every load is.
        (0..count).map(|slot| replies + replies / 5 * u32::from(slot.is_multiple_of(3))).collect()
    }

    #[test]
    fn a_steady_load_is_one_regime_and_so_is_one_of_which_too_little_is_known() {
        assert_eq!(broken(&steady(100, 100)), None);
        assert_eq!(broken(&steady(30_000, 5)), None);
        assert_eq!(broken(&[]), None);
        assert_eq!(broken(&[0; 5]), None);
        // Ten replies a second: gaps of 100 ms are what it is made of.
        let slow: Vec<u32> = (0..300).map(|slot| u32::from(slot % 10 == 0)).collect();
        assert_eq!(broken(&slow), None);
        // One hiccup of less than a tenth of a second, and a slow beginning.
        let mut odd = steady(300, 100);
        odd[150..159].fill(0);
        odd[..10].fill(10);
        assert_eq!(broken(&odd), None);
        // A tenth of a second, of which one half had another rate: too short to tell.
        let short: Vec<u32> = (0..10).map(|slot| if slot < 5 { 900 } else { 300 }).collect();
        assert_eq!(broken(&short), None);
    }

    #[test]
    fn pauses_are_told_with_their_length_and_share() {
        let mut load = steady(1_200, 100);
        for start in [200, 500, 800, 1_100] {
            load[start..start + 30].fill(0);
        }
        let said = broken(&load).unwrap();
        assert_eq!(said, "replies stopped 4 times, for 300 ms at the longest and 10 % of the time");
        let mut load = steady(1_200, 100);
        load[400..700].fill(0);
        assert!(broken(&load).unwrap().starts_with("replies stopped once, for 3000 ms"), "3 s of 12");
    }

    #[test]
    fn two_rates_are_told_wherever_one_gives_way_to_the_other() {
        for slow_from in [20, 50, 80] {
            let load: Vec<u32> = (0..100).map(|slot| if slot < slow_from { 900 } else { 100 }).collect();
            let said = broken(&load).unwrap_or_default();
            assert!(said.contains("10000 and 90000 requests per second"), "{slow_from}: {said}");
        }
    }

    #[test]
    fn only_whole_slots_count_and_a_silent_end_is_silence() {
        let whole: Vec<u32> = whole_slots(&[5, 6, 7], 2 * SLOT_NS + 1).collect();
        assert_eq!(whole, [5, 6]);
        let longer: Vec<u32> = whole_slots(&[5], 3 * SLOT_NS).collect();
        assert_eq!(longer, [5, 0, 0]);
    }
}
