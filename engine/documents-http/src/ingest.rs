//! `POST /v1/collections/{c}/documents`: documents of a stream, stored in batches as they arrive.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use http_body_util::BodyExt as _;
use plumbkv_documents::Collection;
use plumbkv_documents::limits::{MAX_BATCH_BYTES, MAX_BATCH_DOCUMENTS};
use serde_json::{Value, json};

use crate::body::{cut, format};
use crate::collections::respond;
use crate::openapi::{Bodied, Common, IngestBody, Missing, Storing, Typed};
use crate::parameters::Parameters;
use crate::path::Named;
use crate::problem::Problem;
use crate::splitter::{Piece, Splitter};
use crate::{Store, blocking};

/// Documents stored as one write.
const BATCH_DOCUMENTS: usize = 1_000;
/// Bytes from which on a batch is stored.
const BATCH_BYTES: usize = 1 << 20;
/// Refused documents that a response lists; all are counted.
const MAX_REFUSALS: usize = 1_000;

/// What has become of the documents so far.
#[derive(Default)]
struct Outcome {
    version: u64,
    stored: usize,
    replaced: usize,
    refused: u64,
    refusals: Vec<Value>,
}

/// A document that could not be stored.
struct Refused<'a> {
    number: u64,
    line: u64,
    id: Option<&'a str>,
    field: Option<&'a str>,
    reason: &'a str,
}

impl Outcome {
    fn refuse(&mut self, refused: Refused<'_>) {
        self.refused += 1;
        if self.refusals.len() < MAX_REFUSALS {
            let Refused { number, line, id, field, reason } = refused;
            self.refusals
                .push(json!({ "number": number, "line": line, "id": id, "field": field, "reason": reason }));
        }
    }

    fn into_response(self) -> Response {
        let status = match (self.stored, self.refused) {
            (_, 0) => StatusCode::OK,
            (0, _) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::MULTI_STATUS,
        };
        respond(
            status,
            &json!({
                "version": self.version,
                "stored": self.stored,
                "replaced": self.replaced,
                "refused": self.refused,
                "refusals": self.refusals,
            }),
        )
    }
}

#[utoipa::path(
    post,
    path = "/v1/collections/{collection}/documents",
    tag = "documents",
    params(("collection" = String, Path, description = "Name of a collection"),
        ("atomic" = Option<bool>, Query, description = "All or nothing")),
    request_body(content((Object = "application/json"), (String = "application/x-ndjson"))),
    responses(
        (status = 200, description = "All stored", body = IngestBody),
        (status = 207, description = "Some stored", body = IngestBody),
        (status = 422, description = "None stored", body = IngestBody),
        Common, Missing, Bodied, Typed, Storing
    )
)]
pub(crate) async fn post(
    State(store): State<Store>,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let parameters = Parameters::parse(&uri, &["atomic"])?;
    let is_atomic = parameters.flag("atomic")?;
    let collection = store.get(&name)?;
    let mut splitter = Splitter::new(format(&headers)?);
    let (mut body, mut pieces, mut outcome, mut number) = (body, Vec::new(), Outcome::default(), 0);
    let broken = loop {
        match body.frame().await {
            None => break splitter.finish(&mut pieces).err(),
            Some(frame) => {
                let frame = frame.map_err(cut)?;
                let Ok(data) = frame.into_data() else { continue };
                if let Err(broken) = splitter.push(&data, &mut pieces) {
                    break Some(broken);
                }
            }
        }
        let bytes: usize = pieces.iter().map(|piece| piece.json.len()).sum();
        if is_atomic {
            if pieces.len() > MAX_BATCH_DOCUMENTS || bytes > MAX_BATCH_BYTES {
                return Err(Problem::too_large(format!(
                    "an atomic write may have {MAX_BATCH_DOCUMENTS} documents of {MAX_BATCH_BYTES} bytes; send \
                     less, or without atomic=true"
                )));
            }
        } else if pieces.len() >= BATCH_DOCUMENTS || bytes >= BATCH_BYTES {
            outcome =
                store_pieces(&collection, std::mem::take(&mut pieces), outcome, &mut number, false).await?;
        }
    };
    if let Some(broken) = &broken
        && is_atomic
    {
        return Err(Problem::invalid(format!("line {}: {}; nothing was stored", broken.line, broken.reason)));
    }
    outcome = store_pieces(&collection, pieces, outcome, &mut number, is_atomic).await?;
    if let Some(broken) = broken {
        let (line, reason) = (broken.line, &*broken.reason);
        outcome.refuse(Refused { number: number + 1, line, id: None, field: None, reason });
    }
    Ok(outcome.into_response())
}

async fn store_pieces(
    collection: &Arc<Collection>,
    pieces: Vec<Piece>,
    mut outcome: Outcome,
    number: &mut u64,
    is_atomic: bool,
) -> Result<Outcome, Problem> {
    let first = *number;
    *number += pieces.len() as u64;
    if pieces.is_empty() {
        return Ok(outcome);
    }
    let collection = Arc::clone(collection);
    blocking(move || {
        // What arrives in one piece may be more than one write takes.
        let (mut from, mut bytes) = (0, 0);
        for at in 0..=pieces.len() {
            let is_end = at == pieces.len();
            let is_full = at - from == MAX_BATCH_DOCUMENTS
                || pieces.get(at).is_some_and(|piece| bytes + piece.json.len() > MAX_BATCH_BYTES);
            if (is_end || is_full) && from < at {
                let batch: Vec<&[u8]> = pieces[from..at].iter().map(|piece| &*piece.json).collect();
                let put = collection.put_many(&batch, is_atomic)?;
                outcome.version = outcome.version.max(put.version);
                outcome.stored += put.ids.len();
                outcome.replaced += put.replaced;
                for refusal in &put.refusals {
                    let index = from + refusal.index;
                    outcome.refuse(Refused {
                        number: first + index as u64 + 1,
                        line: pieces[index].line,
                        id: refusal.id.as_deref(),
                        field: refusal.field.as_deref(),
                        reason: &refusal.reason,
                    });
                }
                (from, bytes) = (at, 0);
            }
            bytes += pieces.get(at).map_or(0, |piece| piece.json.len());
        }
        Ok(outcome)
    })
    .await
}
