use super::counter::{Counter, PLACES};
use std::sync::Barrier;

#[test]
fn nothing_is_lost_where_more_threads_count_than_have_places_and_where_they_follow_each_other() {
    let counter = Counter::new();
    for threads in [1, PLACES + 9, 3] {
        let (before, all_here) = (counter.sum(), Barrier::new(threads));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    counter.count();
                    // Nobody gives a place back before all have asked for one.
                    all_here.wait();
                    (0..1_000).for_each(|_| counter.count());
                });
            }
        });
        assert_eq!(counter.sum() - before, threads as u64 * 1_001);
    }
}
