//! What is asked next? Draws operations and keys, and has them written in the target's protocol.

use super::draw::{Drawer, Part};
use super::values::Values;
use super::{http, memcached, resp};
use crate::plan::Operation;

pub use super::draw::Draw;
pub use super::length::Length;

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
    /// Closed loop: requests sent at once on a connection; the next ones follow when all are answered.
    pub pipeline: u32,
    /// A write that is refused for lack of memory (`-OOM …`) is counted, not wrong.
    pub refusals_are_right: bool,
    /// Replies are checked for shape and length only: the target is a ceiling, not a store.
    pub shape_only: bool,
    /// What is spoken.
    pub protocol: Protocol,
    /// What every key begins with, before `key:` and its digits.
    pub key_prefix: Vec<u8>,
}

impl Default for Workload {
    /// Uniform reads of 64 B over one single key, one at a time, in RESP2.
    fn default() -> Self {
        Self {
            mix: vec![(Operation::Get, 1)],
            keys: 1,
            draw: Draw::Uniform,
            length: Length::Fixed(64),
            expiry_ms: None,
            pipeline: 1,
            refusals_are_right: false,
            shape_only: false,
            protocol: Protocol::Resp2,
            key_prefix: Vec::new(),
        }
    }
}

/// What is spoken with a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The Redis protocol.
    #[default]
    Resp2,
    /// Its third version, after `HELLO 3`.
    Resp3,
    /// Memcached's text protocol.
    Memcached,
    /// HTTP/1.1.
    Http(http::Target),
    /// HTTP/1.1 on kept connections, of one page: whatever is drawn, its GET is what is sent.
    Page(http::Page),
}

impl Protocol {
    /// Whether a connection is of use after its first answer.
    #[must_use]
    pub fn keeps_connections(&self) -> bool {
        match self {
            Self::Http(target) => !target.close,
            Self::Page(page) => !page.closes(),
            Self::Resp2 | Self::Resp3 | Self::Memcached => true,
        }
    }

    /// The same on connections that are kept.
    #[must_use]
    pub fn kept(&self) -> Self {
        match self {
            Self::Http(target) => Self::Http(http::Target { close: false, ..target.clone() }),
            other => other.clone(),
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
    /// When it was sent, as far as the generation of values is concerned.
    pub age: Age,
}

/// When a request was sent: before, while or after the generation of what is written was raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Before.
    First,
    /// After, but while writes from before may have been under way.
    Turning,
    /// After, with no write from before under way: its key holds the newest generation from then on.
    Newest,
}

/// Draws and writes the requests of one generator thread.
#[derive(Debug)]
pub struct Source<'a> {
    workload: &'a Workload,
    values: &'a Values,
    /// What is written now: another generation than that of `values` until half of the load is sent.
    written: Values,
    age: Age,
    rng: fastrand::Rng,
    weights: u32,
    drawer: Drawer,
    writer: Writer<'a>,
}

impl<'a> Source<'a> {
    /// A source with its own random sequence. With [`Draw::Once`] and [`Draw::Sequential`], it takes places
    /// `first…` of an order that is the same for every source, so that several threads can share the keys out.
    #[must_use]
    pub fn new(workload: &'a Workload, values: &'a Values, seed: u64, first: u64) -> Self {
        Self {
            workload,
            values,
            written: values.at_first(),
            age: if values.turns() { Age::First } else { Age::Newest },
            rng: fastrand::Rng::with_seed(seed),
            weights: workload.mix.iter().map(|(_, weight)| weight).sum(),
            drawer: Drawer::new(workload.draw, Part { keys: workload.keys, first }),
            writer: Writer::new(workload),
        }
    }

    #[inline]
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

    /// Appends one request to `out`.
    #[inline]
    pub fn ask(&mut self, since_start_ns: u64, out: &mut Vec<u8>) -> Asked {
        let operation = self.operation();
        let index = self.drawer.key(operation == Operation::Set, &mut self.rng);
        let length = self.workload.length.of(index, since_start_ns, self.values);
        self.write(operation, index, length, out);
        Asked { operation, index, length, age: self.age }
    }

    /// From here on the newest generation is written.
    pub(super) fn turn(&mut self) {
        self.written = self.values.clone();
        self.age = Age::Turning;
    }

    /// No write of an earlier generation is under way any more, in any thread.
    pub(super) fn has_turned(&mut self) {
        self.age = Age::Newest;
    }

    /// Whether writes of an earlier generation may be under way.
    pub(super) fn is_turning(&self) -> bool {
        self.age != Age::Newest
    }

    /// Appends a given request to `out`.
    #[inline]
    pub fn write(&self, operation: Operation, index: u64, length: u32, out: &mut Vec<u8>) {
        match &self.writer {
            Writer::Resp(writer) => writer.write(operation, index, length, &self.written, out),
            Writer::Memcached(writer) => writer.write(operation, index, length, &self.written, out),
            Writer::Http(target) => http::write(target, operation, index, length, &self.written, out),
            Writer::Page(page) => page.write(out),
        }
    }
}

/// The protocol's writer, with what all its requests have in common written once.
#[derive(Debug)]
enum Writer<'a> {
    Resp(resp::Writer),
    Memcached(memcached::Writer),
    Http(&'a http::Target),
    Page(&'a http::Page),
}

impl<'a> Writer<'a> {
    fn new(workload: &'a Workload) -> Self {
        let (prefix, expiry_ms) = (workload.key_prefix.as_slice(), workload.expiry_ms);
        match &workload.protocol {
            Protocol::Resp2 | Protocol::Resp3 => {
                Self::Resp(resp::Writer::new(prefix, expiry_ms, workload.length.longest()))
            }
            Protocol::Memcached => Self::Memcached(memcached::Writer::new(prefix, expiry_ms)),
            Protocol::Http(target) => Self::Http(target),
            Protocol::Page(page) => Self::Page(page),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_follows_its_weights() {
        let workload = Workload {
            mix: vec![(Operation::Set, 9), (Operation::Get, 1)],
            keys: 1_000,
            ..Workload::default()
        };
        let values = Values::new(1, 64);
        let mut source = Source::new(&workload, &values, 5, 0);
        let sets = (0..10_000).filter(|_| source.ask(0, &mut Vec::new()).operation == Operation::Set).count();
        assert!((8_800..9_200).contains(&sets), "{sets}");
    }

    #[test]
    fn every_protocol_writes_the_key_and_length_it_says_it_asked_for() {
        let http =
            http::Target { host: "127.0.0.1:80".to_owned(), path_prefix: "/k/".to_owned(), close: false };
        for protocol in [Protocol::Resp2, Protocol::Resp3, Protocol::Memcached, Protocol::Http(http)] {
            let workload = Workload {
                mix: vec![(Operation::Set, 1)],
                keys: 1_000,
                length: Length::Uniform(10, 99),
                protocol,
                ..Workload::default()
            };
            let values = Values::new(1, 99);
            let mut source = Source::new(&workload, &values, 5, 0);
            for _ in 0..100 {
                let mut out = Vec::new();
                let asked = source.ask(0, &mut out);
                let text = String::from_utf8_lossy(&out).into_owned();
                assert!(text.contains(&format!("key:{:012}", asked.index)), "{text}");
                let mut value = vec![0; asked.length as usize];
                values.write(asked.index, &mut value);
                let carries = out.windows(value.len()).any(|piece| piece == value);
                assert!(carries);
            }
        }
    }
}
