//! Pages of documents by id, read from the store at any depth.

use std::ops::Bound;

use plumbkv::Direction;

use super::{Collection, Document};
use crate::error::{Error, Result};
use crate::keys;
use crate::limits::MAX_LIMIT;
use crate::stored;

/// Documents in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The documents.
    pub documents: Vec<Document>,
    /// The id behind which the next page begins; `None` on the last page.
    pub next: Option<String>,
}

impl Collection {
    /// Up to `limit` documents with ids behind `after`, in byte order of the ids.
    ///
    /// # Errors
    /// `limit` is 0 or above [`MAX_LIMIT`], or the store cannot be read.
    pub fn list(&self, after: Option<&str>, limit: usize) -> Result<Page> {
        if limit == 0 || limit > MAX_LIMIT {
            return Err(Error::invalid(format!("invalid limit {limit}: expected 1 to {MAX_LIMIT}")));
        }
        self.check_there()?;
        let first = keys::document(self.number(), after.unwrap_or_default());
        let from = if after.is_some() { Bound::Excluded(&first[..]) } else { Bound::Included(&first[..]) };
        let end = keys::behind(&keys::documents(self.number()));
        let snapshot = self.database().snapshot()?;
        let mut pairs = snapshot.range((from, Bound::Excluded(&end[..])), Direction::Forward);
        let mut documents = Vec::new();
        while let Some((key, value)) = pairs.next_pair()? {
            if documents.len() == limit {
                let next = documents.last().map(|document: &Document| document.id.clone());
                return Ok(Page { documents, next });
            }
            let id =
                keys::id_of(key).ok_or_else(|| Error::storage("the store holds an id that is not UTF-8"))?;
            let (version, json) = stored::parse(value)?;
            documents.push(Document { id: id.to_owned(), version, json: json.to_vec() });
        }
        Ok(Page { documents, next: None })
    }
}
