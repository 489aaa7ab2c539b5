//! Writes: checked against the schema, then stored as one batch with a version of their own.

use std::collections::HashSet;

use plumbkv::Batch;

use super::Collection;
use crate::error::{Error, Kind, Result};
use crate::json::Members;
use crate::keys;
use crate::limits::{MAX_BATCH_BYTES, MAX_BATCH_DOCUMENTS};
use crate::names::hint;
use crate::schema::Schema;
use crate::stored::{self, Change, push_change};
use crate::value;

/// What must hold of a document for a write to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// It does not exist.
    Absent,
    /// It exists.
    Present,
    /// It has one of these versions.
    Version(Vec<u64>),
}

/// A write that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Put {
    /// Its version; 0 where no document was stored.
    pub version: u64,
    /// Ids of the documents that were stored, in their order.
    pub ids: Vec<String>,
    /// How many of them existed before.
    pub replaced: usize,
    /// Documents that were not stored, and why.
    pub refusals: Vec<Refusal>,
}

/// A document that was deleted, or was not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// The document existed.
    pub existed: bool,
    /// Version of the write; the last one's where nothing was there to be deleted.
    pub version: u64,
}

/// A document that was not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Its place among the documents of the call, counted from 0.
    pub index: usize,
    /// Its id, where that could be read.
    pub id: Option<String>,
    /// The field that is wrong, if it is one.
    pub field: Option<String>,
    /// What is wrong.
    pub reason: String,
}

/// A document that fits the schema.
struct Checked<'a> {
    id: String,
    json: &'a [u8],
}

/// Why a document does not fit.
struct Fault {
    id: Option<String>,
    field: Option<String>,
    reason: String,
}

fn check<'a>(schema: &Schema, json: &'a [u8]) -> Result<Checked<'a>, Fault> {
    let whole = |reason| Fault { id: None, field: None, reason };
    let members = Members::checked(json).map_err(whole)?;
    let primary = &schema.primary;
    let of_primary = |reason| Fault { id: None, field: Some(primary.clone()), reason };
    let Some(text) = members.get(primary) else {
        let names: Vec<&str> = members.iter().map(|(name, _)| name).collect();
        let hint = hint(primary, names.into_iter());
        return Err(of_primary(format!("the primary field `{primary}` is missing; {hint}")));
    };
    let id = value::id(text).map_err(of_primary)?;
    for (name, text) in members.iter() {
        let Some(kind) = schema.fields.get(name) else { continue };
        if let Err(reason) = value::values(*kind, text) {
            return Err(Fault { id: Some(id), field: Some(name.to_owned()), reason });
        }
    }
    Ok(Checked { id, json })
}

impl Collection {
    /// Stores a document under the id in its primary field.
    ///
    /// # Errors
    /// It does not fit the schema, or the store refuses it. Nothing was changed.
    pub fn put(&self, json: &[u8]) -> Result<Put> {
        self.put_if(json, None, &Condition::None)
    }

    /// Stores a document if a condition holds. Where `id` is given, the document must have it.
    ///
    /// # Errors
    /// As [`put`](Self::put), or the condition does not hold ([`Kind::Precondition`]).
    pub fn put_if(&self, json: &[u8], id: Option<&str>, condition: &Condition) -> Result<Put> {
        let definition = self.definition();
        let document = check(&definition.schema, json).map_err(Fault::into_error)?;
        if let Some(id) = id
            && document.id != id
        {
            let primary = &definition.schema.primary;
            return Err(Error::invalid(format!(
                "the document's `{primary}` is {:?}, and the request names {id:?}; both must be the same",
                document.id
            )));
        }
        let mut writing = self.begin_write()?;
        self.check_condition(&document.id, condition)?;
        let (version, replaced) = self.write(&mut writing, std::slice::from_ref(&document))?;
        Ok(Put { version, ids: vec![document.id], replaced, refusals: Vec::new() })
    }

    /// Stores documents as one write. Those that do not fit are refused each by itself, or, where the
    /// write `is_atomic`, all are refused because of one. Of two with one id the later is stored.
    ///
    /// # Errors
    /// There are too many documents or bytes, or the store refuses the write. Nothing was changed.
    pub fn put_many(&self, documents: &[&[u8]], is_atomic: bool) -> Result<Put> {
        let bytes: usize = documents.iter().map(|json| json.len()).sum();
        if documents.len() > MAX_BATCH_DOCUMENTS || bytes > MAX_BATCH_BYTES {
            return Err(Error::new(
                Kind::TooLarge,
                format!(
                    "{} documents of {bytes} bytes, and one call may have {MAX_BATCH_DOCUMENTS} of \
                     {MAX_BATCH_BYTES} bytes; split it",
                    documents.len()
                ),
            ));
        }
        let definition = self.definition();
        let (mut checked, mut refusals) = (Vec::with_capacity(documents.len()), Vec::new());
        for (index, json) in documents.iter().enumerate() {
            match check(&definition.schema, json) {
                Ok(document) => checked.push(document),
                Err(Fault { id, field, reason }) => refusals.push(Refusal { index, id, field, reason }),
            }
        }
        if checked.is_empty() || (is_atomic && !refusals.is_empty()) {
            return Ok(Put { version: 0, ids: Vec::new(), replaced: 0, refusals });
        }
        let mut writing = self.begin_write()?;
        let (version, replaced) = self.write(&mut writing, &checked)?;
        let ids = checked.into_iter().map(|document| document.id).collect();
        Ok(Put { version, ids, replaced, refusals })
    }

    /// Changes members of a document by a JSON merge patch (RFC 7396).
    ///
    /// # Errors
    /// It is not there, the condition does not hold, or the patched document does not fit the schema.
    pub fn patch(&self, id: &str, patch: &[u8], condition: &Condition) -> Result<Put> {
        let definition = self.definition();
        let mut writing = self.begin_write()?;
        self.check_condition(id, condition)?;
        let Some(before) = self.get(id)? else {
            return Err(Error::new(Kind::NotFound, format!("no document {id:?} to be patched")));
        };
        let json = merge_patch(&before.json, patch)?;
        let document = check(&definition.schema, &json).map_err(Fault::into_error)?;
        if document.id != id {
            return Err(Error::invalid(format!(
                "the patch changes `{}`, which is the document's id; store a new document instead",
                definition.schema.primary
            )));
        }
        let (version, replaced) = self.write(&mut writing, std::slice::from_ref(&document))?;
        Ok(Put { version, ids: vec![document.id], replaced, refusals: Vec::new() })
    }

    /// Deletes a document if a condition holds.
    ///
    /// # Errors
    /// The condition does not hold, or the store refuses the write.
    pub fn delete(&self, id: &str, condition: &Condition) -> Result<Deleted> {
        let mut writing = self.begin_write()?;
        self.check_condition(id, condition)?;
        let key = keys::document(self.number(), id);
        if !self.database().exists(&key)? {
            return Ok(Deleted { existed: false, version: *writing });
        }
        let mut batch = Batch::new();
        batch.delete(&key);
        let mut entry = Vec::new();
        push_change(&mut entry, Change { id, existed: true });
        let version = self.commit(&mut writing, batch, &entry)?;
        Ok(Deleted { existed: true, version })
    }

    fn begin_write(&self) -> Result<parking_lot::MutexGuard<'_, u64>> {
        let writing = self.writing.lock();
        self.check_there()?;
        Ok(writing)
    }

    fn check_condition(&self, id: &str, condition: &Condition) -> Result<()> {
        if *condition == Condition::None {
            return Ok(());
        }
        let found = self.read(id, |version, _| version)?;
        let holds = match condition {
            Condition::None => true,
            Condition::Absent => found.is_none(),
            Condition::Present => found.is_some(),
            Condition::Version(versions) => found.is_some_and(|version| versions.contains(&version)),
        };
        if holds {
            return Ok(());
        }
        let is = match found {
            Some(version) => format!("the document {id:?} has version {version}"),
            None => format!("there is no document {id:?}"),
        };
        Err(Error::new(Kind::Precondition, format!("{is}; read it again and decide anew")))
    }

    fn write(&self, writing: &mut u64, documents: &[Checked<'_>]) -> Result<(u64, usize)> {
        let version = *writing + 1;
        let (mut batch, mut entry) = (Batch::new(), Vec::new());
        let mut in_batch: HashSet<&str> = HashSet::with_capacity(documents.len());
        let mut replaced = 0;
        for Checked { id, json } in documents {
            let key = keys::document(self.number(), id);
            if in_batch.insert(id) {
                let existed = self.database().exists(&key)?;
                replaced += usize::from(existed);
                push_change(&mut entry, Change { id, existed });
            }
            batch.set(&key, &stored::compose(version, json));
        }
        self.commit(writing, batch, &entry).map(|version| (version, replaced))
    }

    /// Writes a batch with the next version and its journal entry.
    fn commit(&self, writing: &mut u64, mut batch: Batch, entry: &[u8]) -> Result<u64> {
        // A version is not used again after an error: the store may hold its batch when it recovers.
        *writing += 1;
        let version = *writing;
        batch.set(&keys::journal_entry(self.number(), version), entry);
        batch.set(&keys::version(self.number()), &version.to_be_bytes());
        self.database().write(&batch)?;
        self.request_pass();
        Ok(version)
    }
}

impl Fault {
    fn into_error(self) -> Error {
        match self.field {
            Some(field) => Error::invalid(format!("field `{field}`: {}", self.reason)),
            None => Error::invalid(self.reason),
        }
    }
}

/// Applies a JSON merge patch (RFC 7396) to an object. Members that the patch leaves alone keep their bytes.
///
/// # Errors
/// The patch is not a valid JSON object.
pub fn merge_patch(document: &[u8], patch: &[u8]) -> Result<Vec<u8>> {
    use serde_json::value::RawValue;
    let raw = |json: &str| {
        RawValue::from_string(json.to_owned()).map_err(|error| Error::invalid(error.to_string()))
    };
    let before = Members::of_stored(document).map_err(Error::storage)?;
    let changes = Members::checked(patch).map_err(|fault| Error::invalid(format!("the patch: {fault}")))?;
    let mut merged: Vec<(String, Box<RawValue>)> = Vec::new();
    for (name, json) in before.iter() {
        match changes.get(name) {
            None => merged.push((name.to_owned(), raw(json)?)),
            Some("null") => {}
            Some(change) => merged.push((name.to_owned(), raw(&merged_value(Some(json), change)?)?)),
        }
    }
    for (name, change) in changes.iter() {
        if before.get(name).is_none() && change != "null" {
            merged.push((name.to_owned(), raw(&merged_value(None, change)?)?));
        }
    }
    let mut out = b"{".to_vec();
    for (name, json) in &merged {
        if out.len() > 1 {
            out.push(b',');
        }
        let name = serde_json::to_string(name).map_err(|error| Error::invalid(error.to_string()))?;
        out.extend_from_slice(name.as_bytes());
        out.push(b':');
        out.extend_from_slice(json.get().as_bytes());
    }
    out.push(b'}');
    Ok(out)
}

/// A member's new value. An object is merged into what was there, without its nulls.
fn merged_value(before: Option<&str>, change: &str) -> Result<String> {
    if !change.starts_with('{') {
        return Ok(change.to_owned());
    }
    let base = before.filter(|json| json.starts_with('{')).unwrap_or("{}");
    let merged = merge_patch(base.as_bytes(), change.as_bytes())?;
    String::from_utf8(merged).map_err(|error| Error::invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_patch_does_what_its_rfc_says() {
        for (document, patch, merged) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
            (
                r#"{"n":18446744073709551615,"f":1.10}"#,
                r#"{"x":0.10}"#,
                r#"{"n":18446744073709551615,"f":1.10,"x":0.10}"#,
            ),
        ] {
            let found = merge_patch(document.as_bytes(), patch.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), merged, "{document} {patch}");
        }
    }
}
