//! Collection of hits in one segment: exact count, the first hits of the order, and counts of values.
//!
//! A key is a number whose order is that of the lane: a missing value is above all others, and a
//! descending lane is complemented. Strings are their ordinal in the segment, so keys of strings
//! compare within a segment only; [`super::merge`] compares the strings themselves.

use std::collections::BinaryHeap;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use super::cursor::{Cursor, CursorKey};
use super::facets::{FacetCounter, FacetSpec};
use super::sort::{By, Lane, Order};
use crate::index::ID;
use crate::limits::MAX_SORT_FIELDS;
use crate::schema::FieldType;

/// Key of a document without a value.
pub(super) const MISSING: u128 = u128::MAX;

/// A document's place in the order, within its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) keys: [u128; MAX_SORT_FIELDS],
    /// Twice the ordinal of its id, plus 1.
    pub(super) id: u64,
}

/// Collects a page.
pub(super) struct PageCollector {
    /// Hits that each segment keeps.
    pub(super) top: usize,
    /// Only hits behind this place are kept; all are counted.
    pub(super) after: Option<Cursor>,
    pub(super) facets: Vec<FacetSpec>,
    pub(super) order: Order,
}

/// Hits of all segments.
pub(super) struct Collected {
    pub(super) total: u64,
    pub(super) segments: Vec<SegmentHits>,
}

/// Hits of a segment, the first ones in order.
pub(super) struct SegmentHits {
    total: u64,
    pub(super) candidates: Vec<Candidate>,
    pub(super) ids: StrColumn,
    /// Strings of each lane that has them.
    pub(super) texts: Vec<Option<StrColumn>>,
    pub(super) facets: Vec<FacetCounter>,
}

/// Values of a lane.
enum Keys {
    Score,
    Numbers(Column<u64>),
    Texts(Column<u64>),
    /// No document of the segment has one.
    None,
}

pub(super) struct PageSegment {
    lanes: Vec<(Keys, bool)>,
    id_ords: Column<u64>,
    top: usize,
    after: Option<Candidate>,
    heap: BinaryHeap<Candidate>,
    hits: SegmentHits,
}

/// The column of a numeric field, as numbers that sort like its values.
pub(super) fn numbers(
    segment: &SegmentReader,
    name: &str,
    kind: FieldType,
) -> tantivy::Result<Option<Column<u64>>> {
    let columns = segment.fast_fields();
    Ok(match kind {
        FieldType::I64 | FieldType::Date => columns.column_opt::<i64>(name)?.map(Column::to_u64_monotonic),
        FieldType::U64 => columns.column_opt::<u64>(name)?,
        FieldType::F64 => columns.column_opt::<f64>(name)?.map(Column::to_u64_monotonic),
        FieldType::Bool => columns.column_opt::<bool>(name)?.map(Column::to_u64_monotonic),
        FieldType::Text | FieldType::Keyword => None,
    })
}

fn directed(key: u64, is_descending: bool) -> u128 {
    u128::from(if is_descending { !key } else { key })
}

/// The key of the first value in a lane's direction.
fn first_value(values: impl Iterator<Item = u64>, is_descending: bool) -> u128 {
    let first = if is_descending { values.max() } else { values.min() };
    first.map_or(MISSING, |key| directed(key, is_descending))
}

/// The key of an ordinal. The numbers between are for strings that the segment does not have.
fn of_ordinal(ordinal: u64) -> u64 {
    2 * ordinal + 1
}

/// The ordinal of a key.
pub(super) fn ordinal(key: u64) -> u64 {
    key / 2
}

/// Where a string is or would be among the segment's.
fn place_of(texts: &StrColumn, text: &str) -> std::io::Result<u64> {
    let (mut low, mut high) = (0, texts.num_terms() as u64);
    let mut term = String::new();
    while low < high {
        let middle = low + (high - low) / 2;
        texts.ord_to_str(middle, &mut term)?;
        match term.as_str().cmp(text) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Ok(of_ordinal(middle)),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(2 * low)
}

/// The place of a cursor in the segment's own order.
fn localized(
    after: &Cursor,
    lanes: &[Lane],
    ids: &StrColumn,
    texts: &[Option<StrColumn>],
) -> std::io::Result<Candidate> {
    let mut keys = [0; MAX_SORT_FIELDS];
    for (index, (lane, key)) in lanes.iter().zip(&after.keys).enumerate() {
        keys[index] = match (key, &texts[index]) {
            (CursorKey::Missing, _) => MISSING,
            (CursorKey::Number(number), _) => directed(*number, lane.is_descending),
            (CursorKey::Text(text), Some(texts)) => directed(place_of(texts, text)?, lane.is_descending),
            // All documents of the segment lack the value and come later.
            (CursorKey::Text(_), None) => 0,
        };
    }
    Ok(Candidate { keys, id: place_of(ids, &after.id)? })
}

impl Collector for PageCollector {
    type Fruit = Collected;
    type Child = PageSegment;

    fn for_segment(&self, _: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<PageSegment> {
        let strings = |name: &str| segment.fast_fields().str(name);
        let ids = strings(ID)?
            .ok_or_else(|| tantivy::TantivyError::InternalError("a segment has no ids".to_owned()))?;
        let (mut lanes, mut texts) = (Vec::new(), Vec::new());
        for Lane { by, is_descending } in &self.order.lanes {
            let (keys, column) = match by {
                By::Score => (Keys::Score, None),
                By::Id => (Keys::Texts(ids.ords().clone()), Some(ids.clone())),
                By::Field(name, FieldType::Keyword) => match strings(name)? {
                    Some(column) => (Keys::Texts(column.ords().clone()), Some(column)),
                    None => (Keys::None, None),
                },
                By::Field(name, kind) => {
                    (numbers(segment, name, *kind)?.map_or(Keys::None, Keys::Numbers), None)
                }
            };
            lanes.push((keys, *is_descending));
            texts.push(column);
        }
        let after =
            self.after.as_ref().map(|after| localized(after, &self.order.lanes, &ids, &texts)).transpose()?;
        let facets = self
            .facets
            .iter()
            .map(|facet| FacetCounter::new(facet, segment))
            .collect::<tantivy::Result<_>>()?;
        Ok(PageSegment {
            lanes,
            id_ords: ids.ords().clone(),
            top: self.top,
            after,
            heap: BinaryHeap::new(),
            hits: SegmentHits { total: 0, candidates: Vec::new(), ids, texts, facets },
        })
    }

    fn requires_scoring(&self) -> bool {
        self.order.has_score()
    }

    fn merge_fruits(&self, segments: Vec<SegmentHits>) -> tantivy::Result<Collected> {
        Ok(Collected { total: segments.iter().map(|segment| segment.total).sum(), segments })
    }
}

impl PageSegment {
    fn key(&self, lane: usize, document: DocId, score: Score) -> u128 {
        let (keys, is_descending) = &self.lanes[lane];
        match keys {
            Keys::Score => directed(u64::from(score.to_bits()), *is_descending),
            Keys::Numbers(column) => first_value(column.values_for_doc(document), *is_descending),
            Keys::Texts(column) => {
                first_value(column.values_for_doc(document).map(of_ordinal), *is_descending)
            }
            Keys::None => MISSING,
        }
    }
}

impl SegmentCollector for PageSegment {
    type Fruit = SegmentHits;

    fn collect(&mut self, document: DocId, score: Score) {
        self.hits.total += 1;
        for facet in &mut self.hits.facets {
            facet.count(document);
        }
        let worst = if self.heap.len() == self.top { self.heap.peek().copied() } else { None };
        let mut keys = [0; MAX_SORT_FIELDS];
        for (lane, key) in keys.iter_mut().enumerate().take(self.lanes.len()) {
            *key = self.key(lane, document, score);
            // Most documents are behind all that are kept by their first key already.
            if lane == 0 && worst.is_some_and(|worst| *key > worst.keys[0]) {
                return;
            }
        }
        let id = self.id_ords.first(document).map_or(u64::MAX, of_ordinal);
        let candidate = Candidate { keys, id };
        if self.after.is_some_and(|after| candidate <= after) {
            return;
        }
        match worst {
            None => self.heap.push(candidate),
            Some(worst) if candidate < worst => {
                self.heap.pop();
                self.heap.push(candidate);
            }
            Some(_) => {}
        }
    }

    fn harvest(mut self) -> SegmentHits {
        self.hits.candidates = self.heap.into_sorted_vec();
        self.hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_in_both_directions_and_missing_is_last() {
        let values = [3, 1, 2];
        assert_eq!(first_value(values.into_iter(), false), 1);
        assert_eq!(first_value(values.into_iter(), true), u128::from(!3_u64));
        assert!(first_value(values.into_iter(), true) < first_value([0].into_iter(), true));
        assert!(directed(u64::MAX, false) < MISSING && directed(0, true) < MISSING);
        assert_eq!(first_value(std::iter::empty(), true), MISSING);
        assert_eq!(ordinal(of_ordinal(7)), 7);
    }

    #[test]
    fn scores_sort_like_their_bits() {
        let scores = [0.0_f32, f32::MIN_POSITIVE, 0.5, 1.0, 37.25];
        assert!(scores.is_sorted_by_key(|score| score.to_bits()));
    }
}
