//! `/openapi.json`: the interface as an OpenAPI 3.1 document, generated from the handlers.

use std::collections::BTreeMap;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, OpenApi, ToSchema};

use crate::problem::Problem;
use crate::{admin, collections, documents, ingest, keys, search};

/// The document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "PlumbKV documents",
        description = "Collections of JSON documents: by key, by filter, and by full text."
    ),
    paths(
        collections::list,
        collections::get,
        collections::put,
        collections::patch,
        collections::delete,
        ingest::post,
        documents::list,
        documents::get,
        documents::put,
        documents::patch,
        documents::delete,
        search::get,
        search::post,
        keys::get,
        keys::put,
        keys::delete,
        admin::status,
        admin::compact,
        admin::checkpoint,
    ),
    components(schemas(ProblemBody))
)]
struct Interface;

pub(crate) async fn get() -> Result<Response, Problem> {
    let json = Interface::openapi().to_json().map_err(|error| Problem::internal(error.to_string()))?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// A set of problem responses, for the handlers' lists.
macro_rules! problems {
    ($($(#[$about:meta])* $name:ident: $($status:literal $description:literal),+;)+) => {$(
        $(#[$about])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
                [$(problem_response($status, $description)),+].into()
            }
        }
    )+};
}

problems! {
    /// Any request.
    Common: "400" "a parameter is not valid", "401" "a token is needed", "403" "the token does not allow it",
        "429" "too many requests";
    /// Requests that name a collection, a document or a key.
    Missing: "404" "there is none";
    /// Writes with a condition.
    Conditional: "412" "the condition does not hold";
    /// Requests with a body.
    Bodied: "413" "the body is too large";
    /// Bodies of several media types.
    Typed: "415" "unsupported media type";
    /// Requests that store.
    Storing: "507" "no room";
    /// Searches.
    Searching: "410" "the cursor is of an earlier schema", "503" "the index is not ready",
        "504" "the version did not become searchable in time";
}

fn problem_response(status: &str, description: &str) -> (String, RefOr<utoipa::openapi::Response>) {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ProblemBody"))).build();
    let response = ResponseBuilder::new().description(description).content("application/problem+json", body);
    (status.to_owned(), RefOr::T(response.build()))
}

/// An error (RFC 9457).
#[derive(Serialize, ToSchema)]
pub(crate) struct ProblemBody {
    /// `urn:plumbkv:error:NAME`.
    r#type: String,
    title: String,
    status: u16,
    /// What happened, and what to do.
    detail: String,
}

/// What a collection indexes.
#[derive(Serialize, ToSchema)]
pub(crate) struct SchemaBody {
    /// The field whose value is a document's id.
    primary: String,
    fields: BTreeMap<String, FieldTypeName>,
    /// Language of text fields: english, french, german, italian, portuguese, russian or spanish.
    language: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "it is described, not built")]
pub(crate) enum FieldTypeName {
    Text,
    Keyword,
    I64,
    U64,
    F64,
    Bool,
    Date,
}

/// A collection and the state of its index.
#[derive(Serialize, ToSchema)]
pub(crate) struct CollectionBody {
    name: String,
    schema: SchemaBody,
    version: u64,
    searchable_version: Option<u64>,
    searchable_documents: u64,
    segments: u64,
    rebuilt_documents: Option<u64>,
    rebuild_reason: Option<String>,
    index_error: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct CollectionsBody {
    collections: Vec<CollectionBody>,
}

/// The version of a write.
#[derive(Serialize, ToSchema)]
pub(crate) struct WrittenBody {
    version: u64,
}

/// What has become of a stream of documents.
#[derive(Serialize, ToSchema)]
pub(crate) struct IngestBody {
    version: u64,
    stored: u64,
    replaced: u64,
    refused: u64,
    /// The first 1,000 of them.
    refusals: Vec<RefusalBody>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct RefusalBody {
    /// Place in the stream, from 1.
    number: u64,
    line: u64,
    id: Option<String>,
    field: Option<String>,
    reason: String,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct HitBody {
    id: String,
    version: u64,
    score: Option<f32>,
    #[schema(value_type = Object)]
    document: serde_json::Value,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct PageBody {
    documents: Vec<HitBody>,
    /// `cursor` of the next page.
    next: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct FacetBody {
    #[schema(value_type = Object)]
    value: serde_json::Value,
    count: u64,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct FoundBody {
    total: u64,
    version: u64,
    hits: Vec<HitBody>,
    next: Option<String>,
    facets: Option<BTreeMap<String, Vec<FacetBody>>>,
}
