//! Problems: an error as `application/problem+json`.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri};
use axum::response::IntoResponse;
use plumbkv_documents::{Error, Kind};

/// An error response: status, short name, and a sentence with a way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    name: &'static str,
    detail: String,
    /// Seconds until the request may succeed.
    retry_after: Option<u64>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, name: &'static str, detail: impl Into<String>) -> Self {
        Self { status, name, detail: detail.into(), retry_after: None }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    pub(crate) fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// There is no such document.
    pub(crate) fn no_document(id: &str, collection: &str) -> Self {
        Self::not_found(format!("no document {id:?} in `{collection}`"))
    }

    /// There is no such key.
    pub(crate) fn no_key(key: &str) -> Self {
        Self::not_found(format!("no key {key:?}"))
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, name) = match error.kind() {
            Kind::Invalid => (StatusCode::BAD_REQUEST, "invalid"),
            Kind::NotFound => (StatusCode::NOT_FOUND, "not-found"),
            Kind::Exists => (StatusCode::CONFLICT, "exists"),
            Kind::Precondition => (StatusCode::PRECONDITION_FAILED, "precondition-failed"),
            Kind::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too-large"),
            Kind::Stale => (StatusCode::GONE, "stale-cursor"),
            Kind::NotReady => (StatusCode::SERVICE_UNAVAILABLE, "not-ready"),
            Kind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "timeout"),
            Kind::NoSpace => (StatusCode::INSUFFICIENT_STORAGE, "no-space"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "storage"),
        };
        let problem = Self::new(status, name, error.to_string());
        if status == StatusCode::SERVICE_UNAVAILABLE { problem.retry_after(1) } else { problem }
    }
}

impl From<plumbkv::Error> for Problem {
    fn from(error: plumbkv::Error) -> Self {
        Error::from(error).into()
    }
}

impl Problem {
    /// The response's body.
    pub(crate) fn body(&self) -> String {
        let title = self.status.canonical_reason().unwrap_or("Error");
        serde_json::json!({
            "type": format!("urn:plumbkv:error:{}", self.name),
            "title": title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        })
        .to_string()
    }

    pub(crate) fn seconds_to_wait(&self) -> Option<u64> {
        self.retry_after
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let mut response = (self.status, self.body()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

pub(crate) async fn no_such_path(uri: Uri) -> Problem {
    Problem::not_found(format!("no resource {}; the interface is described at /openapi.json", uri.path()))
}

pub(crate) async fn no_such_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("{} has no method {method}; the header Allow lists those it has", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
}
