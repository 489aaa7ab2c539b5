//! What is asked next? Draws operations and keys, and writes requests.

use super::values::{KEY_BYTES, Values, write_key};
use crate::plan::Operation;

/// Which requests a stretch of load is made of.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Operations with their weights.
    pub mix: Vec<(Operation, u32)>,
    /// Keys `0..keys`.
    pub keys: u64,
    /// How keys are drawn.
    pub draw: Draw,
    /// Value lengths.
    pub length: Length,
    /// Lifetime of what is set, ms.
    pub expiry_ms: Option<u64>,
    /// Requests sent at once on a connection; the next ones follow when all are answered.
    pub pipeline: u32,
    /// A write that is refused for lack of memory (`-OOM …`) is counted, not wrong.
    pub refusals_are_right: bool,
    /// Replies are checked for shape and length only: the target is a ceiling, not a store.
    pub shape_only: bool,
}

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// Each key as likely as any other, every time.
    Uniform,
    /// Every key once, in an order that jumps about.
    Once,
}

/// Value lengths, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// All the same.
    Fixed(u32),
    /// From the first to the second over the given time, ns.
    Growing(u32, u32, u64),
}

impl Length {
    /// The longest there will be.
    #[must_use]
    pub fn longest(self) -> u32 {
        self.bounds().1
    }

    /// The shortest and the longest there will be.
    #[must_use]
    pub fn bounds(self) -> (u32, u32) {
        match self {
            Self::Fixed(bytes) => (bytes, bytes),
            Self::Growing(from, to, _) => (from.min(to), from.max(to)),
        }
    }

    fn at(self, since_start_ns: u64) -> u32 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Growing(from, to, over_ns) => {
                let share = (since_start_ns as f64 / over_ns.max(1) as f64).min(1.0);
                (f64::from(from) + (f64::from(to) - f64::from(from)) * share) as u32
            }
        }
    }
}

/// A request that has been sent, as its reply will need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// What it asked for.
    pub operation: Operation,
    /// Of which key.
    pub index: u64,
    /// The length its value has, bytes.
    pub length: u32,
}

/// Draws and writes the requests of one generator thread.
#[derive(Debug)]
pub struct Source<'a> {
    workload: &'a Workload,
    values: &'a Values,
    rng: fastrand::Rng,
    weights: u32,
    /// Position in the order of [`Draw::Once`].
    next: u64,
    step: u64,
    offset: u64,
    after_value: Vec<u8>,
}

impl<'a> Source<'a> {
    /// A source with its own random sequence. With [`Draw::Once`], it takes places `first…` of an order
    /// that depends on `order_seed` alone, so that several threads can share the keys out among them.
    #[must_use]
    pub fn new(workload: &'a Workload, values: &'a Values, seed: u64, order_seed: u64, first: u64) -> Self {
        let mut order = fastrand::Rng::with_seed(order_seed);
        let keys = workload.keys.max(1);
        // Steps through all residues when it shares no divisor with the number of keys.
        let mut step = order.u64(0..keys) | 1;
        while gcd(step, keys) != 1 {
            step += 2;
        }
        let mut after_value = b"\r\n".to_vec();
        if let Some(ms) = workload.expiry_ms {
            let ms = ms.to_string();
            after_value.extend_from_slice(format!("$2\r\nPX\r\n${}\r\n{ms}\r\n", ms.len()).as_bytes());
        }
        Self {
            workload,
            values,
            rng: fastrand::Rng::with_seed(seed),
            weights: workload.mix.iter().map(|(_, weight)| weight).sum(),
            next: first,
            step,
            offset: order.u64(0..keys),
            after_value,
        }
    }

    fn operation(&mut self) -> Operation {
        let mut left = if self.workload.mix.len() > 1 { self.rng.u32(0..self.weights.max(1)) } else { 0 };
        for (operation, weight) in &self.workload.mix {
            if left < *weight {
                return *operation;
            }
            left -= weight;
        }
        Operation::Get
    }

    fn key(&mut self) -> u64 {
        match self.workload.draw {
            Draw::Uniform => self.rng.u64(0..self.workload.keys.max(1)),
            Draw::Once => {
                let keys = u128::from(self.workload.keys.max(1));
                let place = u128::from(self.next) * u128::from(self.step) + u128::from(self.offset);
                self.next += 1;
                (place % keys) as u64
            }
        }
    }

    /// Appends one request to `out`.
    pub fn ask(&mut self, since_start_ns: u64, out: &mut Vec<u8>) -> Asked {
        let operation = self.operation();
        let index = self.key();
        let length = self.workload.length.at(since_start_ns);
        self.write(operation, index, length, out);
        Asked { operation, index, length }
    }

    /// Appends a given request to `out`.
    pub fn write(&self, operation: Operation, index: u64, length: u32, out: &mut Vec<u8>) {
        let mut key = [0; KEY_BYTES];
        write_key(index, &mut key);
        out.extend_from_slice(match operation {
            Operation::Set if self.workload.expiry_ms.is_some() => b"*5\r\n$3\r\nSET\r\n$16\r\n",
            Operation::Set => b"*3\r\n$3\r\nSET\r\n$16\r\n",
            Operation::Get => b"*2\r\n$3\r\nGET\r\n$16\r\n",
            Operation::Del => b"*2\r\n$3\r\nDEL\r\n$16\r\n",
        });
        out.extend_from_slice(&key);
        out.extend_from_slice(b"\r\n");
        if operation == Operation::Set {
            out.push(b'$');
            write_decimal(length, out);
            out.extend_from_slice(b"\r\n");
            let start = out.len();
            out.resize(start + length as usize, 0);
            self.values.write(index, &mut out[start..]);
            out.extend_from_slice(&self.after_value);
        }
    }
}

/// Appends a number in decimal.
pub fn write_decimal(mut number: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn workload(mix: Vec<(Operation, u32)>) -> Workload {
        Workload {
            mix,
            keys: 1_000,
            draw: Draw::Uniform,
            length: Length::Fixed(64),
            expiry_ms: None,
            pipeline: 1,
            refusals_are_right: false,
            shape_only: false,
        }
    }

    #[test]
    fn requests_are_what_the_codec_would_write() {
        let values = Values::new(1, 64);
        let mut value = [0; 64];
        values.write(42, &mut value);
        for (expiry_ms, operation, expected) in [
            (None, Operation::Set, vec![b"SET".as_slice(), b"key:000000000042", &value]),
            (Some(1_500), Operation::Set, vec![b"SET", b"key:000000000042", &value, b"PX", b"1500"]),
            (None, Operation::Get, vec![b"GET", b"key:000000000042"]),
            (None, Operation::Del, vec![b"DEL", b"key:000000000042"]),
        ] {
            let workload = Workload { expiry_ms, ..workload(vec![(operation, 1)]) };
            let source = Source::new(&workload, &values, 1, 1, 0);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            source.write(operation, 42, 64, &mut ours);
            plumbkv_resp::compose(&expected, &mut theirs);
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn once_draws_every_key_and_none_twice() {
        for keys in [1u64, 2, 3, 64, 1_000, 1_001] {
            let mut workload = workload(vec![(Operation::Del, 1)]);
            workload.keys = keys;
            workload.draw = Draw::Once;
            let values = Values::new(1, 64);
            let mut seen = HashSet::new();
            // Two threads share the keys out.
            for (first, count) in [(0, keys / 2), (keys / 2, keys - keys / 2)] {
                let mut source = Source::new(&workload, &values, first, 9, first);
                for _ in 0..count {
                    assert!(seen.insert(source.ask(0, &mut Vec::new()).index));
                }
            }
            assert_eq!(seen.len() as u64, keys);
        }
    }

    #[test]
    fn a_mix_follows_its_weights() {
        let workload = workload(vec![(Operation::Set, 9), (Operation::Get, 1)]);
        let values = Values::new(1, 64);
        let mut source = Source::new(&workload, &values, 5, 5, 0);
        let sets = (0..10_000).filter(|_| source.ask(0, &mut Vec::new()).operation == Operation::Set).count();
        assert!((8_800..9_200).contains(&sets), "{sets}");
    }

    #[test]
    fn lengths_grow_from_the_first_to_the_last() {
        let length = Length::Growing(100, 1_100, 1_000);
        assert_eq!([length.at(0), length.at(500), length.at(2_000)], [100, 600, 1_100]);
    }
}
