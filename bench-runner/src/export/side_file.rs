//! The histogram file of a run: every histogram as HDR V2 without deflate, one after the other, so that zstd sees
//! all of them at once. In the scenarios' JSON a histogram is a place in it.
//!
//! The rest of the program knows nothing of it: a record in memory has each histogram as base64 text of HDR V2
//! with deflate, whichever file it came from.

use crate::model::{Cell, Histogram, HistogramPlace, ScenarioRecord};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read as _, Write as _};

/// Its name beside `run.json`.
pub(super) const NAME: &str = "histograms.hdr.zst";
/// First four bytes of HDR V2, and of HDR V2 with deflate; a length of four bytes follows in both.
const V2: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
const V2_DEFLATE: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
/// A histogram of 1 ns to a minute with three digits has at most 55,000 buckets of at most nine bytes.
const LARGEST_BYTES: u64 = 4 * 1024 * 1024;

/// The record with its histograms moved to the end of `side`. One that is no HDR V2 with deflate keeps its text:
/// a broken histogram of a failed trial is part of the record, too.
pub(super) fn take_out(record: &ScenarioRecord, side: &mut Vec<u8>) -> ScenarioRecord {
    let mut record = record.clone();
    for histogram in record.cells.iter_mut().flat_map(histograms) {
        if let Some(raw) = inflated(&histogram.hdr_v2_deflate_base64) {
            histogram.hdr_v2 = Some(HistogramPlace { at: side.len() as u64, bytes: raw.len() as u64 });
            histogram.hdr_v2_deflate_base64.clear();
            side.extend(raw);
        }
    }
    record
}

/// The content of a run's histogram file while the run's scenarios are read.
pub(super) struct Side {
    content: Vec<u8>,
    /// Bytes that places may still name: each byte belongs to one histogram, or a small file could make a large record.
    left: u64,
}

impl Side {
    pub(super) fn new(content: Vec<u8>) -> Self {
        Self { left: content.len() as u64, content }
    }

    /// Puts the histograms of a record back into it.
    ///
    /// # Errors
    /// Says which histogram names no place, or one that is not there.
    pub(super) fn put_back(&mut self, record: &mut ScenarioRecord) -> Result<(), String> {
        for cell in &mut record.cells {
            let key = cell.key.clone();
            for histogram in histograms(cell) {
                self.restore(histogram)
                    .map_err(|said| format!("histogram of '{}' of cell {key} {said}", histogram.operation))?;
            }
        }
        Ok(())
    }

    fn restore(&mut self, histogram: &mut Histogram) -> Result<(), String> {
        let Some(HistogramPlace { at, bytes }) = histogram.hdr_v2.take() else {
            let absent = histogram.hdr_v2_deflate_base64.is_empty();
            return if absent { Err("has neither a text nor a place".to_owned()) } else { Ok(()) };
        };
        if !histogram.hdr_v2_deflate_base64.is_empty() {
            return Err("has both a text and a place".to_owned());
        }
        let from = usize::try_from(at).ok();
        let to = at.checked_add(bytes).and_then(|end| usize::try_from(end).ok());
        let raw = from.zip(to).and_then(|(from, to)| self.content.get(from..to)).ok_or_else(|| {
            format!(
                "is said to be at byte {at}, {bytes} bytes long: outside {NAME}, which has {}",
                self.content.len()
            )
        })?;
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or_else(|| format!("is said to be at byte {at} of {NAME}, where another one is"))?;
        if !raw.starts_with(&V2) {
            return Err(format!("is said to be at byte {at} of {NAME}, where none begins"));
        }
        histogram.hdr_v2_deflate_base64 = deflated(raw).ok_or_else(|| {
            format!("at byte {at} of {NAME} is {bytes} bytes long, which is too large for one")
        })?;
        Ok(())
    }
}

fn histograms(cell: &mut Cell) -> impl Iterator<Item = &mut Histogram> {
    cell.trials.iter_mut().flat_map(|trial| &mut trial.histograms).chain(&mut cell.merged_histograms)
}

/// HDR V2 from base64 text of HDR V2 with deflate; none where it is not exactly that.
pub(super) fn inflated(text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (length, deflated) = bytes.strip_prefix(&V2_DEFLATE)?.split_first_chunk::<4>()?;
    if u32::from_be_bytes(*length) as usize != deflated.len() {
        return None;
    }
    let mut decoder = ZlibDecoder::new(deflated).take(LARGEST_BYTES + 1);
    let mut raw = Vec::new();
    decoder.read_to_end(&mut raw).ok()?;
    let whole = decoder.into_inner().total_in() == deflated.len() as u64;
    (whole && raw.len() as u64 <= LARGEST_BYTES && raw.starts_with(&V2)).then_some(raw)
}

/// Base64 text of HDR V2 with deflate, as hdrhistogram spells it.
fn deflated(raw: &[u8]) -> Option<String> {
    if raw.len() as u64 > LARGEST_BYTES {
        return None;
    }
    let mut bytes = [&V2_DEFLATE[..], &[0; 4]].concat();
    let mut encoder = ZlibEncoder::new(&mut bytes, Compression::default());
    encoder.write_all(raw).ok()?;
    encoder.finish().ok()?;
    let length = u32::try_from(bytes.len() - 8).ok()?;
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    Some(STANDARD.encode(bytes))
}

#[cfg(test)]
#[path = "side_file_test.rs"]
mod tests;
