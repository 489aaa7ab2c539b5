//! `/v1/keys/{key}`: the keys that Redis clients see, as bytes.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use plumbkv::{Database, Expiry, Lifetime, SetOptions};

use crate::blocking;
use crate::body::whole;
use crate::openapi::{Bodied, Common, Missing, Storing};
use crate::parameters::{NoParameters, Parameters};
use crate::path::Named;
use crate::problem::Problem;

/// Bytes of a value that is sent over HTTP.
const MAX_VALUE_BYTES: usize = 16 << 20;
/// Milliseconds that a key has left; absent where it stays.
const TTL: HeaderName = HeaderName::from_static("plumbkv-ttl-ms");

/// The database of the keys.
pub(crate) type Keys = Arc<Database>;

#[utoipa::path(
    get,
    path = "/v1/keys/{key}",
    tag = "keys",
    params(("key" = String, Path, description = "A key")),
    responses(
        (status = 200, description = "The value", body = Vec<u8>, content_type = "application/octet-stream"),
        Common, Missing
    )
)]
pub(crate) async fn get(
    State(keys): State<Keys>,
    Named(key): Named<String>,
    _: NoParameters,
) -> Result<Response, Problem> {
    blocking(move || {
        let Some(value) = keys.get(key.as_bytes())? else { return Err(Problem::no_key(&key)) };
        let mut response = ([(CONTENT_TYPE, "application/octet-stream")], value).into_response();
        if let Lifetime::Until(at) = keys.expiry(key.as_bytes())? {
            response.headers_mut().insert(TTL, at.saturating_sub(keys.now_ms()).into());
        }
        Ok(response)
    })
    .await
}

/// Stores a value: `?ttl=SECONDS` lets it end.
#[utoipa::path(
    put,
    path = "/v1/keys/{key}",
    tag = "keys",
    params(("key" = String, Path, description = "A key"),
        ("ttl" = Option<u64>, Query, minimum = 1, description = "Seconds until it ends")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 204, description = "Stored"),
        Common, Bodied, Storing
    )
)]
pub(crate) async fn put(
    State(keys): State<Keys>,
    Named(key): Named<String>,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    let seconds = Parameters::parse(&uri, &["ttl"])?.number("ttl")?;
    if seconds == Some(0) {
        return Err(Problem::invalid("invalid ttl 0: expected seconds from 1 on; DELETE removes a key"));
    }
    let value = whole(body, MAX_VALUE_BYTES).await?;
    blocking(move || {
        let expiry = match seconds {
            None => Expiry::Clear,
            Some(seconds) => {
                let ms = u64::try_from(Duration::from_secs(seconds).as_millis()).unwrap_or(u64::MAX);
                Expiry::At(keys.now_ms().saturating_add(ms))
            }
        };
        keys.set_with(key.as_bytes(), &value, SetOptions::new().expiry(expiry))?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

#[utoipa::path(
    delete,
    path = "/v1/keys/{key}",
    tag = "keys",
    params(("key" = String, Path, description = "A key")),
    responses(
        (status = 204, description = "Deleted"),
        Common, Missing
    )
)]
pub(crate) async fn delete(
    State(keys): State<Keys>,
    Named(key): Named<String>,
    _: NoParameters,
) -> Result<Response, Problem> {
    blocking(move || match keys.delete(key.as_bytes())? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(Problem::no_key(&key)),
    })
    .await
}
