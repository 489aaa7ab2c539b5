//! Index of one collection: a tantivy index whose commits carry the version they are of.
//!
//! The index is derived. Every file has a checksum, all of them are verified when it is opened, and
//! an index that is damaged, missing, or of another schema is built anew from the store.

mod directory;
mod fields;
mod merging;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::indexer::IndexWriterOptions;
use tantivy::tokenizer::TokenStream;
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, Searcher};

use crate::error::{Error, Result};
use crate::schema::Schema;
use directory::CheckedDirectory;
pub(crate) use fields::{Fields, ID};

/// Bytes that a writer collects before it writes a segment. Tantivy's least is 15 MB.
const WRITER_BYTES: usize = 20_000_000;

/// What a commit says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Payload {
    /// The collection's last write that is in the index.
    version: u64,
    generation: u64,
}

/// An index on disk.
pub(crate) struct Index {
    index: tantivy::Index,
    reader: IndexReader,
    pub(crate) fields: Fields,
    pub(crate) schema: Schema,
    pub(crate) generation: u64,
}

/// Why an index must be built anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unusable(pub(crate) String);

/// Folder of a collection's index.
pub(crate) fn folder(indexes: &Path, collection: u32, generation: u64) -> PathBuf {
    indexes.join(format!("{collection}-{generation}"))
}

impl Index {
    /// Creates an empty one; what the folder held is removed.
    pub(crate) fn create(folder: &Path, schema: &Schema, generation: u64) -> Result<Self> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io(folder, "remove", &error));
            }
            _ => {}
        }
        fs::create_dir_all(folder).map_err(|error| io(folder, "create", &error))?;
        let (fields, tantivy_schema) = Fields::new(schema);
        let index = tantivy::IndexBuilder::new()
            .schema(tantivy_schema)
            .open_or_create(CheckedDirectory::open(folder)?)?;
        Self::with(index, fields, schema, generation)
    }

    /// Opens one, and tells the version it is of.
    ///
    /// # Errors
    /// It must be built anew, for the reason given.
    pub(crate) fn open(folder: &Path, schema: &Schema, generation: u64) -> Result<(Self, u64), Unusable> {
        let unusable = |error: &dyn std::fmt::Display| Unusable(error.to_string());
        if !folder.is_dir() {
            return Err(Unusable("there is none".to_owned()));
        }
        // Tantivy takes a missing list for an empty one, and would never remove the files on it.
        if !folder.join(".managed.json").is_file() {
            return Err(Unusable(".managed.json is missing".to_owned()));
        }
        let directory = CheckedDirectory::open(folder).map_err(|error| unusable(&error))?;
        let index = tantivy::Index::open(directory).map_err(|error| unusable(&error))?;
        let damaged = index.validate_checksum().map_err(|error| unusable(&error))?;
        if let Some(file) = damaged.iter().next() {
            return Err(Unusable(format!("{} is damaged", file.display())));
        }
        let payload = index.load_metas().map_err(|error| unusable(&error))?.payload.unwrap_or_default();
        let payload: Payload =
            serde_json::from_str(&payload).map_err(|_| Unusable("its first commit is missing".to_owned()))?;
        let (fields, tantivy_schema) = Fields::new(schema);
        if payload.generation != generation || index.schema() != tantivy_schema {
            return Err(Unusable("it is of another schema".to_owned()));
        }
        let index = Self::with(index, fields, schema, generation).map_err(|error| unusable(&error))?;
        Ok((index, payload.version))
    }

    fn with(index: tantivy::Index, fields: Fields, schema: &Schema, generation: u64) -> Result<Self> {
        index.tokenizers().register(fields::ANALYZER, fields::analyzer(schema.language));
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(0)
            .try_into()?;
        Ok(Self { index, reader, fields, schema: schema.clone(), generation })
    }

    /// A writer; there may be only one. Dropping it discards what was not committed.
    pub(crate) fn writer(&self) -> Result<IndexWriter> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .num_merge_threads(1)
            .build();
        let writer = self.index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(merging::policy()));
        Ok(writer)
    }

    /// Makes what was written last, as the state of the collection at `version`.
    pub(crate) fn commit(&self, writer: &mut IndexWriter, version: u64) -> Result<()> {
        let payload = Payload { version, generation: self.generation };
        let payload = serde_json::to_string(&payload).map_err(|error| Error::storage(error.to_string()))?;
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&payload);
        commit.commit()?;
        Ok(())
    }

    /// The state of the last commit.
    pub(crate) fn searcher(&self) -> Result<Searcher> {
        self.reader.reload()?;
        Ok(self.reader.searcher())
    }

    /// The words of a text, as the index has them.
    pub(crate) fn words(&self, text: &str) -> Vec<(usize, String)> {
        let Some(mut analyzer) = self.index.tokenizers().get(fields::ANALYZER) else { return Vec::new() };
        let mut stream = analyzer.token_stream(text);
        let mut words = Vec::new();
        while let Some(token) = stream.next() {
            words.push((token.position, token.text.clone()));
        }
        words
    }
}

pub(crate) fn io(path: &Path, call: &str, error: &std::io::Error) -> Error {
    Error::storage(format!("{}: cannot {call}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Members;
    use tantivy::collector::Count;
    use tantivy::query::AllQuery;

    fn schema() -> Schema {
        Schema::parse(br#"{"primary":"id","fields":{"a":"keyword","t":"text","n":"i64"}}"#).unwrap()
    }

    fn filled(folder: &Path) {
        let index = Index::create(folder, &schema(), 1).unwrap();
        let mut writer = index.writer().unwrap();
        for number in 0..100 {
            let json = format!(r#"{{"id":"{number}","a":"x","t":"some words","n":{number}}}"#);
            let members = Members::checked(json.as_bytes()).unwrap();
            let document = index.fields.document(&number.to_string(), &members);
            writer.add_document(document).unwrap();
        }
        index.commit(&mut writer, 7).unwrap();
        assert_eq!(index.searcher().unwrap().search(&AllQuery, &Count).unwrap(), 100);
    }

    #[test]
    fn an_index_is_opened_at_the_version_of_its_commit() {
        let directory = tempfile::tempdir().unwrap();
        let folder = folder(directory.path(), 1, 1);
        assert_eq!(Index::open(&folder, &schema(), 1).err(), Some(Unusable("there is none".to_owned())));
        filled(&folder);
        let (index, version) = Index::open(&folder, &schema(), 1).unwrap();
        assert_eq!((version, index.searcher().unwrap().num_docs()), (7, 100));
        assert!(Index::open(&folder, &schema(), 2).is_err_and(|error| error.0.contains("another schema")));
    }

    #[test]
    fn each_file_that_is_cut_flipped_or_removed_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let folder = folder(directory.path(), 1, 1);
        filled(&folder);
        let files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() > 5);
        for file in files.iter().filter(|file| file.extension().is_none_or(|end| end != "lock")) {
            let whole = fs::read(file).unwrap();
            let mut flipped = whole.clone();
            flipped[whole.len() / 2] ^= 1;
            for damaged in [Some(&whole[..whole.len() / 2]), Some(&flipped[..]), None] {
                match damaged {
                    Some(bytes) => fs::write(file, bytes).unwrap(),
                    None => fs::remove_file(file).unwrap(),
                }
                assert!(Index::open(&folder, &schema(), 1).is_err(), "{}", file.display());
            }
            fs::write(file, &whole).unwrap();
            assert!(Index::open(&folder, &schema(), 1).is_ok(), "{}", file.display());
        }
    }
}
