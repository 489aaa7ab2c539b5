//! What may stand in the file of what is counted rather than timed? Requests that a server is sent one after the other, and
//! programs that do the work of a part.

use super::check::ScenarioError;
use super::gate::BuildRecipe;
use super::strict;
use serde::Deserialize;

/// Requests of one kind at most, and keys.
const REQUESTS_MAX: u32 = 1_000_000;
/// A value of an exchange at most, bytes.
const VALUE_BYTES_MAX: u32 = 1 << 20;

/// The file, checked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedDefinition {
    /// From so many percent more on it is a regression.
    pub limit_percent: f64,
    /// What the server is asked.
    #[serde(default, rename = "exchange")]
    pub exchanges: Vec<Exchange>,
    /// Programs of parts.
    #[serde(default, rename = "component")]
    pub components: Vec<Component>,
}

/// Requests of one kind on one connection, each sent when the last was answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The request.
    pub operation: ExchangeOperation,
    /// Length of every value.
    pub value_bytes: u32,
    /// Keys that are there before; requests go through them in turn.
    pub keys: u32,
    /// Requests that are counted.
    pub requests: u32,
}

/// A request of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExchangeOperation {
    /// `GET` of a key that is there.
    Get,
    /// `SET` of a key that is there.
    Set,
}

impl ExchangeOperation {
    /// As people write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Set => "SET",
        }
    }
}

/// A program that does the work of one part so many times.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// For people.
    pub name: String,
    /// How it comes about from a commit.
    pub build: BuildRecipe,
    /// Arguments with which it does the work …
    pub arguments: Vec<String>,
    /// … so many times,
    pub operations: u32,
    /// and those with which it does all but the work.
    pub without: Vec<String>,
}

impl CountedDefinition {
    /// Reads and checks the file; `file` is only named in errors.
    ///
    /// # Errors
    /// When the text is no such file, or does not make sense.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let parsed: Self = strict::parse(file, text)?;
        let senseless = |faults: String| Err(ScenarioError::Senseless { file: file.to_owned(), faults });
        if !(0.1..=100.0).contains(&parsed.limit_percent) {
            return senseless("limit_percent is from 0.1 to 100".to_owned());
        }
        for (number, exchange) in (1..).zip(&parsed.exchanges) {
            let sensible = (1..=REQUESTS_MAX).contains(&exchange.requests)
                && (1..=REQUESTS_MAX).contains(&exchange.keys)
                && exchange.value_bytes <= VALUE_BYTES_MAX;
            if !sensible {
                return senseless(format!(
                    "exchange {number}: keys and requests are from 1 to {REQUESTS_MAX}, value_bytes up to {VALUE_BYTES_MAX}"
                ));
            }
        }
        for component in &parsed.components {
            let name = &component.name;
            if component.build.command.is_empty() || component.build.binary.is_empty() {
                return senseless(format!(
                    "component {name}: build needs a command, and the binary that comes of it"
                ));
            }
            if component.operations == 0 || component.arguments == component.without {
                return senseless(format!(
                    "component {name}: operations is at least 1, and `without` are other arguments than `arguments`"
                ));
            }
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        limit_percent = 1.0
        [[exchange]]
        operation = "get"
        value_bytes = 64
        keys = 100
        requests = 1000
        [[component]]
        name = "parser"
        arguments = ["parse", "1000"]
        operations = 1000
        without = ["parse", "0"]
        build = { command = ["make", "parts"], binary = "parts" }
    "#;

    #[test]
    fn a_file_names_exchanges_and_components() {
        let counted = CountedDefinition::parse("bench-counted.toml", TEXT).unwrap();
        assert_eq!(counted.exchanges[0].operation, ExchangeOperation::Get);
        assert_eq!(counted.components[0].operations, 1000);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let error = |from: &str, to: &str| {
            CountedDefinition::parse("bench-counted.toml", &TEXT.replace(from, to)).unwrap_err().to_string()
        };
        assert!(error("limit_percent = 1.0", "limit_percent = 0.0").contains("0.1 to 100"));
        assert!(error("requests = 1000", "requests = 0").contains("exchange 1"));
        assert!(error("requests = 1000", "requests = 1000001").contains("1000000"));
        assert!(error("value_bytes = 64", "value_bytes = 1048577").contains("1048576"));
        assert!(error("\"0\"]", "\"1000\"]").contains("other arguments"));
        assert!(error("\"make\", \"parts\"", "").contains("command"));
        assert!(error("keys = 100", "key = 100").contains("did you mean `keys`"));
    }
}
