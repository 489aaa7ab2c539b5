//! `/v1/keys/{key}`: the keys that Redis clients see, as bytes.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use plumbkv::{Database, Expiry, Lifetime, SetOptions};

use crate::access::Peer;
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

/// The keys of Redis clients, with what a server does beside reading and writing them.
pub trait Keys: Send + Sync {
    /// Whether keys are served to this address at all, where there are no tokens.
    ///
    /// # Errors
    /// Why they are not.
    fn admit(&self, _peer: IpAddr) -> Result<(), Problem> {
        Ok(())
    }

    /// Calls `f` with the value of a key and the milliseconds that it has left, if it ends; false where
    /// there is no such key.
    ///
    /// # Errors
    /// The store's.
    fn read(&self, key: &[u8], f: &mut dyn FnMut(&[u8], Option<u64>)) -> plumbkv::Result<bool>;

    /// Stores a value, for so many milliseconds or for good.
    ///
    /// # Errors
    /// The store's.
    fn set(&self, key: &[u8], value: &[u8], ttl_ms: Option<u64>) -> plumbkv::Result<()>;

    /// Deletes a key; false where there is none.
    ///
    /// # Errors
    /// The store's.
    fn delete(&self, key: &[u8]) -> plumbkv::Result<bool>;
}

impl Keys for Database {
    fn read(&self, key: &[u8], f: &mut dyn FnMut(&[u8], Option<u64>)) -> plumbkv::Result<bool> {
        let left_ms = match self.expiry(key)? {
            Lifetime::Until(at) => Some(at.saturating_sub(self.now_ms())),
            _ => None,
        };
        Ok(Database::read(self, key, |value| f(value, left_ms))?.is_some())
    }

    fn set(&self, key: &[u8], value: &[u8], ttl_ms: Option<u64>) -> plumbkv::Result<()> {
        let expiry = ttl_ms.map_or(Expiry::Clear, |ms| Expiry::At(self.now_ms().saturating_add(ms)));
        self.set_with(key, value, SetOptions::new().expiry(expiry)).map(drop)
    }

    fn delete(&self, key: &[u8]) -> plumbkv::Result<bool> {
        Database::delete(self, key)
    }
}

/// The address of a connection. One that the server does not tell is treated as the least trusted.
fn address(peer: Option<Extension<Peer>>) -> IpAddr {
    peer.map_or(IpAddr::from([0, 0, 0, 0]), |Extension(peer)| peer.0)
}

/// Keys as handlers share them.
pub(crate) type SharedKeys = Arc<dyn Keys>;

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
    State(keys): State<SharedKeys>,
    Named(key): Named<String>,
    peer: Option<Extension<Peer>>,
    _: NoParameters,
) -> Result<Response, Problem> {
    keys.admit(address(peer))?;
    blocking(move || {
        let mut found = None;
        keys.read(key.as_bytes(), &mut |value, left_ms| found = Some((value.to_vec(), left_ms)))?;
        let Some((value, left_ms)) = found else { return Err(Problem::no_key(&key)) };
        let mut response = ([(CONTENT_TYPE, "application/octet-stream")], value).into_response();
        if let Some(left_ms) = left_ms {
            response.headers_mut().insert(TTL, left_ms.into());
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
    State(keys): State<SharedKeys>,
    Named(key): Named<String>,
    peer: Option<Extension<Peer>>,
    uri: Uri,
    body: Body,
) -> Result<Response, Problem> {
    keys.admit(address(peer))?;
    let seconds = Parameters::parse(&uri, &["ttl"])?.number("ttl")?;
    if seconds == Some(0) {
        return Err(Problem::invalid("invalid ttl 0: expected seconds from 1 on; DELETE removes a key"));
    }
    let value = whole(body, MAX_VALUE_BYTES).await?;
    blocking(move || {
        keys.set(key.as_bytes(), &value, seconds.map(|seconds: u64| seconds.saturating_mul(1000)))?;
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
    State(keys): State<SharedKeys>,
    Named(key): Named<String>,
    peer: Option<Extension<Peer>>,
    _: NoParameters,
) -> Result<Response, Problem> {
    keys.admit(address(peer))?;
    blocking(move || match keys.delete(key.as_bytes())? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(Problem::no_key(&key)),
    })
    .await
}
