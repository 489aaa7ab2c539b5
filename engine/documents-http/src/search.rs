//! `GET` and `POST /v1/collections/{c}/search`: parameters of the query string, or members of a JSON object.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use plumbkv_documents::{Found, Search, Wait};
use serde::Deserialize;
use serde_json::json;

use crate::body::whole;
use crate::documents::push_hit;
use crate::openapi::{Bodied, Common, FoundBody, Missing, Searching};
use crate::parameters::{NoParameters, Parameters};
use crate::path::Named;
use crate::problem::Problem;
use crate::{Store, blocking};

/// Bytes of a search's body.
const MAX_SEARCH_BYTES: usize = 64 << 10;
/// Values of a facet, where the request does not say.
const DEFAULT_FACET_VALUES: usize = 10;
/// Waiting for a version, where the request does not say.
const DEFAULT_TIMEOUT_MS: u64 = 10_000;
/// Waiting for a version at most.
const MAX_TIMEOUT_MS: u64 = 60_000;

const PARAMETERS: &[&str] = &[
    "q", "in", "any", "filter", "sort", "limit", "offset", "cursor", "fields", "facets", "after", "timeout",
];

/// The body of a `POST`.
#[derive(Deserialize, Default, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Request {
    q: String,
    #[serde(rename = "in")]
    in_fields: Vec<String>,
    any: bool,
    filter: Option<String>,
    sort: Option<String>,
    limit: Option<usize>,
    offset: usize,
    cursor: Option<String>,
    fields: Vec<String>,
    /// `brand`, or `brand:20` for up to 20 values.
    facets: Vec<String>,
    after: Option<u64>,
    /// Milliseconds.
    timeout: Option<u64>,
}

impl Request {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Problem> {
        let text = |name: &str| parameters.text(name).map(str::to_owned);
        let size = |name: &str| {
            let number = parameters.number(name)?;
            Ok::<_, Problem>(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
        };
        Ok(Self {
            q: text("q").unwrap_or_default(),
            in_fields: parameters.list("in"),
            any: parameters.flag("any")?,
            filter: text("filter"),
            sort: text("sort"),
            limit: size("limit")?,
            offset: size("offset")?.unwrap_or(0),
            cursor: text("cursor"),
            fields: parameters.list("fields"),
            facets: parameters.list("facets"),
            after: parameters.number("after")?,
            timeout: parameters.number("timeout")?,
        })
    }

    fn into_search(self) -> Result<Search, Problem> {
        let timeout = self.timeout.unwrap_or(DEFAULT_TIMEOUT_MS);
        if timeout > MAX_TIMEOUT_MS {
            return Err(Problem::invalid(format!(
                "invalid timeout {timeout}: expected 0 to {MAX_TIMEOUT_MS} ms"
            )));
        }
        let facet = |text: &String| match text.split_once(':') {
            None => Ok((text.clone(), DEFAULT_FACET_VALUES)),
            Some((name, most)) => most.parse().map(|most| (name.to_owned(), most)).map_err(|_| {
                Problem::invalid(format!("invalid facet {text:?}: expected a field, or field:count"))
            }),
        };
        let defaults = Search::default();
        Ok(Search {
            words: self.q,
            in_fields: self.in_fields,
            any_word: self.any,
            filter: self.filter,
            sort: self.sort,
            limit: self.limit.unwrap_or(defaults.limit),
            offset: self.offset,
            cursor: self.cursor,
            facets: self.facets.iter().map(facet).collect::<Result<_, _>>()?,
            fields: self.fields,
            after: self.after.map(|version| Wait { version, timeout: Duration::from_millis(timeout) }),
        })
    }
}

#[utoipa::path(
    get,
    path = "/v1/collections/{collection}/search",
    tag = "search",
    params(("collection" = String, Path, description = "Name of a collection"),
        ("q" = Option<String>, Query, description = "Words, \"phrases\" and -excluded words"),
        ("in" = Option<String>, Query, description = "Text fields, separated by commas"),
        ("any" = Option<bool>, Query, description = "One of the words is enough"),
        ("filter" = Option<String>, Query, description = "For example `price < 20 AND brand IN [a, b]`"),
        ("sort" = Option<String>, Query, description = "For example `-date,price`"),
        ("limit" = Option<u64>, Query, description = "Hits of the page, up to 1,000"),
        ("offset" = Option<u64>, Query, description = "Hits before the page"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("fields" = Option<String>, Query, description = "Members that hits return"),
        ("facets" = Option<String>, Query, description = "Fields whose values are counted: `brand:20,tags`"),
        ("after" = Option<u64>, Query, description = "Waits until this version is searchable"),
        ("timeout" = Option<u64>, Query, description = "Milliseconds to wait")),
    responses(
        (status = 200, description = "A page of hits", body = FoundBody),
        Common, Missing, Searching
    )
)]
pub(crate) async fn get(
    State(store): State<Store>,
    Named(name): Named<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let request = Request::from_parameters(&Parameters::parse(&uri, PARAMETERS)?)?;
    run(store, name, request).await
}

#[utoipa::path(
    post,
    path = "/v1/collections/{collection}/search",
    tag = "search",
    params(("collection" = String, Path, description = "Name of a collection")),
    request_body = Request,
    responses(
        (status = 200, description = "A page of hits", body = FoundBody),
        Common, Missing, Bodied, Searching
    )
)]
pub(crate) async fn post(
    State(store): State<Store>,
    Named(name): Named<String>,
    _: NoParameters,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = whole(body, MAX_SEARCH_BYTES).await?;
    let request = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::invalid(format!("invalid search: {error}; members are {}", PARAMETERS.join(", ")))
    })?;
    run(store, name, request).await
}

async fn run(store: Store, name: String, request: Request) -> Result<Response, Problem> {
    let search = request.into_search()?;
    blocking(move || {
        let collection = store.get(&name)?;
        let found = collection.search(&search)?;
        Ok(([(CONTENT_TYPE, "application/json")], composed(&found, &search)).into_response())
    })
    .await
}

fn composed(found: &Found, search: &Search) -> Vec<u8> {
    let mut out =
        format!("{{\"total\":{},\"version\":{},\"hits\":[", found.total, found.version).into_bytes();
    for (number, hit) in found.hits.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        push_hit(&mut out, &hit.id, hit.version, hit.score, &hit.json);
    }
    out.extend_from_slice(format!("],\"next\":{}", json!(found.next)).as_bytes());
    if !search.facets.is_empty() {
        out.extend_from_slice(b",\"facets\":{");
        for (number, ((name, _), counts)) in search.facets.iter().zip(&found.facets).enumerate() {
            let values: Vec<String> = counts
                .iter()
                .map(|one| format!("{{\"value\":{},\"count\":{}}}", one.value, one.count))
                .collect();
            let comma = if number > 0 { "," } else { "" };
            out.extend_from_slice(format!("{comma}{}:[{}]", json!(name), values.join(",")).as_bytes());
        }
        out.push(b'}');
    }
    out.push(b'}');
    out
}
