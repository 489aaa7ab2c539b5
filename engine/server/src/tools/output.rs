//! How are results written? Figures as aligned lines for people or as one JSON object for programs, entries as one line each.

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::Value;

use super::encoding::Encoding;
use crate::units::show_bytes;

/// For whom figures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum Format {
    /// Text.
    #[default]
    Human,
    /// JSON.
    Json,
}

/// How a tool that works for long tells of it.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    /// Do not print progress.
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// How a tool writes or reads entries as lines of JSON.
#[derive(Debug, clap::Args)]
pub(super) struct LineArgs {
    /// Encoding of keys and values, unless a line has its own.
    #[arg(long, value_enum, default_value_t)]
    pub(super) encoding: Encoding,
    /// Print neither progress nor a count.
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// A key, its value and its end, as a line of JSON.
#[derive(Debug, Serialize)]
pub(super) struct Entry<'a> {
    /// Where it is not 0.
    #[serde(skip_serializing_if = "is_zero")]
    database: u8,
    key: &'a str,
    value: &'a str,
    /// Milliseconds since the Unix epoch.
    expires_at_ms: Option<u64>,
    /// Of key and value, where it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<Encoding>,
}

/// Writes an entry as a line of JSON. Where key or value is no text, both are in base64, and the line says so.
pub(super) fn write_entry(
    out: &mut impl io::Write,
    wanted: Encoding,
    database: u8,
    key: &[u8],
    value: &[u8],
    expires_at_ms: Option<u64>,
) -> io::Result<()> {
    let (mut used, mut shown_key) = wanted.encode(key);
    let (other, mut shown_value) = wanted.encode(value);
    if used != other {
        used = Encoding::Base64;
        (shown_key, shown_value) = (used.encode(key).1, used.encode(value).1);
    }
    let encoding = (used != Encoding::Text).then_some(used);
    let entry = Entry { database, key: &shown_key, value: &shown_value, expires_at_ms, encoding };
    serde_json::to_writer(&mut *out, &entry)?;
    out.write_all(b"\n")
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// Writes figures: `name_bytes` with its size in words for people, everything as it is for programs.
pub(super) fn write_figures(format: Format, figures: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match (format, serde_json::to_value(figures)?) {
        (Format::Human, Value::Object(fields)) => {
            let width = fields.keys().map(|name| name.len()).max().unwrap_or(0);
            for (name, value) in &fields {
                writeln!(out, "{:width$}  {}", words(name), in_words(name, value))?;
            }
        }
        (_, value) => writeln!(out, "{value}")?,
    }
    Ok(())
}

/// `table_bytes` as people write it; seconds are shown beside the figure.
fn words(name: &str) -> String {
    name.trim_end_matches("_seconds").replace('_', " ")
}

fn in_words(name: &str, value: &Value) -> String {
    let of_bytes = |bytes: u64| match bytes {
        0..1024 => bytes.to_string(),
        _ => format!("{bytes} ({})", show_bytes(bytes)),
    };
    match value {
        Value::Number(number) if name.ends_with("_bytes") => {
            number.as_u64().map_or_else(String::new, of_bytes)
        }
        Value::Number(number) if name.ends_with("_seconds") => {
            format!("{:.1} s", number.as_f64().unwrap_or_default())
        }
        Value::String(text) => text.clone(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::Null => "none".to_owned(),
        Value::Array(levels) => levels.iter().map(level_in_words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// `2 tables of 1.5 MiB`.
fn level_in_words(level: &Value) -> String {
    let of = |name: &str| level.get(name).and_then(Value::as_u64).unwrap_or(0);
    match of("tables") {
        0 => "-".to_owned(),
        tables => format!("{tables} of {}", show_bytes(of("bytes"))),
    }
}

/// Whether an error means that nobody reads standard output any more.
pub(super) fn is_closed(error: &anyhow::Error) -> bool {
    let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(is_closed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_its_encoding_where_it_is_no_text() {
        for (wanted, key, value, expected) in [
            (Encoding::Text, &b"k\"1"[..], &b"v"[..], r#"{"key":"k\"1","value":"v","expires_at_ms":7}"#),
            (
                Encoding::Text,
                b"k",
                b"\xff",
                r#"{"key":"aw==","value":"/w==","expires_at_ms":7,"encoding":"base64"}"#,
            ),
            (Encoding::Hex, b"k", b"v", r#"{"key":"6b","value":"76","expires_at_ms":7,"encoding":"hex"}"#),
        ] {
            let mut out = Vec::new();
            write_entry(&mut out, wanted, 0, key, value, Some(7)).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("{expected}\n"));
        }
        let mut out = Vec::new();
        write_entry(&mut out, Encoding::Text, 15, b"k", b"v", None).unwrap();
        assert_eq!(out, b"{\"database\":15,\"key\":\"k\",\"value\":\"v\",\"expires_at_ms\":null}\n");
    }

    #[test]
    fn figures_have_their_units() {
        assert_eq!((&*words("table_bytes"), &*words("elapsed_seconds")), ("table bytes", "elapsed"));
        assert_eq!(in_words("table_bytes", &Value::from(2 << 20)), "2097152 (2 MiB)");
        assert_eq!(in_words("table_bytes", &Value::from(12)), "12");
        assert_eq!(in_words("elapsed_seconds", &Value::from(1.26)), "1.3 s");
        assert_eq!(in_words("keys", &Value::from(12)), "12");
    }
}
