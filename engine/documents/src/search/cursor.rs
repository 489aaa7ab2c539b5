//! Cursors: the place of a page's last hit, and the query it belongs to.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::Search;
use super::collect::MISSING;
use super::merge::{Place, undirected};
use super::sort::{By, Order};
use crate::error::{Error, Kind, Result};
use crate::schema::FieldType;

/// The value that a hit was sorted by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CursorKey {
    #[serde(rename = "m")]
    Missing,
    #[serde(rename = "n")]
    Number(u64),
    #[serde(rename = "t")]
    Text(String),
}

/// A place in an order, valid whatever is written meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    #[serde(rename = "g")]
    generation: u64,
    #[serde(rename = "q")]
    query: u64,
    #[serde(rename = "k")]
    pub(super) keys: Vec<CursorKey>,
    #[serde(rename = "i")]
    pub(super) id: String,
}

/// Hash of what two pages of one listing have in common.
pub(super) fn digest(search: &Search) -> u64 {
    let parts = (&search.words, &search.in_fields, search.any_word, &search.filter, &search.sort);
    xxh3_64(format!("{parts:?}").as_bytes())
}

impl Cursor {
    /// The place of a hit.
    pub(super) fn of(place: &Place<'_>, order: &Order, generation: u64, query: u64) -> Result<Self> {
        let mut keys = Vec::new();
        for (index, lane) in order.lanes.iter().enumerate() {
            let key = place.candidate.keys[index];
            let is_text = matches!(lane.by, By::Id | By::Field(_, FieldType::Keyword));
            keys.push(match place.text(index, lane.is_descending)? {
                _ if key == MISSING => CursorKey::Missing,
                Some(text) if is_text => CursorKey::Text(text.to_owned()),
                _ => CursorKey::Number(undirected(key, lane.is_descending)),
            });
        }
        Ok(Self { generation, query, keys, id: place.id()?.to_owned() })
    }

    pub(super) fn to_text(&self) -> Result<String> {
        let json = serde_json::to_vec(self).map_err(|error| Error::storage(error.to_string()))?;
        Ok(URL_SAFE_NO_PAD.encode(json))
    }

    /// Reads a cursor and checks that it belongs to this query and schema.
    pub(super) fn parse(text: &str, generation: u64, query: u64, lanes: usize) -> Result<Self> {
        let json = URL_SAFE_NO_PAD.decode(text).ok();
        let cursor: Option<Self> = json.and_then(|json| serde_json::from_slice(&json).ok());
        let Some(cursor) = cursor else {
            return Err(Error::invalid(
                "the cursor cannot be read; pass `next` of the page before unchanged",
            ));
        };
        if cursor.generation != generation {
            let fault = "the cursor is of an earlier schema of the collection; begin again without it";
            return Err(Error::new(Kind::Stale, fault));
        }
        if cursor.query != query || cursor.keys.len() != lanes {
            return Err(Error::invalid(
                "the cursor belongs to another query; words, filter and sort must be those of the page before",
            ));
        }
        Ok(cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_by_its_query_only() {
        let keys = vec![CursorKey::Number(u64::MAX), CursorKey::Missing, CursorKey::Text("ü".to_owned())];
        let cursor = Cursor { generation: 3, query: 5, keys, id: "a".to_owned() };
        let text = cursor.to_text().unwrap();
        assert_eq!(Cursor::parse(&text, 3, 5, 3), Ok(cursor));
        assert_eq!(Cursor::parse(&text, 4, 5, 3).unwrap_err().kind(), Kind::Stale);
        assert_eq!(Cursor::parse(&text, 3, 6, 3).unwrap_err().kind(), Kind::Invalid);
        assert_eq!(Cursor::parse("x", 3, 5, 3).unwrap_err().kind(), Kind::Invalid);
    }
}
