//! How do values come into a reply? Short ones are copied, once; long ones are sent from where they lie.

use plumbkv::{Fetched, Value};
use plumbkv_resp::ReplyWriter;

use super::{BULK_HEAD, CommandError, Context};

impl Context<'_> {
    /// Writes an array of the values of keys, all as of one moment, with nulls for those that are not there.
    pub(crate) fn values_of(&mut self, keys: &[&[u8]]) -> Result<(), CommandError> {
        let (start, database) = (self.output.mark(), self.keys());
        loop {
            self.reply().array(keys.len());
            let Self { client, output, .. } = self;
            let room = output.bytes.capacity() - output.bytes.len();
            // What is copied, and what is sent from where it lies. Under the shards' locks no room can be made: what does not fit is only
            // added up.
            let (copied, named) = database.fetch_many(keys, |values| {
                let (mut copied, mut named) = (0, 0);
                for found in values {
                    match found {
                        Some(Fetched::Value(value)) if value.is_held() => {
                            copied += BULK_HEAD;
                            named += value.len();
                            if copied <= room {
                                output.value(value);
                            }
                        }
                        Some(found) => {
                            let bytes: &[u8] = match &found {
                                Fetched::Bytes(bytes) => bytes,
                                Fetched::Value(value) => value,
                            };
                            copied += bytes.len() + BULK_HEAD;
                            if copied <= room {
                                ReplyWriter::new(&mut output.bytes, client.version).bulk(bytes);
                            }
                        }
                        None => {
                            copied += BULK_HEAD;
                            if copied <= room {
                                ReplyWriter::new(&mut output.bytes, client.version).null();
                            }
                        }
                    }
                }
                (copied, named)
            })?;
            if copied <= room {
                return Ok(());
            }
            self.output.go_back(start);
            self.check_bytes(copied + named)?;
            self.output.make_room(self.shared, copied + BULK_HEAD)?;
        }
    }

    /// Writes a value, or null when there is none. A long one is not copied.
    pub(crate) fn value_or_null(&mut self, value: Option<Value>) -> Result<(), CommandError> {
        match value {
            Some(value) if value.is_held() => self.output.value(value),
            Some(value) => self.bulk(&value)?,
            None => self.reply().null(),
        }
        Ok(())
    }

    /// Writes the value of a key, or null.
    pub(crate) fn value_of(&mut self, key: &[u8]) -> Result<(), CommandError> {
        let keys = self.keys();
        let Self { client, output, .. } = self;
        let written = keys.fetch(key, |found| match found {
            // From the store to the output in one copy. Where a turn's room is used up it goes the longer way.
            Fetched::Bytes(bytes)
                if output.bytes.capacity() - output.bytes.len() > bytes.len() + BULK_HEAD =>
            {
                ReplyWriter::new(&mut output.bytes, client.version).bulk(bytes);
                None
            }
            Fetched::Bytes(bytes) => Some(bytes.to_vec()),
            Fetched::Value(value) => {
                output.value(value);
                None
            }
        })?;
        match written {
            Some(None) => Ok(()),
            Some(Some(bytes)) => self.bulk(&bytes),
            None => {
                self.reply().null();
                Ok(())
            }
        }
    }
}
