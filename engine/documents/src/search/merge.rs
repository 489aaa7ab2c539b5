//! Merging the hits of segments into one order.
//!
//! Each segment has its own ordinals of strings, so strings are read where two hits are compared by
//! them, and only for hits at the heads of the segments' lists.

use std::cell::OnceCell;
use std::cmp::Ordering;

use super::collect::{Candidate, MISSING, SegmentHits, ordinal};
use super::sort::{By, Order};
use crate::error::{Error, Result};
use crate::limits::MAX_SORT_FIELDS;

/// A hit of a segment, with its strings as far as they were read.
pub(super) struct Place<'a> {
    segment: &'a SegmentHits,
    pub(super) candidate: Candidate,
    id: OnceCell<String>,
    texts: [OnceCell<String>; MAX_SORT_FIELDS],
}

impl<'a> Place<'a> {
    fn new(segment: &'a SegmentHits, candidate: Candidate) -> Self {
        Self { segment, candidate, id: OnceCell::new(), texts: Default::default() }
    }

    /// The document's id.
    pub(super) fn id(&self) -> Result<&str> {
        read(&self.id, &self.segment.ids, self.candidate.id)
    }

    /// The string of a lane; `None` where the document has none.
    pub(super) fn text(&self, lane: usize, is_descending: bool) -> Result<Option<&str>> {
        let key = self.candidate.keys[lane];
        let (false, Some(texts)) = (key == MISSING, &self.segment.texts[lane]) else { return Ok(None) };
        read(&self.texts[lane], texts, undirected(key, is_descending)).map(Some)
    }

    /// The document's relevance, where the order has it.
    pub(super) fn score(&self, order: &Order) -> Option<f32> {
        let lane = order.lanes.iter().position(|lane| lane.by == By::Score)?;
        let bits = undirected(self.candidate.keys[lane], order.lanes[lane].is_descending);
        Some(f32::from_bits(bits as u32))
    }

    fn compare(&self, other: &Self, order: &Order) -> Result<Ordering> {
        for (index, lane) in order.lanes.iter().enumerate() {
            let keys = (self.candidate.keys[index], other.candidate.keys[index]);
            let has_texts = self.segment.texts[index].is_some() && other.segment.texts[index].is_some();
            let decided = if has_texts && keys.0 != MISSING && keys.1 != MISSING {
                let texts =
                    self.text(index, lane.is_descending)?.cmp(&other.text(index, lane.is_descending)?);
                if lane.is_descending { texts.reverse() } else { texts }
            } else {
                keys.0.cmp(&keys.1)
            };
            if decided != Ordering::Equal {
                return Ok(decided);
            }
        }
        Ok(self.id()?.cmp(other.id()?))
    }
}

/// The number that a key was made from.
pub(super) fn undirected(key: u128, is_descending: bool) -> u64 {
    let key = key as u64;
    if is_descending { !key } else { key }
}

fn read<'a>(cell: &'a OnceCell<String>, texts: &tantivy::columnar::StrColumn, key: u64) -> Result<&'a str> {
    if cell.get().is_none() {
        let mut text = String::new();
        let found = texts.ord_to_str(ordinal(key), &mut text);
        if !found.map_err(|error| Error::storage(format!("the index cannot be read: {error}")))? {
            return Err(Error::storage("the index has a value without its string"));
        }
        let _ = cell.set(text);
    }
    Ok(cell.get().map_or("", |text| text))
}

/// The first `most` hits of all segments, in order.
pub(super) fn first<'a>(segments: &'a [SegmentHits], order: &Order, most: usize) -> Result<Vec<Place<'a>>> {
    let mut lists: Vec<_> = segments.iter().map(|segment| segment.candidates.iter()).collect();
    let mut heads: Vec<Option<Place<'a>>> = Vec::with_capacity(segments.len());
    for (segment, list) in segments.iter().zip(&mut lists) {
        heads.push(list.next().map(|candidate| Place::new(segment, *candidate)));
    }
    let mut all = Vec::new();
    while all.len() < most {
        let mut least: Option<(usize, &Place<'a>)> = None;
        for (index, head) in heads.iter().enumerate() {
            let Some(head) = head else { continue };
            let is_less = match least {
                None => true,
                Some((_, place)) => head.compare(place, order)? == Ordering::Less,
            };
            if is_less {
                least = Some((index, head));
            }
        }
        let Some((index, _)) = least else { break };
        let next = lists[index].next().map(|candidate| Place::new(&segments[index], *candidate));
        all.extend(std::mem::replace(&mut heads[index], next));
    }
    Ok(all)
}
