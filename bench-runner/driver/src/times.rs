//! How are response times kept? In one HDR histogram per kind of operation, whole.

use crate::protocol::PhaseHistogram;
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// Lowest value told apart, ns.
const LOW_NS: u64 = 1;
/// Highest value recorded, ns: 60 s.
const HIGH_NS: u64 = 60_000_000_000;
/// Significant decimal digits.
const DIGITS: u8 = 3;

/// Response times of one kind of operation.
pub(crate) struct Times {
    histogram: Histogram<u64>,
    clipped: u64,
    sum_ns: u64,
}

impl Times {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self { histogram: Histogram::new_with_bounds(LOW_NS, HIGH_NS, DIGITS)?, clipped: 0, sum_ns: 0 })
    }

    pub(crate) fn record(&mut self, ns: u64) {
        self.clipped += u64::from(ns > HIGH_NS);
        self.sum_ns += ns;
        self.histogram.saturating_record(ns.clamp(LOW_NS, HIGH_NS));
    }

    pub(crate) fn merge(&mut self, other: &Self) -> anyhow::Result<()> {
        self.histogram.add(&other.histogram)?;
        self.clipped += other.clipped;
        self.sum_ns += other.sum_ns;
        Ok(())
    }

    pub(crate) fn to_line(&self, operation: &str) -> anyhow::Result<PhaseHistogram> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes)?;
        Ok(PhaseHistogram {
            operation: operation.to_owned(),
            hdr_v2_deflate_base64: base64::engine::general_purpose::STANDARD.encode(bytes),
            low_ns: LOW_NS,
            high_ns: HIGH_NS,
            digits: DIGITS,
            count: self.histogram.len(),
            clipped: self.clipped,
            sum_ns: self.sum_ns,
        })
    }
}
