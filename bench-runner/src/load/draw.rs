//! Which key is asked for next?
//!
//! Zipf's law is drawn by rejection-inversion (W. Hörmann and G. Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", ACM TOMACS 6(3), 1996): exact for any number of keys, without
//! a table, at little more than one trial per draw. Popular keys are spread over the key space by a bijection, so
//! that neighbours of a popular key are not popular, too.

use fastrand::Rng;

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Draw {
    /// Each key as likely as any other, every time.
    Uniform,
    /// Every key once, in an order that jumps about.
    Once,
    /// The key of rank r with a probability proportional to r to the power of minus this.
    Zipf(f64),
    /// As [`Draw::Zipf`], rank 1 being the key that was set last: reads prefer what is new. Writes go on
    /// through the keys in order.
    Latest(f64),
    /// One key after the other, and again from the first.
    Sequential,
    /// One single key.
    Hot,
}

/// The part of the keys that one thread draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Keys `0..keys`.
    pub keys: u64,
    /// First place taken in the order of [`Draw::Once`] and [`Draw::Sequential`].
    pub first: u64,
}

/// Draws keys for one generator thread.
#[derive(Debug)]
pub struct Drawer {
    draw: Draw,
    keys: u64,
    /// Place in the order of [`Draw::Once`] and [`Draw::Sequential`]; of [`Draw::Latest`], the next write's key.
    next: u64,
    order: Order,
    zipf: Option<Zipf>,
}

impl Drawer {
    /// All drawers of the same number of keys share one order, so that several threads, and several stretches,
    /// can share the keys out among them and agree on which of them are popular.
    #[must_use]
    pub fn new(draw: Draw, part: Part) -> Self {
        let keys = part.keys.max(1);
        let zipf = match draw {
            Draw::Zipf(theta) | Draw::Latest(theta) => Some(Zipf::new(keys, theta)),
            Draw::Uniform | Draw::Once | Draw::Sequential | Draw::Hot => None,
        };
        Self { draw, keys, next: part.first, order: Order::new(keys), zipf }
    }

    /// The next key; `inserts` is whether the request sets it.
    #[inline]
    pub fn key(&mut self, inserts: bool, rng: &mut Rng) -> u64 {
        match self.draw {
            Draw::Uniform => rng.u64(0..self.keys),
            Draw::Once => self.order.at(self.advance()),
            Draw::Sequential => self.advance() % self.keys,
            Draw::Hot => 0,
            Draw::Zipf(_) => {
                let rank = self.rank(rng);
                self.order.at(rank)
            }
            Draw::Latest(_) if inserts => self.advance() % self.keys,
            Draw::Latest(_) => {
                let rank = self.rank(rng);
                // Rank 0 is the key that was set last; before the first write, that is the last one loaded.
                (self.next + self.keys - 1 - rank) % self.keys
            }
        }
    }

    fn advance(&mut self) -> u64 {
        let place = self.next;
        self.next += 1;
        place
    }

    fn rank(&self, rng: &mut Rng) -> u64 {
        self.zipf.as_ref().map_or(0, |zipf| zipf.rank(rng))
    }
}

/// A bijection on `0..keys` that jumps about.
#[derive(Debug, Clone, Copy)]
struct Order {
    keys: u64,
    step: u64,
    offset: u64,
}

impl Order {
    fn new(keys: u64) -> Self {
        let mut rng = Rng::with_seed(keys);
        // Steps through all residues when it shares no divisor with the number of keys.
        let mut step = rng.u64(0..keys) | 1;
        while gcd(step, keys) != 1 {
            step += 2;
        }
        Self { keys, step, offset: rng.u64(0..keys) }
    }

    fn at(self, place: u64) -> u64 {
        let place = u128::from(place) * u128::from(self.step) + u128::from(self.offset);
        (place % u128::from(self.keys)) as u64
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Ranks by Zipf's law. Names as in the paper: `H` is the integral of `h(x) = x^-theta`.
#[derive(Debug, Clone, Copy)]
struct Zipf {
    keys: f64,
    theta: f64,
    h_integral_first: f64,
    h_integral_last: f64,
    shortcut: f64,
}

impl Zipf {
    fn new(keys: u64, theta: f64) -> Self {
        // A law that is not one would never end its trials.
        let theta = if theta.is_finite() { theta.clamp(0.0, 10.0) } else { 0.99 };
        let keys = keys as f64;
        Self {
            keys,
            theta,
            h_integral_first: h_integral(1.5, theta) - 1.0,
            h_integral_last: h_integral(keys + 0.5, theta),
            shortcut: 2.0 - h_integral_inverse(h_integral(2.5, theta) - h(2.0, theta), theta),
        }
    }

    /// From 0, the most likely.
    fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.h_integral_last + rng.f64() * (self.h_integral_first - self.h_integral_last);
            let x = h_integral_inverse(u, self.theta);
            let k = (x + 0.5).floor().clamp(1.0, self.keys);
            if k - x <= self.shortcut || u >= h_integral(k + 0.5, self.theta) - h(k, self.theta) {
                return k as u64 - 1;
            }
        }
    }
}

fn h(x: f64, theta: f64) -> f64 {
    (-theta * x.ln()).exp()
}

fn h_integral(x: f64, theta: f64) -> f64 {
    let log = x.ln();
    expm1_over((1.0 - theta) * log) * log
}

fn h_integral_inverse(x: f64, theta: f64) -> f64 {
    // Rounding may step out of the logarithm's range by a hair.
    let t = (x * (1.0 - theta)).max(-1.0);
    (log1p_over(t) * x).exp()
}

/// `ln(1 + x) / x`, also around 0, which a theta of 1 needs.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x * (1.0 / 3.0 - 0.25 * x)) }
}

/// `(exp(x) - 1) / x`, also around 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x * 0.5 * (1.0 + x / 3.0 * (1.0 + 0.25 * x)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Chi-square of observed ranks against the exact law; ranks above 50 are one class.
    fn chi_square(keys: u64, theta: f64, draws: u64) -> (f64, usize) {
        let classes = (keys as usize).min(51);
        let mut seen = vec![0u64; classes];
        let zipf = Zipf::new(keys, theta);
        let mut rng = Rng::with_seed(11);
        for _ in 0..draws {
            let rank = zipf.rank(&mut rng) as usize;
            assert!((rank as u64) < keys);
            seen[rank.min(classes - 1)] += 1;
        }
        let weight: Vec<f64> = (1..=keys).map(|rank| (rank as f64).powf(-theta)).collect();
        let all: f64 = weight.iter().sum();
        let mut expected = vec![0.0; classes];
        for (rank, weight) in weight.iter().enumerate() {
            expected[rank.min(classes - 1)] += weight / all * draws as f64;
        }
        let sum = seen.iter().zip(&expected).map(|(seen, e)| (*seen as f64 - e).powi(2) / e).sum();
        (sum, classes - 1)
    }

    #[test]
    fn zipf_draws_follow_the_exact_law() {
        for theta in [0.5, 0.99, 1.0, 1.2, 2.0] {
            for keys in [2, 10, 1_000, 100_000] {
                let (sum, freedom) = chi_square(keys, theta, 200_000);
                // Four standard deviations above the mean of chi-square.
                let bound = freedom as f64 + 4.0 * (2.0 * freedom as f64).sqrt();
                assert!(sum < bound, "theta {theta}, {keys} keys: {sum:.1} of at most {bound:.1}");
            }
        }
    }

    #[test]
    fn a_theta_of_nought_is_uniform_and_a_single_key_is_always_drawn() {
        let (sum, freedom) = chi_square(40, 0.0, 100_000);
        assert!(sum < freedom as f64 + 4.0 * (2.0 * freedom as f64).sqrt(), "{sum}");
        let zipf = Zipf::new(1, 0.99);
        assert!((0..100).all(|_| zipf.rank(&mut Rng::with_seed(1)) == 0));
    }

    fn draws(draw: Draw, keys: u64, count: usize) -> Vec<u64> {
        let mut drawer = Drawer::new(draw, Part { keys, first: 0 });
        let mut rng = Rng::with_seed(3);
        (0..count).map(|_| drawer.key(false, &mut rng)).collect()
    }

    #[test]
    fn popular_keys_of_zipf_are_spread_and_the_same_for_every_thread() {
        let mut count = vec![0u32; 1_000];
        for key in draws(Draw::Zipf(0.99), 1_000, 100_000) {
            count[key as usize] += 1;
        }
        let mut by_count: Vec<usize> = (0..1_000).collect();
        by_count.sort_by_key(|key| std::cmp::Reverse(count[*key]));
        let order = Order::new(1_000);
        assert_eq!(by_count[0] as u64, order.at(0));
        assert_eq!(by_count[1] as u64, order.at(1));
        assert!(by_count[0].abs_diff(by_count[1]) > 1);
    }

    #[test]
    fn once_and_sequential_draw_every_key_and_none_twice() {
        for draw in [Draw::Once, Draw::Sequential] {
            for keys in [1u64, 2, 3, 64, 1_000, 1_001] {
                let mut seen = HashSet::new();
                // Two threads share the keys out.
                for (first, count) in [(0, keys / 2), (keys / 2, keys - keys / 2)] {
                    let mut drawer = Drawer::new(draw, Part { keys, first });
                    let mut rng = Rng::with_seed(first);
                    for _ in 0..count {
                        assert!(seen.insert(drawer.key(false, &mut rng)));
                    }
                }
                assert_eq!(seen.len() as u64, keys);
            }
        }
        assert_eq!(draws(Draw::Sequential, 3, 5), [0, 1, 2, 0, 1]);
        assert_eq!(draws(Draw::Hot, 1_000, 3), [0, 0, 0]);
    }

    #[test]
    fn latest_prefers_what_was_set_last() {
        let mut drawer = Drawer::new(Draw::Latest(0.99), Part { keys: 1_000, first: 0 });
        let mut rng = Rng::with_seed(3);
        let mut reads = vec![0u32; 1_000];
        for _ in 0..10_000 {
            reads[drawer.key(false, &mut rng) as usize] += 1;
        }
        assert!(reads[999] > reads[998] && reads[998] > reads[990], "the last key that was loaded leads");
        assert_eq!([drawer.key(true, &mut rng), drawer.key(true, &mut rng)], [0, 1]);
        let mut reads = vec![0u32; 1_000];
        for _ in 0..10_000 {
            reads[drawer.key(false, &mut rng) as usize] += 1;
        }
        assert!(reads[1] > reads[0] && reads[0] > reads[999] && reads[999] > reads[900], "{}", reads[1]);
    }

    #[test]
    fn uniform_draws_reach_every_key_about_as_often() {
        let mut count = [0u32; 10];
        for key in draws(Draw::Uniform, 10, 100_000) {
            count[key as usize] += 1;
        }
        assert!(count.iter().all(|count| (9_600..10_400).contains(count)), "{count:?}");
    }
}
