//! Does a piece belong to one block alone?

use super::slab::{Pieces, Slab};
use std::collections::VecDeque;

#[test]
fn pieces_keep_what_was_copied_whoever_comes_and_goes() {
    let slab = Slab::new(100 * 1_088, 1_000).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let mut pieces = Pieces::of(slab.clone());
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut held = VecDeque::new();
                for _ in 0..5_000 {
                    let (len, byte) = (random.usize(..=1_088), random.u8(..));
                    held.push_back((pieces.copy(&vec![byte; len]).unwrap(), len, byte));
                    if held.len() > random.usize(..25) {
                        let (piece, len, byte) = held.pop_front().unwrap();
                        assert!(pieces.block(&piece).iter().all(|other| *other == byte));
                        assert_eq!(pieces.block(&piece).len(), len);
                        pieces.give_back(piece);
                    }
                }
            });
        }
    });
}

#[test]
fn what_is_too_long_or_too_much_is_refused() {
    let slab = Slab::new(2_176, 1_000).unwrap();
    let mut pieces = Pieces::of(slab);
    assert_eq!(pieces.room(), 1_088);
    assert!(pieces.copy(&[1; 1_089]).is_none());
    let both = [pieces.copy(&[1; 1_088]).unwrap(), pieces.copy(&[]).unwrap()];
    assert!(pieces.copy(&[3]).is_none());
    both.into_iter().for_each(|piece| pieces.give_back(piece));
    let third = pieces.copy(&[3]).unwrap();
    assert_eq!(pieces.block(&third), [3]);
}
