//! Translation of a query for the index.

use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, EmptyQuery, ExistsQuery, Occur, PhraseQuery, Query, RangeQuery,
    TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use super::excluded::Excluded;
use super::filter::{End, Filter};
use super::words::{Clause, Words};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::schema::FieldType;
use crate::value::Value;

/// So many values of a list are looked up one by one; more of them as a set.
const MOST_TERMS: usize = 16;

/// A query for the index.
pub(crate) struct Compiled {
    pub(crate) query: Box<dyn Query>,
    /// Hits differ in their scores.
    pub(crate) has_scores: bool,
}

/// Translates words, of which all or any must occur, and a filter.
pub(crate) fn compile(
    index: &Index,
    words: &Words,
    in_fields: &[String],
    needs_all: bool,
    filter: Option<&Filter>,
) -> Result<Compiled> {
    let (mut wanted, mut clauses) = (Vec::<Box<dyn Query>>::new(), Vec::new());
    for clause in &words.0 {
        let Some(query) = words_query(index, clause, in_fields)? else { continue };
        if clause.is_excluded { clauses.push(without(query)) } else { wanted.push(query) }
    }
    let has_scores = !wanted.is_empty();
    if needs_all || wanted.len() == 1 {
        clauses.extend(wanted.into_iter().map(|query| (Occur::Must, query)));
    } else if has_scores {
        clauses.push((Occur::Must, Box::new(BooleanQuery::union(wanted))));
    }
    match filter {
        Some(filter) if has_scores => {
            let filter = ConstScoreQuery::new(filter_query(index, filter)?, 0.0);
            clauses.push((Occur::Must, Box::new(filter)));
        }
        Some(filter) => clauses.push((Occur::Must, filter_query(index, filter)?)),
        None => {}
    }
    Ok(Compiled { query: all_of(clauses), has_scores })
}

/// The clause that leaves out what matches.
fn without(query: Box<dyn Query>) -> (Occur, Box<dyn Query>) {
    (Occur::MustNot, Box::new(Excluded(query)))
}

/// A conjunction. One that only excludes begins with all documents.
fn all_of(mut clauses: Vec<(Occur, Box<dyn Query>)>) -> Box<dyn Query> {
    if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        clauses.push((Occur::Must, Box::new(AllQuery)));
    }
    match clauses.pop() {
        Some((Occur::Must, query)) if clauses.is_empty() => query,
        Some(last) => {
            clauses.push(last);
            Box::new(BooleanQuery::new(clauses))
        }
        None => Box::new(AllQuery),
    }
}

/// Documents with a word or phrase in one of the fields; `None` where the analyzer leaves no word.
fn words_query(index: &Index, clause: &Clause, in_fields: &[String]) -> Result<Option<Box<dyn Query>>> {
    let words = index.words(&clause.text);
    let Some(first) = words.first().map(|(position, _)| *position) else { return Ok(None) };
    let mut queries: Vec<Box<dyn Query>> = Vec::new();
    for name in in_fields {
        let (_, field) = field(index, name)?;
        let term = |word: &String| Term::from_field_text(field, word);
        queries.push(match &words[..] {
            [(_, word)] => Box::new(TermQuery::new(term(word), IndexRecordOption::WithFreqs)),
            several => {
                let terms = several.iter().map(|(position, word)| (position - first, term(word))).collect();
                Box::new(PhraseQuery::new_with_offset(terms))
            }
        });
    }
    Ok(Some(match queries.len() {
        0 => Box::new(EmptyQuery),
        1 => queries.remove(0),
        _ => Box::new(BooleanQuery::union(queries)),
    }))
}

fn field(index: &Index, name: &str) -> Result<(FieldType, Field)> {
    index.fields.get(name).ok_or_else(|| Error::invalid(format!("the field `{name}` is not indexed yet")))
}

fn filter_query(index: &Index, filter: &Filter) -> Result<Box<dyn Query>> {
    Ok(match filter {
        Filter::And(all) => {
            let mut clauses = Vec::new();
            for one in all {
                clauses.push(match one {
                    Filter::Not(inner) => without(filter_query(index, inner)?),
                    other => (Occur::Must, filter_query(index, other)?),
                });
            }
            all_of(clauses)
        }
        Filter::Or(all) => {
            let queries = all.iter().map(|one| filter_query(index, one)).collect::<Result<_>>()?;
            Box::new(BooleanQuery::union(queries))
        }
        Filter::Not(inner) => all_of(vec![without(filter_query(index, inner)?)]),
        Filter::Equal(name, value) => {
            let (_, field) = field(index, name)?;
            Box::new(TermQuery::new(term(field, value), IndexRecordOption::Basic))
        }
        Filter::In(name, values) => {
            let (_, field) = field(index, name)?;
            let terms = values.iter().map(|value| term(field, value));
            if values.len() > MOST_TERMS {
                return Ok(Box::new(TermSetQuery::new(terms)));
            }
            let one = |term| Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as Box<dyn Query>;
            Box::new(BooleanQuery::union(terms.map(one).collect()))
        }
        Filter::Range(name, from, to) => {
            let (_, field) = field(index, name)?;
            let bound = |end: &Option<End>| match end {
                None => Bound::Unbounded,
                Some(End { value, is_included: true }) => Bound::Included(term(field, value)),
                Some(End { value, is_included: false }) => Bound::Excluded(term(field, value)),
            };
            Box::new(RangeQuery::new(bound(from), bound(to)))
        }
        Filter::Exists(name) => match field(index, name)? {
            (FieldType::Text, _) => {
                let term = Term::from_field_text(index.fields.present, name);
                Box::new(TermQuery::new(term, IndexRecordOption::Basic))
            }
            _ => Box::new(ExistsQuery::new(name.clone(), false)),
        },
    })
}

fn term(field: Field, value: &Value) -> Term {
    match value {
        Value::Str(text) => Term::from_field_text(field, text),
        Value::I64(number) => Term::from_field_i64(field, *number),
        Value::U64(number) => Term::from_field_u64(field, *number),
        Value::F64(number) => Term::from_field_f64(field, *number),
        Value::Bool(is) => Term::from_field_bool(field, *is),
    }
}
