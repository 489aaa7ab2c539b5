//! Documents of the server: where their store is, and who may do what.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use ipnet::IpNet;
use plumbkv_documents::{Collections, Options};
use plumbkv_documents_http::{Access, Limiter, Tokens};

use crate::storage::Storage;

/// Settings of documents and of access by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Documents are served where there is a directory for them.
    pub(crate) are_on: bool,
    /// Bytes of memory for their store.
    pub(crate) memory: u64,
    pub(crate) tokens: Option<PathBuf>,
    /// Requests a second of a token or an address; 0 for any number.
    pub(crate) rate: u32,
    pub(crate) proxies: Vec<IpNet>,
    pub(crate) most_connections: usize,
}

impl Settings {
    /// Opens the documents' store beside that of the keys.
    pub(crate) fn open(&self, storage: Option<&Storage>) -> anyhow::Result<Option<Arc<Collections>>> {
        let Some(storage) = storage.filter(|_| self.are_on) else { return Ok(None) };
        let options = Options::new(storage.directory.join("documents"))
            .sync_mode(storage.sync)
            .memory_budget(self.memory)
            .on_rebuild(|collection, reason| {
                tracing::warn!("rebuilding the index of collection {collection}: {reason}");
            });
        let collections = Collections::open(options).context("cannot open the documents' store")?;
        Ok(Some(Arc::new(collections)))
    }

    /// Reads the tokens.
    pub(crate) fn access(&self) -> anyhow::Result<Access> {
        let tokens = match &self.tokens {
            None => Tokens::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the tokens in {}", path.display()))?;
                Tokens::parse(&text).map_err(|error| anyhow!("{}, {error}", path.display()))?
            }
        };
        let limiter = NonZeroU32::new(self.rate).map(Limiter::new);
        Ok(Access { tokens, proxies: self.proxies.clone(), limiter })
    }
}
