//! Queries: words for full text and a filter, parsed, checked against the schema and translated for
//! the index.

mod compile;
mod excluded;
mod filter;
mod lexer;
mod words;

pub(crate) use compile::compile;
pub(crate) use filter::Filter;
pub(crate) use words::Words;
