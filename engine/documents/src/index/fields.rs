//! Fields of an index, and the index entry of a document.

use std::collections::BTreeMap;

use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema as TantivySchema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer, TextAnalyzer};

use crate::error::{Error, Result};
use crate::json::Members;
use crate::limits::MAX_WORD_BYTES;
use crate::schema::{FieldType, Language, Schema};
use crate::value::{Value, values};

/// The field of ids. Names of users begin with a letter.
pub(crate) const ID: &str = "_id";

/// The field that names the text fields a document has.
const PRESENT: &str = "_present";

/// Name of the analyzer of text fields.
pub(super) const ANALYZER: &str = "words";

/// Tantivy's analyzer that leaves a string whole.
const RAW: &str = "raw";

/// The fields of an index.
pub(crate) struct Fields {
    pub(crate) id: Field,
    pub(crate) present: Field,
    all: BTreeMap<String, (FieldType, Field)>,
}

/// Splits text into words.
pub(super) fn analyzer(language: Option<Language>) -> TextAnalyzer {
    let words = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(MAX_WORD_BYTES + 1))
        .filter(LowerCaser)
        .dynamic();
    match language {
        None => words.build(),
        Some(language) => words.filter_dynamic(Stemmer::new(stemmed(language))).build(),
    }
}

fn stemmed(language: Language) -> tantivy::tokenizer::Language {
    use tantivy::tokenizer::Language as To;
    match language {
        Language::English => To::English,
        Language::French => To::French,
        Language::German => To::German,
        Language::Italian => To::Italian,
        Language::Portuguese => To::Portuguese,
        Language::Russian => To::Russian,
        Language::Spanish => To::Spanish,
    }
}

fn whole_strings() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(RAW)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    TextOptions::default().set_indexing_options(indexing)
}

impl Fields {
    pub(super) fn new(schema: &Schema) -> (Self, TantivySchema) {
        let mut builder = TantivySchema::builder();
        let id = builder.add_text_field(ID, whole_strings().set_fast(RAW));
        let present = builder.add_text_field(PRESENT, whole_strings());
        let words = TextFieldIndexing::default()
            .set_tokenizer(ANALYZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let mut all = BTreeMap::new();
        for (name, kind) in &schema.fields {
            let field = match kind {
                FieldType::Text => {
                    builder.add_text_field(name, TextOptions::default().set_indexing_options(words.clone()))
                }
                FieldType::Keyword => builder.add_text_field(name, whole_strings().set_fast(RAW)),
                FieldType::I64 | FieldType::Date => builder.add_i64_field(name, INDEXED | FAST),
                FieldType::U64 => builder.add_u64_field(name, INDEXED | FAST),
                FieldType::F64 => builder.add_f64_field(name, INDEXED | FAST),
                FieldType::Bool => builder.add_bool_field(name, INDEXED | FAST),
            };
            all.insert(name.clone(), (*kind, field));
        }
        (Self { id, present, all }, builder.build())
    }

    /// Type and field of a name.
    pub(crate) fn get(&self, name: &str) -> Option<(FieldType, Field)> {
        self.all.get(name).copied()
    }

    /// The index entry of a document. A value that is not of its field's type, because the document
    /// is older than the schema, is left out.
    pub(crate) fn document(&self, id: &str, members: &Members<'_>) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_text(self.id, id);
        for (name, json) in members.iter() {
            let Some((kind, field)) = self.get(name) else { continue };
            let Ok(all) = values(kind, json) else { continue };
            if kind == FieldType::Text && !all.is_empty() {
                document.add_text(self.present, name);
            }
            for value in all {
                match value {
                    Value::Str(text) => document.add_text(field, text),
                    Value::I64(number) => document.add_i64(field, number),
                    Value::U64(number) => document.add_u64(field, number),
                    Value::F64(number) => document.add_f64(field, number),
                    Value::Bool(is) => document.add_bool(field, is),
                }
            }
        }
        document
    }

    /// The same, from the bytes that the store holds.
    pub(crate) fn stored_document(&self, id: &str, json: &[u8]) -> Result<TantivyDocument> {
        let members = Members::of_stored(json)
            .map_err(|fault| Error::storage(format!("the stored document {id:?} cannot be read: {fault}")))?;
        Ok(self.document(id, &members))
    }
}
