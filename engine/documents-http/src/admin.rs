//! `/v1/status`, `/v1/compact` and `/v1/checkpoint`: the state of the store, and its maintenance.

use std::path::PathBuf;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::body::whole;
use crate::collections::respond;
use crate::openapi::{Bodied, Common, Storing};
use crate::parameters::NoParameters;
use crate::problem::Problem;
use crate::{Store, blocking};

/// Bytes of a request for maintenance.
const MAX_REQUEST_BYTES: usize = 16 << 10;

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Checkpoint {
    #[schema(value_type = String)]
    directory: PathBuf,
}

#[utoipa::path(
    get,
    path = "/v1/status",
    tag = "administration",
    responses(
        (status = 200, description = "The store can store", body = Object),
        (status = 503, description = "It cannot", body = Object),
        Common
    )
)]
pub(crate) async fn status(State(store): State<Store>, _: NoParameters) -> Result<Response, Problem> {
    blocking(move || {
        let stats = store.database().storage_stats()?;
        let collections: Vec<Value> = store
            .names()
            .iter()
            .filter_map(|name| store.get(name).ok())
            .map(|collection| {
                let status = collection.status();
                let lag = status.version - status.searchable_version.unwrap_or(0).min(status.version);
                json!({
                    "name": collection.name(),
                    "documents": status.searchable_documents,
                    "segments": status.segments,
                    "version": status.version,
                    "lag": lag,
                    "is_searchable": status.searchable_version.is_some(),
                    "index_error": status.index_error,
                })
            })
            .collect();
        let can_store = stats.failure.is_none();
        let body = json!({
            "can_store": can_store,
            "collections": collections,
            "disk_bytes": stats.table_bytes(),
            "tables": stats.tables(),
            "memtable_bytes": stats.memtable_bytes,
        });
        Ok(respond(if can_store { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &body))
    })
    .await
}

#[utoipa::path(
    post,
    path = "/v1/compact",
    tag = "administration",
    responses(
        (status = 200, description = "Merged", body = Object),
        Common, Storing
    )
)]
pub(crate) async fn compact(State(store): State<Store>, _: NoParameters) -> Result<Response, Problem> {
    blocking(move || {
        store.database().compact()?;
        Ok(respond(StatusCode::OK, &json!({ "tables": store.database().storage_stats()?.tables() })))
    })
    .await
}

/// Copies the store to a directory that does not exist: `{"directory": "/backup/today"}`.
#[utoipa::path(
    post,
    path = "/v1/checkpoint",
    tag = "administration",
    request_body = Checkpoint,
    responses(
        (status = 200, description = "Copied", body = Object),
        Common, Bodied, Storing
    )
)]
pub(crate) async fn checkpoint(
    State(store): State<Store>,
    _: NoParameters,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = whole(body, MAX_REQUEST_BYTES).await?;
    let request: Checkpoint = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::invalid(format!(
            "invalid request: {error}; send {{\"directory\": \"/path/of/a/new/directory\"}}"
        ))
    })?;
    blocking(move || {
        store.database().checkpoint(&request.directory)?;
        Ok(respond(StatusCode::OK, &json!({ "directory": request.directory })))
    })
    .await
}
