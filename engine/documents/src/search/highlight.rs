//! Highlights: the part of a text that has the words of a search, with the words marked.

use serde_json::Value;
use tantivy::query::Query;
use tantivy::snippet::SnippetGenerator;

use crate::collection::Published;
use crate::error::{Error, Result};
use crate::json::Members;
use crate::limits::{MAX_HIGHLIGHT_BYTES, MAX_HIGHLIGHTS};
use crate::names::hint;
use crate::schema::FieldType;

/// A field, and its highlight: HTML in which the words are in `<b>`, and all else is escaped.
pub type Highlight = (String, String);

/// Finds the highlights of one search.
pub(super) struct Highlighter(Vec<(String, SnippetGenerator)>);

impl Highlighter {
    /// For these text fields.
    pub(super) fn new(published: &Published, query: &dyn Query, names: &[String]) -> Result<Self> {
        if names.len() > MAX_HIGHLIGHTS {
            return Err(Error::invalid(format!("highlights of more than {MAX_HIGHLIGHTS} fields")));
        }
        let index = &published.index;
        let mut all = Vec::with_capacity(names.len());
        for name in names {
            let Some((FieldType::Text, field)) = index.fields.get(name) else {
                let fields = index.schema.text_fields();
                return Err(Error::invalid(format!("`{name}` is no text field; {}", hint(name, fields))));
            };
            let mut generator = SnippetGenerator::create(&published.searcher, query, field)?;
            generator.set_max_num_chars(MAX_HIGHLIGHT_BYTES);
            all.push((name.clone(), generator));
        }
        Ok(Self(all))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of a document, for the fields that have one.
    pub(super) fn of(&self, json: &[u8]) -> Result<Vec<Highlight>> {
        let members = Members::of_stored(json).map_err(Error::storage)?;
        let mut found = Vec::new();
        for (name, generator) in &self.0 {
            let Some(value) = members.get(name).and_then(|json| serde_json::from_str(json).ok()) else {
                continue;
            };
            let texts = match value {
                Value::Array(values) => values,
                value => vec![value],
            };
            let marked = texts.iter().filter_map(Value::as_str).find_map(|text| {
                let snippet = generator.snippet(text);
                (!snippet.is_empty()).then(|| snippet.to_html())
            });
            found.extend(marked.map(|html| (name.clone(), html)));
        }
        Ok(found)
    }
}
