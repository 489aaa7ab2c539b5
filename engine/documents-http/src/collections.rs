//! `/v1/collections`: schemas.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use plumbkv_documents::{Collection, Kind, Schema};
use serde_json::{Value, json};

use crate::body::whole;
use crate::openapi::{CollectionBody, CollectionsBody, ProblemBody, SchemaBody};
use crate::parameters::Parameters;
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
        (status = 400, description = "invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "a token is needed", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "the token does not allow it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "too many requests", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(crate) async fn list(State(store): State<Store>, uri: Uri) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
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
        (status = 400, description = "invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "a token is needed", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "the token does not allow it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "not found", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "too many requests", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(crate) async fn get(
    State(store): State<Store>,
    Named(name): Named<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
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
        (status = 400, description = "invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "a token is needed", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "the token does not allow it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "too many requests", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "no room", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(crate) async fn put(
    State(store): State<Store>,
    Named(name): Named<String>,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
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
        (status = 400, description = "invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "a token is needed", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "the token does not allow it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "not found", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "too many requests", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "no room", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(crate) async fn patch(
    State(store): State<Store>,
    Named(name): Named<String>,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    let bytes = whole(body, MAX_SCHEMA_BYTES).await?;
    let patch: Value =
        serde_json::from_slice(&bytes).map_err(|error| Problem::invalid(format!("invalid JSON: {error}")))?;
    blocking(move || {
        let before = store.get(&name)?.schema();
        let mut schema =
            serde_json::to_value(before).map_err(|error| Problem::internal(error.to_string()))?;
        merge(&mut schema, patch);
        store.change(&name, Schema::parse(schema.to_string().as_bytes())?)?;
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
        (status = 400, description = "invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "a token is needed", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "the token does not allow it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "not found", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "too many requests", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "no room", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(crate) async fn delete(
    State(store): State<Store>,
    Named(name): Named<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    Parameters::parse(&uri, &[])?;
    blocking(move || {
        store.delete(&name)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

/// RFC 7396.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(members) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(object) = target.as_object_mut() else { return };
    for (name, value) in members {
        if value.is_null() {
            object.shift_remove(&name);
        } else {
            merge(object.entry(name).or_insert(Value::Null), value);
        }
    }
}
