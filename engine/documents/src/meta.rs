//! Record of a collection in the database.

use serde::{Deserialize, Serialize};

use crate::schema::Schema;

/// What the store knows of a collection besides its documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    /// Number in the keys of the collection. Never used again.
    pub(crate) number: u32,
    /// Counts schemas; names the folder of the index.
    pub(crate) generation: u64,
    pub(crate) schema: Schema,
}
