//! `/v1/collections/{c}/documents/{id}`: one document, and listing all by id.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use plumbkv::NonBlocking;
use plumbkv_documents::limits::{MAX_DOCUMENT_BYTES, MAX_LIMIT};
use plumbkv_documents::{Condition, Document, Kind};
use serde_json::json;

use crate::body::{Format, format, whole};
use crate::collections::respond;
use crate::openapi::{Bodied, Common, Conditional, Missing, PageBody, Storing, Typed, WrittenBody};
use crate::parameters::{NoParameters, Parameters};
use crate::path::Named;
use crate::problem::Problem;
use crate::{Store, blocking};

/// Documents of a page, where the request does not say.
const DEFAULT_LIMIT: u64 = 100;

/// An entity tag is the version in quotes.
pub(crate) fn entity_tag(version: u64) -> String {
    format!("\"{version}\"")
}

/// The entity tags in a header; `None` where it is missing.
fn versions(headers: &HeaderMap, name: HeaderName) -> Result<Option<Tags>, Problem> {
    if !headers.contains_key(&name) {
        return Ok(None);
    }
    let mut versions = Vec::new();
    for value in headers.get_all(&name) {
        let text = value.to_str().unwrap_or_default();
        for tag in text.split(',').map(str::trim) {
            if tag == "*" {
                return Ok(Some(Tags::Any));
            }
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            let quoted = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
            let Some(quoted) = quoted else {
                return Err(Problem::invalid(format!(
                    "invalid {name} {tag:?}: expected an ETag of an earlier response, such as \"7\", or *"
                )));
            };
            // A tag that is none of ours matches nothing.
            versions.extend(quoted.parse::<u64>());
        }
    }
    Ok(Some(Tags::Versions(versions)))
}

enum Tags {
    Any,
    Versions(Vec<u64>),
}

/// The condition that the headers of a write make.
fn condition(headers: &HeaderMap) -> Result<Condition, Problem> {
    match (versions(headers, IF_MATCH)?, versions(headers, IF_NONE_MATCH)?) {
        (None, None) => Ok(Condition::None),
        (Some(Tags::Any), None) => Ok(Condition::Present),
        (Some(Tags::Versions(versions)), None) => Ok(Condition::Version(versions)),
        (None, Some(Tags::Any)) => Ok(Condition::Absent),
        _ => Err(Problem::invalid("a write takes If-Match, or If-None-Match: *, and not both")),
    }
}

fn answer(
    document: Option<Document>,
    id: &str,
    collection: &str,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let Some(document) = document else {
        return Err(Problem::no_document(id, collection));
    };
    let tag = entity_tag(document.version);
    let is_known = match versions(headers, IF_NONE_MATCH)? {
        None => false,
        Some(Tags::Any) => true,
        Some(Tags::Versions(versions)) => versions.contains(&document.version),
    };
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response());
    }
    Ok(([(ETAG, tag), (CONTENT_TYPE, "application/json".to_owned())], document.json).into_response())
}

#[utoipa::path(
    get,
    path = "/v1/collections/{collection}/documents/{id}",
    tag = "documents",
    params(("collection" = String, Path, description = "Name of a collection"),
        ("id" = String, Path, description = "Id of a document")),
    responses(
        (status = 200, description = "The document as it was received", body = Object),
        (status = 304, description = "Not modified"),
        Common, Missing
    )
)]
pub(crate) async fn get(
    State(store): State<Store>,
    Named((name, id)): Named<(String, String)>,
    _: NoParameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let collection = store.get(&name)?;
    // Most documents are in memory; only one that is not is read on another thread.
    let at_once = {
        let _thread_serves_others = NonBlocking::begin();
        collection.get(&id)
    };
    let document = match at_once {
        Err(error) if error.kind() == Kind::WouldBlock => {
            let id = id.clone();
            blocking(move || Ok(collection.get(&id)?)).await?
        }
        other => other?,
    };
    answer(document, &id, &name, &headers)
}

#[utoipa::path(
    put,
    path = "/v1/collections/{collection}/documents/{id}",
    tag = "documents",
    params(("collection" = String, Path, description = "Name of a collection"),
        ("id" = String, Path, description = "Id of a document")),
    request_body = Object,
    responses(
        (status = 200, description = "Replaced", body = WrittenBody),
        (status = 201, description = "Created", body = WrittenBody),
        Common, Missing, Conditional, Bodied, Typed, Storing
    )
)]
pub(crate) async fn put(
    State(store): State<Store>,
    Named((name, id)): Named<(String, String)>,
    _: NoParameters,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let condition = condition(&headers)?;
    expect_json(&headers)?;
    let json = whole(body, MAX_DOCUMENT_BYTES).await?;
    blocking(move || {
        let put = store.get(&name)?.put_if(&json, Some(&id), &condition)?;
        let status = if put.replaced > 0 { StatusCode::OK } else { StatusCode::CREATED };
        Ok(written(status, put.version))
    })
    .await
}

#[utoipa::path(
    patch,
    path = "/v1/collections/{collection}/documents/{id}",
    tag = "documents",
    params(("collection" = String, Path, description = "Name of a collection"),
        ("id" = String, Path, description = "Id of a document")),
    request_body(content = Object, content_type = "application/merge-patch+json"),
    responses(
        (status = 200, description = "Changed", body = WrittenBody),
        Common, Missing, Conditional, Bodied, Typed, Storing
    )
)]
pub(crate) async fn patch(
    State(store): State<Store>,
    Named((name, id)): Named<(String, String)>,
    _: NoParameters,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let condition = condition(&headers)?;
    expect_json(&headers)?;
    let patch = whole(body, MAX_DOCUMENT_BYTES).await?;
    blocking(move || {
        let put = store.get(&name)?.patch(&id, &patch, &condition)?;
        Ok(written(StatusCode::OK, put.version))
    })
    .await
}

#[utoipa::path(
    delete,
    path = "/v1/collections/{collection}/documents/{id}",
    tag = "documents",
    params(("collection" = String, Path, description = "Name of a collection"),
        ("id" = String, Path, description = "Id of a document")),
    responses(
        (status = 200, description = "Deleted", body = WrittenBody),
        Common, Missing, Conditional, Storing
    )
)]
pub(crate) async fn delete(
    State(store): State<Store>,
    Named((name, id)): Named<(String, String)>,
    _: NoParameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let condition = condition(&headers)?;
    blocking(move || {
        let deleted = store.get(&name)?.delete(&id, &condition)?;
        if !deleted.existed {
            return Err(Problem::no_document(&id, &name));
        }
        Ok(respond(StatusCode::OK, &json!({ "version": deleted.version })))
    })
    .await
}

fn expect_json(headers: &HeaderMap) -> Result<(), Problem> {
    match format(headers)? {
        Format::Json => Ok(()),
        Format::Lines => {
            Err(Problem::invalid("one document is application/json; POST several to …/documents"))
        }
    }
}

fn written(status: StatusCode, version: u64) -> Response {
    let response = respond(status, &json!({ "version": version }));
    ([(ETAG, entity_tag(version))], response).into_response()
}

/// Lists documents by id: `?limit=100&cursor=LAST_ID`.
#[utoipa::path(
    get,
    path = "/v1/collections/{collection}/documents",
    tag = "documents",
    params(("collection" = String, Path, description = "Name of a collection"),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 1000, description = "Documents of the page"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before")),
    responses(
        (status = 200, description = "Documents by id", body = PageBody),
        Common, Missing
    )
)]
pub(crate) async fn list(
    State(store): State<Store>,
    Named(name): Named<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let parameters = Parameters::parse(&uri, &["limit", "cursor"])?;
    let limit = parameters.number("limit")?.unwrap_or(DEFAULT_LIMIT);
    let limit = usize::try_from(limit).unwrap_or(MAX_LIMIT + 1);
    let after = parameters.text("cursor").map(str::to_owned);
    blocking(move || {
        let page = store.get(&name)?.list(after.as_deref(), limit)?;
        let mut out = b"{\"documents\":[".to_vec();
        for (number, document) in page.documents.iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            push_hit(&mut out, &document.id, document.version, None, &document.json);
        }
        out.extend_from_slice(format!("],\"next\":{}}}", json!(page.next)).as_bytes());
        Ok(([(CONTENT_TYPE, "application/json")], out).into_response())
    })
    .await
}

/// Appends a document with its id and version; the document's bytes stay as they are.
pub(crate) fn push_hit(out: &mut Vec<u8>, id: &str, version: u64, score: Option<f32>, json: &[u8]) {
    out.extend_from_slice(format!("{{\"id\":{},\"version\":{version}", json!(id)).as_bytes());
    if let Some(score) = score {
        out.extend_from_slice(format!(",\"score\":{}", json!(score)).as_bytes());
    }
    out.extend_from_slice(b",\"document\":");
    out.extend_from_slice(json);
    out.push(b'}');
}
