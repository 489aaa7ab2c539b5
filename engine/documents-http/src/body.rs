//! Request bodies: media type, and reading a short one whole.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;

use crate::problem::Problem;

/// How a body is divided into documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// One JSON value.
    Json,
    /// One JSON value a line.
    Lines,
}

/// The format that the header names. Without a header it is JSON.
pub(crate) fn format(headers: &HeaderMap) -> Result<Format, Problem> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(Format::Json) };
    let text = value.to_str().unwrap_or_default();
    match text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/json" | "application/merge-patch+json" => Ok(Format::Json),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Ok(Format::Lines),
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            format!(
                "unsupported Content-Type {text:?}: send application/json, or application/x-ndjson for one \
                 document a line"
            ),
        )),
    }
}

/// The whole body, which may have so many bytes.
pub(crate) async fn whole(body: Body, most: usize) -> Result<Vec<u8>, Problem> {
    let mut body = body;
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(cut)?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(Problem::too_large(format!("the body has more than {most} bytes")));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// The body ended before its end.
pub(crate) fn cut(error: axum::Error) -> Problem {
    Problem::invalid(format!("the body is incomplete: {error}"))
}
