//! Names in the path: percent-decoded, with a problem where that fails.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// The parameters of a path, as [`Path`], but for the error.
pub(crate) struct Named<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = Path::<T>::from_request_parts(parts, state).await;
        let Path(value) =
            named.map_err(|rejection| Problem::invalid(format!("the path: {}", rejection.body_text())))?;
        Ok(Self(value))
    }
}
