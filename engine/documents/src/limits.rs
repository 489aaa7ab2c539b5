//! Limits of the document store. Each is tested at its edge.

/// Bytes of a collection's or a field's name.
pub const MAX_NAME_BYTES: usize = 64;
/// Bytes of a document's id.
pub const MAX_ID_BYTES: usize = 512;
/// Indexed fields of a collection.
pub const MAX_FIELDS: usize = 64;
/// Nested objects and arrays of a document.
pub const MAX_DEPTH: usize = 100;
/// Bytes of a document.
pub const MAX_DOCUMENT_BYTES: usize = 2 << 20;
/// Bytes of one value of a keyword field.
pub const MAX_KEYWORD_BYTES: usize = 8 << 10;
/// Values of one field of a document.
pub const MAX_VALUES: usize = 1_000;
/// Bytes of a word of a text field; a longer one is not indexed.
pub const MAX_WORD_BYTES: usize = 255;
/// Comparisons, words and phrases of a query.
pub const MAX_CLAUSES: usize = 256;
/// Parentheses of a filter inside each other.
pub const MAX_FILTER_DEPTH: usize = 32;
/// Values of one `IN` list.
pub const MAX_IN_VALUES: usize = 1_000;
/// Bytes of a query: words and filter together.
pub const MAX_QUERY_BYTES: usize = 16 << 10;
/// Hits of a page.
pub const MAX_LIMIT: usize = 1_000;
/// `offset` and `limit` together; a cursor goes deeper.
pub const MAX_WINDOW: usize = 10_000;
/// Fields of a sort order.
pub const MAX_SORT_FIELDS: usize = 4;
/// Fields that are counted by value in one search.
pub const MAX_FACETS: usize = 8;
/// Values that one facet returns.
pub const MAX_FACET_VALUES: usize = 1_000;
/// Collections.
pub const MAX_COLLECTIONS: usize = 10_000;
/// Documents of one call of [`Collection::put_many`](crate::Collection::put_many).
pub const MAX_BATCH_DOCUMENTS: usize = 10_000;
/// Bytes of the documents of one call of [`Collection::put_many`](crate::Collection::put_many).
pub const MAX_BATCH_BYTES: usize = 8 << 20;
