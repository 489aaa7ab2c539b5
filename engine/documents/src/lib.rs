//! Collections of JSON documents over a durable plumbkv [`Database`](plumbkv::Database).
//!
//! A collection has a [`Schema`]: a primary field, whose value is the id of a document, and fields
//! that are indexed. Documents are stored as the bytes received and read by id without the index.
//! [`Collection::search`] answers filters, sorting and full text from a tantivy index, and reads its
//! hits at a snapshot of the same version, so a page is exact: what matched is what is returned.
//!
//! ```
//! use plumbkv_documents::{Collections, Options, Schema, Search, Wait};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let collections = Collections::open(Options::new(directory.path()))?;
//! let schema = Schema::parse(br#"{"primary": "sku", "fields": {"title": "text", "price": "f64"}}"#)?;
//! let shop = collections.create("shop", schema)?;
//! let version = shop.put(br#"{"sku": "a1", "title": "A red lamp", "price": 12.5}"#)?.version;
//! assert!(shop.get("a1")?.is_some());
//!
//! let mut search = Search::for_words("lamp");
//! search.filter = Some("price < 20".to_owned());
//! search.after = Some(Wait::for_version(version));
//! let found = shop.search(&search)?;
//! assert_eq!((found.total, &*found.hits[0].id), (1, "a1"));
//! # Ok(())
//! # }
//! ```
//!
//! The index is derived from the store. A damaged or missing index is rebuilt; documents are not lost.

mod collection;
mod collections;
mod error;
mod index;
mod indexer;
mod json;
mod keys;
pub mod limits;
mod meta;
mod names;
mod query;
mod schema;
mod search;
mod stored;
mod value;

pub use collection::{Collection, Condition, Deleted, Document, Page, Put, Refusal, Status, merge_patch};
pub use collections::{Collections, Options};
pub use error::{Error, Kind, Result};
pub use names::hint;
pub use schema::{FieldType, Language, Schema};
pub use search::{FacetCount, Found, Hit, Search, Wait};
