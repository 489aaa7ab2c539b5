//! Filters: `price >= 10 AND NOT brand = "Home Appliances" AND tags IN [a, b]`.
//!
//! ```text
//! either     = both ("OR" both)*
//! both       = one ("AND" one)*
//! one        = "NOT" one | "(" either ")" | field comparison
//! comparison = operator value | "IN" "[" value ("," value)* "]" | "EXISTS"
//! ```
//!
//! A field with several values matches if one of them does. `a != x` is `NOT a = x`, so it matches
//! documents without the field, too.

use super::lexer::{Fault, Operator, Token, tokens};
use crate::error::{Error, Result};
use crate::limits::{MAX_CLAUSES, MAX_FILTER_DEPTH, MAX_IN_VALUES};
use crate::names::hint;
use crate::schema::{FieldType, Schema};
use crate::value::{Value, literal};

/// A filter that fits a schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Equal(String, Value),
    In(String, Vec<Value>),
    Range(String, Option<End>, Option<End>),
    Exists(String),
}

/// An end of a range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct End {
    pub(crate) value: Value,
    pub(crate) is_included: bool,
}

impl Filter {
    /// Parses a filter and checks it against a schema.
    ///
    /// # Errors
    /// The message has the column.
    pub(crate) fn parse(text: &str, schema: &Schema) -> Result<Self> {
        let parsed = tokens(text).and_then(|tokens| {
            let mut parser = Parser { tokens: tokens.into_iter().peekable(), schema, clauses: 0 };
            let filter = parser.either(0)?;
            match parser.next() {
                (_, Token::End) => Ok(filter),
                (column, token) => {
                    Err((column, format!("expected AND, OR or the end, found {}", token.describe())))
                }
            }
        });
        parsed.map_err(|(column, fault)| Error::invalid(format!("filter, column {column}: {fault}")))
    }
}

struct Parser<'a> {
    tokens: std::iter::Peekable<std::vec::IntoIter<(usize, Token)>>,
    schema: &'a Schema,
    clauses: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> (usize, Token) {
        // The end is never taken twice, because every path returns when it is met.
        self.tokens.next().unwrap_or((0, Token::End))
    }

    fn takes_keyword(&mut self, keyword: &str) -> bool {
        let is_it = |(_, token): &(usize, Token)| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(keyword));
        self.tokens.next_if(is_it).is_some()
    }

    fn either(&mut self, depth: usize) -> Result<Filter, Fault> {
        let mut all = vec![self.both(depth)?];
        while self.takes_keyword("OR") {
            all.push(self.both(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Filter::Or(all) })
    }

    fn both(&mut self, depth: usize) -> Result<Filter, Fault> {
        let mut all = vec![self.one(depth)?];
        while self.takes_keyword("AND") {
            all.push(self.one(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Filter::And(all) })
    }

    fn one(&mut self, depth: usize) -> Result<Filter, Fault> {
        let (column, token) = self.next();
        let deeper = || match depth < MAX_FILTER_DEPTH {
            true => Ok(depth + 1),
            false => Err((column, format!("nested deeper than {MAX_FILTER_DEPTH} levels"))),
        };
        match token {
            Token::Open => {
                let filter = self.either(deeper()?)?;
                match self.next() {
                    (_, Token::Close) => Ok(filter),
                    (column, other) => {
                        Err((column, format!("expected `)`, AND or OR, found {}", other.describe())))
                    }
                }
            }
            Token::Word(word) if word.eq_ignore_ascii_case("NOT") && !self.is_compared() => {
                Ok(Filter::Not(Box::new(self.one(deeper()?)?)))
            }
            Token::Word(name) | Token::Quoted(name) => self.comparison(column, name),
            other => Err((column, format!("expected a field, NOT or `(`, found {}", other.describe()))),
        }
    }

    /// Whether an operator follows, so that the word before it is a field even if it is called `not`.
    fn is_compared(&mut self) -> bool {
        matches!(self.tokens.peek(), Some((_, Token::Operator(_))))
    }

    fn comparison(&mut self, column: usize, name: String) -> Result<Filter, Fault> {
        self.clauses += 1;
        if self.clauses > MAX_CLAUSES {
            return Err((column, format!("more than {MAX_CLAUSES} comparisons")));
        }
        let Some(kind) = self.schema.fields.get(&name).copied() else {
            let hint = hint(&name, self.schema.names());
            return Err((column, format!("the field `{name}` is not indexed; {hint}")));
        };
        if self.takes_keyword("EXISTS") {
            return Ok(Filter::Exists(name));
        }
        if kind == FieldType::Text {
            let fault =
                format!("`{name}` is a text field: search it with `q`, or index it as a keyword, too");
            return Err((column, fault));
        }
        if self.takes_keyword("IN") {
            return Ok(Filter::In(name, self.list(kind)?));
        }
        let operator = match self.next() {
            (_, Token::Operator(operator)) => operator,
            (column, other) => {
                let expected = "expected =, !=, <, <=, >, >=, IN or EXISTS";
                return Err((column, format!("{expected}, found {}", other.describe())));
            }
        };
        let (value_column, value) = self.value(kind)?;
        let end = |value, is_included| Some(End { value, is_included });
        if kind == FieldType::Bool && !matches!(operator, Operator::Equal | Operator::NotEqual) {
            return Err((value_column, format!("`{name}` is true or false: compare it with = or !=")));
        }
        Ok(match operator {
            Operator::Equal => Filter::Equal(name, value),
            Operator::NotEqual => Filter::Not(Box::new(Filter::Equal(name, value))),
            Operator::Less => Filter::Range(name, None, end(value, false)),
            Operator::LessOrEqual => Filter::Range(name, None, end(value, true)),
            Operator::Greater => Filter::Range(name, end(value, false), None),
            Operator::GreaterOrEqual => Filter::Range(name, end(value, true), None),
        })
    }

    fn value(&mut self, kind: FieldType) -> Result<(usize, Value), Fault> {
        match self.next() {
            (column, Token::Word(text) | Token::Quoted(text)) => {
                literal(kind, &text).map(|value| (column, value)).map_err(|fault| (column, fault))
            }
            (column, other) => Err((column, format!("expected a value, found {}", other.describe()))),
        }
    }

    fn list(&mut self, kind: FieldType) -> Result<Vec<Value>, Fault> {
        match self.next() {
            (_, Token::OpenList) => {}
            (column, other) => return Err((column, format!("expected `[`, found {}", other.describe()))),
        }
        let mut values = Vec::new();
        loop {
            let (column, value) = self.value(kind)?;
            if values.len() == MAX_IN_VALUES {
                return Err((column, format!("more than {MAX_IN_VALUES} values")));
            }
            values.push(value);
            match self.next() {
                (_, Token::Comma) => {}
                (_, Token::CloseList) => return Ok(values),
                (column, other) => {
                    return Err((column, format!("expected `,` or `]`, found {}", other.describe())));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::parse(
            br#"{"primary":"id","fields":{"price":"f64","brand":"keyword","tags":"keyword","title":"text",
            "qty":"i64","sold":"bool","at":"date","not":"i64"}}"#,
        )
        .unwrap()
    }

    fn parse(text: &str) -> Filter {
        Filter::parse(text, &schema()).unwrap()
    }

    fn fault(text: &str) -> String {
        Filter::parse(text, &schema()).unwrap_err().to_string()
    }

    #[test]
    fn a_filter_is_what_it_says() {
        let equal = |name: &str, text: &str| Filter::Equal(name.to_owned(), Value::Str(text.to_owned()));
        let filter = parse(r#"price >= 10 AND NOT brand = "Home Appliances" AND tags IN [a, b]"#);
        assert_eq!(
            filter,
            Filter::And(vec![
                Filter::Range(
                    "price".to_owned(),
                    Some(End { value: Value::F64(10.0), is_included: true }),
                    None
                ),
                Filter::Not(Box::new(equal("brand", "Home Appliances"))),
                Filter::In("tags".to_owned(), vec![Value::Str("a".to_owned()), Value::Str("b".to_owned())]),
            ])
        );
        // AND binds closer than OR.
        let Filter::Or(either) = parse("brand = a or brand = b and tags exists") else { panic!("no OR") };
        assert_eq!(either[0], equal("brand", "a"));
        assert_eq!(parse("((brand=a))"), equal("brand", "a"));
        assert_eq!(parse("not = 3"), Filter::Equal("not".to_owned(), Value::I64(3)));
        assert_eq!(parse("NOT not = 3"), Filter::Not(Box::new(parse("not = 3"))));
        assert_eq!(parse("title EXISTS"), Filter::Exists("title".to_owned()));
    }

    #[test]
    fn faults_name_column_and_way_out() {
        for (text, parts) in [
            ("", ["column 1", "expected a field"]),
            ("prise > 1", ["column 1", "did you mean `price`?"]),
            ("price > 1 brand = a", ["column 11", "expected AND, OR"]),
            ("price > x", ["column 9", "x is not of type f64"]),
            ("qty = 1.5", ["column 7", "1.5 is not of type i64"]),
            ("qty = 9223372036854775808", ["column 7", "out of the range"]),
            ("title = lamp", ["column 1", "search it with `q`"]),
            ("sold > true", ["column 8", "= or !="]),
            ("at > 2026-01-31", ["column 6", "2026-01-31T08:30:00Z"]),
            ("tags IN []", ["column 10", "expected a value"]),
            ("tags IN [a b]", ["column 12", "expected `,` or `]`"]),
            ("(price > 1", ["column 11", "expected `)`"]),
            ("price", ["column 6", "expected ="]),
            ("price > ", ["column 9", "found the end"]),
        ] {
            let fault = fault(text);
            assert!(parts.iter().all(|part| fault.contains(part)), "{text}: {fault}");
        }
    }

    #[test]
    fn depth_comparisons_and_lists_are_limited_at_their_edges() {
        let nested = |depth: usize| format!("{}qty = 1{}", "(".repeat(depth), ")".repeat(depth));
        parse(&nested(MAX_FILTER_DEPTH));
        assert!(fault(&nested(MAX_FILTER_DEPTH + 1)).contains("deeper"));
        assert!(fault(&"NOT ".repeat(MAX_FILTER_DEPTH + 1)).contains("deeper"));
        let many = |count: usize| vec!["qty = 1"; count].join(" OR ");
        parse(&many(MAX_CLAUSES));
        assert!(fault(&many(MAX_CLAUSES + 1)).contains("comparisons"));
        let list = |count: usize| format!("qty IN [{}]", vec!["1"; count].join(","));
        parse(&list(MAX_IN_VALUES));
        assert!(fault(&list(MAX_IN_VALUES + 1)).contains("values"));
    }
}
