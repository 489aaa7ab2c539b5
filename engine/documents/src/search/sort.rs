//! Sort orders: which fields, in which direction. Ids break ties, so each order is total.

use crate::error::{Error, Result};
use crate::limits::MAX_SORT_FIELDS;
use crate::names::hint;
use crate::schema::{FieldType, Schema};

/// What hits are sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
    Score,
    Id,
    Field(String, FieldType),
}

/// One field of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) by: By,
    pub(super) is_descending: bool,
}

/// An order: its lanes one after the other, then the id, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) lanes: Vec<Lane>,
}

impl Order {
    pub(super) fn by_score() -> Self {
        Self { lanes: vec![Lane { by: By::Score, is_descending: true }] }
    }

    /// By id needs no lane: it is what breaks ties.
    pub(super) fn by_id() -> Self {
        Self { lanes: Vec::new() }
    }

    pub(super) fn has_score(&self) -> bool {
        self.lanes.iter().any(|lane| lane.by == By::Score)
    }

    /// Parses `-date,price`.
    pub(super) fn parse(text: &str, schema: &Schema) -> Result<Self> {
        let mut lanes = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (name, is_descending) = match part.strip_prefix('-') {
                Some(name) => (name, true),
                None => (part, false),
            };
            let by = match name {
                "_score" => By::Score,
                "_id" => By::Id,
                _ => match schema.fields.get(name) {
                    None => {
                        let hint = hint(name, schema.names());
                        return Err(Error::invalid(format!(
                            "sort: the field `{name}` is not indexed; {hint}"
                        )));
                    }
                    Some(FieldType::Text) => {
                        return Err(Error::invalid(format!(
                            "sort: `{name}` is a text field; index it as a keyword, too, and sort by that"
                        )));
                    }
                    Some(kind) => By::Field(name.to_owned(), *kind),
                },
            };
            let is_total = by == By::Id;
            lanes.push(Lane { by, is_descending });
            if is_total {
                // No two documents have the same id: what follows has no effect.
                break;
            }
        }
        if lanes.len() > MAX_SORT_FIELDS {
            return Err(Error::invalid(format!("sort: more than {MAX_SORT_FIELDS} fields")));
        }
        Ok(Self { lanes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_parsed_and_checked() {
        let schema =
            Schema::parse(br#"{"primary":"id","fields":{"a":"i64","b":"keyword","t":"text"}}"#).unwrap();
        let order = Order::parse("-a, b", &schema).unwrap();
        assert_eq!(
            order.lanes,
            [
                Lane { by: By::Field("a".to_owned(), FieldType::I64), is_descending: true },
                Lane { by: By::Field("b".to_owned(), FieldType::Keyword), is_descending: false }
            ]
        );
        assert_eq!(Order::parse("_id,a", &schema).unwrap().lanes.len(), 1);
        assert!(Order::parse("-_score", &schema).unwrap().has_score());
        for (text, part) in
            [("c", "not indexed"), ("t", "text field"), ("a,,b", "not indexed"), ("a,a,a,a,a", "more than")]
        {
            let fault = Order::parse(text, &schema).unwrap_err().to_string();
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }
}
