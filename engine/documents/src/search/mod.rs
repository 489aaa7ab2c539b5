//! Search: one query against one published state of a collection, with an exact total.

mod collect;
mod cursor;
mod facets;
mod merge;
mod sort;

use std::time::Duration;

use crate::collection::{Collection, Published};
use crate::error::{Error, Kind, Result};
use crate::json::Members;
use crate::keys;
use crate::limits::{MAX_LIMIT, MAX_QUERY_BYTES, MAX_WINDOW};
use crate::names::hint;
use crate::query::{Filter, Words, compile};
use crate::schema::FieldType;
use crate::stored;
use collect::PageCollector;
use cursor::Cursor;
pub use facets::FacetCount;
use sort::Order;

/// A search: words, filter, order, and which page of the hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// Words and `"phrases"`, and `-words` that must not occur. Empty: all documents.
    pub words: String,
    /// Text fields that are searched. Empty: all of them.
    pub in_fields: Vec<String>,
    /// One of the words is enough; otherwise all must occur.
    pub any_word: bool,
    /// A condition such as `price < 20 AND brand IN [a, b]`.
    pub filter: Option<String>,
    /// Fields to sort by, such as `-date,price`; `_id` and `-_score` are possible, too. The default is
    /// by relevance if there are words, otherwise by id. Documents without a field come last.
    pub sort: Option<String>,
    /// Hits of the page.
    pub limit: usize,
    /// Hits before the page. With `limit` at most [`MAX_WINDOW`]; a cursor goes deeper.
    pub offset: usize,
    /// [`Found::next`] of the page before.
    pub cursor: Option<String>,
    /// Members that hits return. Empty: whole documents.
    pub fields: Vec<String>,
    /// Fields whose values are counted over all hits, and how many values are returned.
    pub facets: Vec<(String, usize)>,
    /// Waits for a version first.
    pub after: Option<Wait>,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            words: String::new(),
            in_fields: Vec::new(),
            any_word: false,
            filter: None,
            sort: None,
            limit: 10,
            offset: 0,
            cursor: None,
            fields: Vec::new(),
            facets: Vec::new(),
            after: None,
        }
    }
}

impl Search {
    /// A search for words, with defaults for all else.
    #[must_use]
    pub fn for_words(words: &str) -> Self {
        Self { words: words.to_owned(), ..Self::default() }
    }
}

/// Waiting until a write is searchable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Version of the write.
    pub version: u64,
    /// Longest time to wait.
    pub timeout: Duration,
}

impl Wait {
    /// Waits up to ten seconds.
    #[must_use]
    pub fn for_version(version: u64) -> Self {
        Self { version, timeout: Duration::from_secs(10) }
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The state that was searched: hits, total and facets are exactly of the collection after this write.
    pub version: u64,
    /// Documents that match.
    pub total: u64,
    /// A page of them.
    pub hits: Vec<Hit>,
    /// Cursor of the next page. `None` on the last page, and where hits are sorted by relevance.
    pub next: Option<String>,
    /// Counts of values, in the order of [`Search::facets`].
    pub facets: Vec<Vec<FacetCount>>,
}

/// A document that matches.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// The write that stored it.
    pub version: u64,
    /// Relevance (BM25), where the search has words and sorts by it.
    pub score: Option<f32>,
    /// Its bytes, or an object of the members in [`Search::fields`].
    pub json: Vec<u8>,
}

impl Collection {
    /// Searches the newest published state.
    ///
    /// # Errors
    /// A parameter is not valid, the index is not ready, or the version waited for did not come.
    pub fn search(&self, search: &Search) -> Result<Found> {
        check_window(search)?;
        let published = self.searchable(search.after)?;
        let schema = &published.index.schema;
        let words = Words::parse(&search.words)?;
        let in_fields = text_fields(search, &published)?;
        let filter = search.filter.as_deref().filter(|text| !text.trim().is_empty());
        let filter = filter.map(|text| Filter::parse(text, schema)).transpose()?;
        let compiled = compile(&published.index, &words, &in_fields, !search.any_word, filter.as_ref())?;
        let order = match search.sort.as_deref().filter(|text| !text.trim().is_empty()) {
            Some(text) => Order::parse(text, schema)?,
            None if compiled.has_scores => Order::by_score(),
            None => Order::by_id(),
        };
        let digest = cursor::digest(search);
        let after = match &search.cursor {
            Some(_) if order.has_score() => {
                let fault = "a cursor needs hits sorted by fields: pass `sort`, for example sort=_id";
                return Err(Error::invalid(fault));
            }
            Some(text) => Some(Cursor::parse(text, published.index.generation, digest, order.lanes.len())?),
            None => None,
        };
        let collector = PageCollector {
            top: search.offset + search.limit + 1,
            after,
            facets: facets::check(&search.facets, schema)?,
            order,
        };
        let page = published.searcher.search(&*compiled.query, &collector)?;
        let order = &collector.order;
        let mut top = merge::first(&page.segments, order, search.offset + search.limit + 1)?;
        let has_more = top.len() > search.offset + search.limit;
        top.truncate(search.offset + search.limit);
        let next = match top.last() {
            Some(last) if has_more && !order.has_score() => {
                Some(Cursor::of(last, order, published.index.generation, digest)?.to_text()?)
            }
            _ => None,
        };
        let mut hits = Vec::with_capacity(search.limit);
        for place in top.iter().skip(search.offset) {
            hits.push(self.hit(&published, place, order, search)?);
        }
        Ok(Found {
            version: published.version,
            total: page.total,
            hits,
            next,
            facets: facets::results(&page.segments, &collector.facets)?,
        })
    }

    fn hit(
        &self,
        published: &Published,
        place: &merge::Place<'_>,
        order: &Order,
        search: &Search,
    ) -> Result<Hit> {
        let id = place.id()?.to_owned();
        let found: Option<Result<_>> =
            published.snapshot.read(&keys::document(self.number(), &id), |value| {
                let (version, json) = stored::parse(value)?;
                Ok((
                    version,
                    if search.fields.is_empty() { json.to_vec() } else { selected(json, &search.fields)? },
                ))
            })?;
        let Some(found) = found else {
            return Err(Error::storage(format!("the index has a document {id:?} that the store has not")));
        };
        let (version, json) = found?;
        Ok(Hit { id, version, score: place.score(order), json })
    }
}

fn check_window(search: &Search) -> Result<()> {
    let Search { limit, offset, .. } = search;
    if *limit > MAX_LIMIT {
        return Err(Error::invalid(format!("invalid limit {limit}: expected 0 to {MAX_LIMIT}")));
    }
    if offset.saturating_add(*limit) > MAX_WINDOW {
        return Err(Error::invalid(format!(
            "offset and limit together are above {MAX_WINDOW}; sort by fields and go on with `cursor`"
        )));
    }
    if search.cursor.is_some() && *offset > 0 {
        return Err(Error::invalid("a cursor and an offset exclude each other; leave out `offset`"));
    }
    let bytes = search.filter.as_ref().map_or(0, String::len);
    if bytes > MAX_QUERY_BYTES {
        return Err(Error::new(
            Kind::Invalid,
            format!("the filter has {bytes} bytes and may have {MAX_QUERY_BYTES}"),
        ));
    }
    Ok(())
}

fn text_fields(search: &Search, published: &Published) -> Result<Vec<String>> {
    let schema = &published.index.schema;
    let all = schema.text_fields();
    if search.words.trim().is_empty() {
        return Ok(Vec::new());
    }
    if all.clone().next().is_none() {
        return Err(Error::invalid("the collection has no text field; index one, or use `filter`"));
    }
    if search.in_fields.is_empty() {
        return Ok(all.map(str::to_owned).collect());
    }
    for name in &search.in_fields {
        if schema.fields.get(name) != Some(&FieldType::Text) {
            return Err(Error::invalid(format!("`{name}` is no text field; {}", hint(name, all))));
        }
    }
    Ok(search.in_fields.clone())
}

/// An object of some of a document's members, each as it was received.
fn selected(json: &[u8], names: &[String]) -> Result<Vec<u8>> {
    let members = Members::of_stored(json).map_err(Error::storage)?;
    let mut out = b"{".to_vec();
    for (name, value) in members.iter().filter(|(name, _)| names.iter().any(|wanted| wanted == name)) {
        if out.len() > 1 {
            out.push(b',');
        }
        serde_json::to_writer(&mut out, name).map_err(|error| Error::storage(error.to_string()))?;
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
    Ok(out)
}
