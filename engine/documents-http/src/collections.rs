//! `/v1/collections`: schemas.

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use plumbkv_documents::{Collection, Kind, Schema, merge_patch};
use serde_json::{Value, json};

use crate::body::whole;
use crate::openapi::{Bodied, CollectionBody, CollectionsBody, Common, Missing, SchemaBody, Storing};
use crate::parameters::NoParameters;
use crate::path::Named;
use crate::problem::Problem;
use crate::{Store, blocking};

/// Bytes of a schema.
const MAX_SCHEMA_BYTES: usize = 64 << 10;

fn described(collection: &Collection) -> Value {
    let status = collection.status();
    json!({
        "name": collection.name(),
        "schema": collection.schema(),
        "version": status.version,
        "searchable_version": status.searchable_version,
        "searchable_documents": status.searchable_documents,
        "segments": status.segments,
        "rebuilt_documents": status.rebuilt_documents,
        "rebuild_reason": status.rebuild_reason,
        "index_error": status.index_error,
    })
}

pub(crate) fn respond(status: StatusCode, value: &Value) -> Response {
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

#[utoipa::path(
    get,
    path = "/v1/collections",
    tag = "collections",
    responses(
        (status = 200, description = "All collections", body = CollectionsBody),
        Common
    )
)]
pub(crate) async fn list(State(store): State<Store>, _: NoParameters) -> Result<Response, Problem> {
    let all: Vec<Value> =
        store.names().iter().filter_map(|name| store.get(name).ok()).map(|one| described(&one)).collect();
    Ok(respond(StatusCode::OK, &json!({ "collections": all })))
}

#[utoipa::path(
    get,
    path = "/v1/collections/{collection}",
    tag = "collections",
    params(("collection" = String, Path, description = "Name of a collection")),
    responses(
        (status = 200, description = "The collection", body = CollectionBody),
        Common, Missing
    )
)]
pub(crate) async fn get(
    State(store): State<Store>,
    Named(name): Named<String>,
    _: NoParameters,
) -> Result<Response, Problem> {
    Ok(respond(StatusCode::OK, &described(&*store.get(&name)?)))
}

/// Creates a collection, or changes the schema of one.
#[utoipa::path(
    put,
    path = "/v1/collections/{collection}",
    tag = "collections",
    params(("collection" = String, Path, description = "Name of a collection")),
    request_body = SchemaBody,
    responses(
        (status = 200, description = "Changed", body = CollectionBody),
        (status = 201, description = "Created", body = CollectionBody),
        Common, Bodied, Storing
    )
)]
pub(crate) async fn put(
    State(store): State<Store>,
    Named(name): Named<String>,
    _: NoParameters,
    body: Body,
) -> Result<Response, Problem> {
    let schema = Schema::parse(&whole(body, MAX_SCHEMA_BYTES).await?)?;
    blocking(move || match store.create(&name, schema.clone()) {
        Ok(collection) => {
            let response = respond(StatusCode::CREATED, &described(&collection));
            Ok(([(LOCATION, format!("/v1/collections/{name}"))], response).into_response())
        }
        Err(error) if error.kind() == Kind::Exists => {
            store.change(&name, schema)?;
            Ok(respond(StatusCode::OK, &described(&*store.get(&name)?)))
        }
        Err(error) => Err(error.into()),
    })
    .await
}

/// Changes a schema by a merge patch: `{"fields": {"colour": "keyword", "size": null}}`.
#[utoipa::path(
    patch,
    path = "/v1/collections/{collection}",
    tag = "collections",
    params(("collection" = String, Path, description = "Name of a collection")),
    request_body(content = Object, content_type = "application/merge-patch+json"),
    responses(
        (status = 200, description = "Changed", body = CollectionBody),
        Common, Missing, Bodied, Storing
    )
)]
pub(crate) async fn patch(
    State(store): State<Store>,
    Named(name): Named<String>,
    _: NoParameters,
    body: Body,
) -> Result<Response, Problem> {
    let patch = whole(body, MAX_SCHEMA_BYTES).await?;
    blocking(move || {
        let before = serde_json::to_vec(&store.get(&name)?.schema());
        let before = before.map_err(|error| Problem::internal(error.to_string()))?;
        store.change(&name, Schema::parse(&merge_patch(&before, &patch)?)?)?;
        Ok(respond(StatusCode::OK, &described(&*store.get(&name)?)))
    })
    .await
}

#[utoipa::path(
    delete,
    path = "/v1/collections/{collection}",
    tag = "collections",
    params(("collection" = String, Path, description = "Name of a collection")),
    responses(
        (status = 204, description = "Deleted"),
        Common, Missing, Storing
    )
)]
pub(crate) async fn delete(
    State(store): State<Store>,
    Named(name): Named<String>,
    _: NoParameters,
) -> Result<Response, Problem> {
    blocking(move || {
        store.delete(&name)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}
