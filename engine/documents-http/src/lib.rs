//! HTTP interface of the document store: an axum [`Router`] for `/v1`, over [`Collections`].
//!
//! | method and path | what it does |
//! | --- | --- |
//! | `GET /v1/collections` | lists collections |
//! | `GET PUT PATCH DELETE /v1/collections/{c}` | reads, creates or changes, patches, deletes a collection |
//! | `POST /v1/collections/{c}/documents` | stores an object, an array, or NDJSON of any length |
//! | `GET /v1/collections/{c}/documents` | lists documents by id |
//! | `GET PUT PATCH DELETE /v1/collections/{c}/documents/{id}` | one document, with `ETag` and conditions |
//! | `GET POST /v1/collections/{c}/search` | filter, full text, sorting, facets |
//! | `GET PUT DELETE /v1/keys/{key}` | a key of Redis clients, as bytes |
//! | `GET /v1/status` | counts and state of all collections |
//! | `POST /v1/compact`, `POST /v1/checkpoint` | merges all tables; copies the store to a new directory |
//!
//! `/openapi.json` describes it as an OpenAPI document.
//!
//! Errors are `application/problem+json` (RFC 9457) with what happened and what to do.

mod access;
mod admin;
mod body;
mod collections;
mod documents;
mod ingest;
mod keys;
mod lane;
mod limiter;
mod openapi;
mod parameters;
mod path;
mod problem;
mod search;
mod splitter;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use plumbkv::Database;
use plumbkv_documents::Collections;

pub use access::{Access, Peer, Role, Tokens, line_of};
pub use lane::{Lane, MAX_HEAD_BYTES, Served};
pub use limiter::Limiter;
pub use problem::Problem;

/// What all requests share.
type Store = Arc<Collections>;

/// The routes under `/v1`, for those whom `access` admits. The server adds the [`Peer`] to each request.
/// `keys` is the database of Redis clients.
pub fn router(store: Arc<Collections>, keys: Arc<Database>, access: Arc<Access>) -> Router {
    let documents = Router::new()
        .route("/v1/collections", get(collections::list))
        .route(
            "/v1/collections/{collection}",
            get(collections::get).put(collections::put).patch(collections::patch).delete(collections::delete),
        )
        .route("/v1/collections/{collection}/documents", get(documents::list).post(ingest::post))
        .route(
            "/v1/collections/{collection}/documents/{id}",
            get(documents::get).put(documents::put).patch(documents::patch).delete(documents::delete),
        )
        .route("/v1/collections/{collection}/search", get(search::get).post(search::post))
        .route("/v1/status", get(admin::status))
        .route("/v1/compact", post(admin::compact))
        .route("/v1/checkpoint", post(admin::checkpoint))
        .with_state(store);
    let keys = Router::new()
        .route("/v1/keys/{key}", get(keys::get).put(keys::put).delete(keys::delete))
        .with_state(keys);
    documents
        .merge(keys)
        .route("/openapi.json", get(openapi::get))
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(axum::middleware::from_fn_with_state(access, access::guard))
}

/// Does what may wait for a disk on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Problem::internal("the request panicked")))
}
