//! Facets: how many hits have each value of a field.

use std::collections::HashMap;

use tantivy::columnar::{Column, MonotonicallyMappableToU64, StrColumn};
use tantivy::{DocId, SegmentReader};

use super::collect::{SegmentHits, numbers};
use crate::error::{Error, Result};
use crate::limits::{MAX_FACET_VALUES, MAX_FACETS};
use crate::names::hint;
use crate::schema::{FieldType, Schema};

/// How many hits have a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetCount {
    /// The value, as JSON.
    pub value: String,
    /// Hits that have it.
    pub count: u64,
}

/// A field whose values are counted.
pub(super) struct FacetSpec {
    name: String,
    kind: FieldType,
    most: usize,
}

/// Checks the facets of a search.
pub(super) fn check(facets: &[(String, usize)], schema: &Schema) -> Result<Vec<FacetSpec>> {
    if facets.len() > MAX_FACETS {
        return Err(Error::invalid(format!("{} facets, and a search may have {MAX_FACETS}", facets.len())));
    }
    let check_one = |(name, most): &(String, usize)| {
        let kind = schema.fields.get(name).copied().filter(|kind| *kind != FieldType::Text);
        let Some(kind) = kind else {
            let hint = hint(name, schema.names());
            return Err(Error::invalid(format!("facets: `{name}` is not indexed by value; {hint}")));
        };
        if *most == 0 || *most > MAX_FACET_VALUES {
            return Err(Error::invalid(format!(
                "facets: {most} values of `{name}`: expected 1 to {MAX_FACET_VALUES}"
            )));
        }
        Ok(FacetSpec { name: name.clone(), kind, most: *most })
    };
    facets.iter().map(check_one).collect()
}

/// Counts in one segment, by ordinal or by number.
pub(super) struct FacetCounter {
    column: Option<Column<u64>>,
    texts: Option<StrColumn>,
    counts: HashMap<u64, u64>,
}

impl FacetCounter {
    pub(super) fn new(facet: &FacetSpec, segment: &SegmentReader) -> tantivy::Result<Self> {
        let texts = match facet.kind {
            FieldType::Keyword => segment.fast_fields().str(&facet.name)?,
            _ => None,
        };
        let column = match &texts {
            Some(texts) => Some(texts.ords().clone()),
            None => numbers(segment, &facet.name, facet.kind)?,
        };
        Ok(Self { column, texts, counts: HashMap::new() })
    }

    /// Counts each value of a document once.
    pub(super) fn count(&mut self, document: DocId) {
        let Some(column) = &self.column else { return };
        let mut values = column.values_for_doc(document);
        let Some(first) = values.next() else { return };
        *self.counts.entry(first).or_default() += 1;
        let Some(second) = values.next() else { return };
        let mut counted = vec![first];
        for value in std::iter::once(second).chain(values) {
            if !counted.contains(&value) {
                counted.push(value);
                *self.counts.entry(value).or_default() += 1;
            }
        }
    }
}

/// The values with the highest counts; of equal counts the smaller value first.
pub(super) fn results(segments: &[SegmentHits], facets: &[FacetSpec]) -> Result<Vec<Vec<FacetCount>>> {
    let mut all = Vec::new();
    for (index, facet) in facets.iter().enumerate() {
        let (mut texts, mut numbers): (HashMap<String, u64>, HashMap<u64, u64>) = Default::default();
        for counter in segments.iter().map(|segment| &segment.facets[index]) {
            for (value, count) in &counter.counts {
                let Some(column) = &counter.texts else {
                    *numbers.entry(*value).or_default() += count;
                    continue;
                };
                let mut text = String::new();
                column
                    .ord_to_str(*value, &mut text)
                    .map_err(|error| Error::storage(format!("the index cannot be read: {error}")))?;
                *texts.entry(text).or_default() += count;
            }
        }
        let counts = if facet.kind == FieldType::Keyword {
            ranked(texts, facet.most, |text| serde_json::to_string(text).unwrap_or_default())
        } else {
            ranked(numbers, facet.most, |number| json_of(facet.kind, *number))
        };
        all.push(counts);
    }
    Ok(all)
}

fn ranked<T: Ord>(counts: HashMap<T, u64>, most: usize, json: impl Fn(&T) -> String) -> Vec<FacetCount> {
    let mut all: Vec<(T, u64)> = counts.into_iter().collect();
    all.sort_unstable_by(|(left, many), (right, more)| more.cmp(many).then(left.cmp(right)));
    all.truncate(most);
    all.into_iter().map(|(value, count)| FacetCount { value: json(&value), count }).collect()
}

/// The JSON text of a number in a column.
fn json_of(kind: FieldType, number: u64) -> String {
    match kind {
        FieldType::I64 => i64::from_u64(number).to_string(),
        FieldType::F64 => serde_json::to_string(&f64::from_u64(number)).unwrap_or_default(),
        FieldType::Bool => bool::from_u64(number).to_string(),
        FieldType::Date => {
            let moment = jiff::Timestamp::from_nanosecond(i128::from(i64::from_u64(number)));
            moment.map(|moment| format!("\"{moment}\"")).unwrap_or_default()
        }
        FieldType::U64 | FieldType::Text | FieldType::Keyword => number.to_string(),
    }
}
