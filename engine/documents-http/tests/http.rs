//! The HTTP interface, request by request, without a socket.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use plumbkv_documents::{Collections, Options};
use plumbkv_documents_http::{Access, Peer, router};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const SCHEMA: &str =
    r#"{"primary":"sku","fields":{"title":"text","brand":"keyword","price":"f64","qty":"i64"}}"#;

struct Site {
    router: Router,
    _directory: tempfile::TempDir,
}

struct Answer {
    status: u16,
    headers: axum::http::HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Site {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let collections = Collections::open(Options::new(directory.path())).unwrap();
        let keys = plumbkv::Database::open(plumbkv::Options::memory(8 << 20)).unwrap();
        Self {
            router: router(Arc::new(collections), Arc::new(keys), Arc::new(Access::open())),
            _directory: directory,
        }
    }

    /// With a collection and three documents.
    async fn filled() -> Self {
        let site = Self::new();
        assert_eq!(site.send("PUT", "/v1/collections/shop", &[], SCHEMA).await.status, 201);
        let documents = r#"[{"sku":"a","title":"A red lamp","brand":"acme","price":12.50,"qty":1},
            {"sku":"b/1","title":"A green lamp","brand":"Home Appliances","price":30,"qty":2},
            {"sku":"ü","title":"A chair","brand":"acme","price":5,"other":[1.10]}]"#;
        let answer = site.send("POST", "/v1/collections/shop/documents", &[], documents).await;
        assert_eq!((answer.status, answer.json()["stored"].as_u64()), (200, Some(3)), "{}", answer.text());
        assert_eq!(site.get("/v1/collections/shop/search?limit=0&after=1").await.status, 200);
        site
    }

    async fn send(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request =
            request.extension(Peer([127, 0, 0, 1].into())).body(Body::from(body.to_owned())).unwrap();
        let response: Response<Body> = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    async fn get(&self, uri: &str) -> Answer {
        self.send("GET", uri, &[], "").await
    }
}

#[tokio::test]
async fn a_document_is_stored_read_changed_and_deleted_by_its_id() {
    let site = Site::filled().await;
    let at = "/v1/collections/shop/documents/b%2F1";
    let found = site.get(at).await;
    assert_eq!((found.status, found.header("content-type")), (200, "application/json"));
    assert_eq!(
        found.text(),
        r#"{"sku":"b/1","title":"A green lamp","brand":"Home Appliances","price":30,"qty":2}"#
    );
    let tag = found.header("etag").to_owned();
    assert_eq!(tag, "\"1\"");
    let head = site.send("HEAD", at, &[], "").await;
    assert_eq!((head.status, head.header("etag"), head.body.len()), (200, &*tag, 0));
    assert_eq!(site.send("GET", at, &[("if-none-match", &tag)], "").await.status, 304);
    assert_eq!(site.send("GET", at, &[("if-none-match", "\"7\", W/\"8\"")], "").await.status, 200);

    let changed = r#"{"sku":"b/1","qty":3}"#;
    assert_eq!(site.send("PUT", at, &[("if-match", "\"7\"")], changed).await.status, 412);
    assert_eq!(site.send("PUT", at, &[("if-none-match", "*")], changed).await.status, 412);
    let put = site.send("PUT", at, &[("if-match", &tag)], changed).await;
    assert_eq!((put.status, put.header("etag"), put.json()), (200, "\"2\"", json!({ "version": 2 })));
    assert_eq!(
        site.send("PUT", "/v1/collections/shop/documents/c", &[], changed).await.status,
        400,
        "another id"
    );
    let created = site.send("PUT", "/v1/collections/shop/documents/c", &[], r#"{"sku":"c"}"#).await;
    assert_eq!(created.status, 201);
    let patch = [("content-type", "application/merge-patch+json"), ("if-match", "\"2\"")];
    assert_eq!(site.send("PATCH", at, &patch, r#"{"qty":null,"price":1}"#).await.status, 200);
    assert_eq!(site.get(at).await.text(), r#"{"sku":"b/1","price":1}"#);

    assert_eq!(site.send("DELETE", at, &[("if-match", "\"2\"")], "").await.status, 412);
    assert_eq!(site.send("DELETE", at, &[], "").await.status, 200);
    let gone = site.send("DELETE", at, &[], "").await;
    assert_eq!((gone.status, gone.header("content-type")), (404, "application/problem+json"));
    assert_eq!(site.get(at).await.status, 404);
}

#[tokio::test]
async fn documents_are_listed_and_found() {
    let site = Site::filled().await;
    let page = site.get("/v1/collections/shop/documents?limit=2").await.json();
    assert_eq!((page["documents"][1]["id"].as_str(), page["next"].as_str()), (Some("b/1"), Some("b/1")));
    let page = site.get("/v1/collections/shop/documents?limit=2&cursor=b%2F1").await.json();
    assert_eq!((page["documents"][0]["id"].as_str(), page["next"].as_str()), (Some("ü"), None));

    let uri = "/v1/collections/shop/search?q=lamp&filter=price+%3C+20&facets=brand&fields=sku,price&after=1";
    let found = site.get(uri).await;
    assert_eq!(found.status, 200, "{}", found.text());
    let found = found.json();
    assert_eq!((found["total"].as_u64(), found["hits"][0]["id"].as_str()), (Some(1), Some("a")));
    assert!(found["hits"][0]["score"].as_f64().unwrap() > 0.0);
    assert_eq!(found["hits"][0]["document"], json!({ "sku": "a", "price": 12.5 }));
    assert_eq!(found["facets"]["brand"], json!([{ "value": "acme", "count": 1 }]));

    let request = json!({ "sort": "-price", "limit": 2, "after": 1 });
    let first = site.send("POST", "/v1/collections/shop/search", &[], &request.to_string()).await.json();
    assert_eq!((first["total"].as_u64(), first["hits"][0]["id"].as_str()), (Some(3), Some("b/1")));
    let request = json!({ "sort": "-price", "limit": 2, "cursor": first["next"] });
    let second = site.send("POST", "/v1/collections/shop/search", &[], &request.to_string()).await.json();
    assert_eq!((second["hits"][0]["id"].as_str(), second["next"].is_null()), (Some("ü"), true));
}

#[tokio::test]
async fn a_stream_is_stored_and_each_refused_document_has_its_place() {
    let site = Site::filled().await;
    let at = "/v1/collections/shop/documents";
    let lines = [("content-type", "application/x-ndjson")];
    let body =
        "{\"sku\":\"x\"}\n\n{\"sku\":\"y\",\"qty\":\"1\"}\nnonsense\n{\"title\":\"no id\"}\n{\"sku\":\"z\"}";
    let answer = site.send("POST", at, &lines, body).await;
    assert_eq!(answer.status, 207);
    let answer = answer.json();
    assert_eq!((answer["stored"].as_u64(), answer["refused"].as_u64()), (Some(2), Some(3)));
    let place = |one: &Value| {
        (
            one["number"].as_u64().unwrap(),
            one["line"].as_u64().unwrap(),
            one["id"].clone(),
            one["field"].clone(),
        )
    };
    let places: Vec<_> = answer["refusals"].as_array().unwrap().iter().map(place).collect();
    assert_eq!(
        places,
        [
            (2, 3, json!("y"), json!("qty")),
            (3, 4, Value::Null, Value::Null),
            (4, 5, Value::Null, json!("sku"))
        ]
    );
    let none = site.send("POST", at, &lines, "nonsense").await;
    assert_eq!(none.status, 422);
    let atomic = site.send("POST", "/v1/collections/shop/documents?atomic=true", &lines, body).await;
    assert_eq!((atomic.status, atomic.json()["stored"].as_u64()), (422, Some(0)));

    // Far more than one write takes.
    let many: String =
        (0..25_000).map(|number| format!("{{\"sku\":\"m{number}\",\"qty\":{number}}}\n")).collect();
    let answer = site.send("POST", at, &lines, &many).await;
    let version = answer.json()["version"].as_u64().unwrap();
    assert_eq!((answer.status, answer.json()["stored"].as_u64()), (200, Some(25_000)));
    let found = site
        .get(&format!("/v1/collections/shop/search?filter=qty+%3E%3D+24000&after={version}&limit=0"))
        .await;
    assert_eq!(found.json()["total"].as_u64(), Some(1_000), "{}", found.text());
}

#[tokio::test]
async fn the_interface_is_described() {
    let site = Site::new();
    let described = site.get("/openapi.json").await.json();
    assert_eq!(described["openapi"], "3.1.0");
    let search = &described["paths"]["/v1/collections/{collection}/search"];
    assert!(search["get"]["parameters"].as_array().is_some_and(|all| all.len() == 13), "{search}");
    assert_eq!(described["paths"].as_object().map(serde_json::Map::len), Some(9));
    let delete = &described["paths"]["/v1/collections/{collection}/documents/{id}"]["delete"]["responses"];
    let statuses: Vec<&String> = delete.as_object().unwrap().keys().collect();
    assert_eq!(statuses, ["200", "400", "401", "403", "404", "412", "429", "507"]);
    let body = &delete["412"]["content"]["application/problem+json"]["schema"]["$ref"];
    assert_eq!(body, "#/components/schemas/ProblemBody");
}

#[tokio::test]
async fn a_schema_is_read_changed_and_deleted() {
    let site = Site::filled().await;
    let at = "/v1/collections/shop";
    let described = site.get(at).await.json();
    assert_eq!(
        (&described["name"], &described["schema"]["fields"]["price"]),
        (&json!("shop"), &json!("f64"))
    );
    let patched = site.send("PATCH", at, &[], r#"{"fields":{"other":"f64","qty":null}}"#).await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    let fields = patched.json()["schema"]["fields"].clone();
    assert_eq!(fields, json!({ "brand": "keyword", "other": "f64", "price": "f64", "title": "text" }));
    assert_eq!(site.send("PUT", at, &[], SCHEMA).await.status, 200);
    let all = site.get("/v1/collections").await.json();
    assert_eq!(all["collections"][0]["name"], "shop");
    let status = site.get("/v1/status").await;
    assert_eq!((status.status, &status.json()["can_store"]), (200, &json!(true)));
    assert_eq!(site.send("POST", "/v1/compact", &[], "").await.status, 200);
    assert_eq!(site.send("DELETE", at, &[], "").await.status, 204);
    assert_eq!(site.get(at).await.status, 404);
}

#[tokio::test]
async fn keys_are_bytes_with_a_lifetime() {
    let site = Site::new();
    let at = "/v1/keys/a%2Fb";
    assert_eq!(site.get(at).await.status, 404);
    assert_eq!(site.send("PUT", at, &[], "value\n").await.status, 204);
    let found = site.get(at).await;
    assert_eq!((found.status, &*found.text(), found.header("plumbkv-ttl-ms")), (200, "value\n", ""));
    assert_eq!(site.send("PUT", "/v1/keys/a%2Fb?ttl=100", &[], "").await.status, 204);
    let found = site.get(at).await;
    let left: u64 = found.header("plumbkv-ttl-ms").parse().unwrap();
    assert!(found.body.is_empty() && left > 90_000 && left <= 100_000, "{left}");
    assert_eq!(site.send("PUT", "/v1/keys/a?ttl=0", &[], "").await.status, 400);
    assert_eq!(site.send("PUT", at, &[], &"x".repeat(9 << 20)).await.status, 507);
    assert_eq!(site.send("PUT", at, &[], &"x".repeat((16 << 20) + 1)).await.status, 413);
    assert_eq!(site.send("DELETE", at, &[], "").await.status, 204);
    assert_eq!(site.send("DELETE", at, &[], "").await.status, 404);
}

/// Method, path, headers, body; status, and what the detail says.
type Bad = (&'static str, &'static str, &'static [(&'static str, &'static str)], String, u16, &'static str);

#[tokio::test]
async fn each_bad_request_has_its_status_and_a_way_out() {
    const SHOP: &str = "/v1/collections/shop";
    const DOCUMENTS: &str = "/v1/collections/shop/documents";
    const SEARCH: &str = "/v1/collections/shop/search";
    let site = Site::filled().await;
    let deep = format!("{{\"sku\":\"a\",\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("{{\"sku\":\"a\",\"x\":\"{}\"}}", "x".repeat(3 << 20));
    let none = String::new;
    let cases: Vec<Bad> = vec![
        ("GET", "/v2", &[], none(), 404, "no resource /v2"),
        ("POST", SHOP, &[], none(), 405, "no method POST"),
        ("GET", "/v1/collections/shopp", &[], none(), 404, "did you mean `shop`?"),
        ("PUT", "/v1/collections/a%20b", &[], SCHEMA.to_owned(), 400, "letters, digits"),
        ("PUT", "/v1/collections/..", &[], SCHEMA.to_owned(), 400, "letters, digits"),
        ("PUT", "/v1/collections/a%00b", &[], SCHEMA.to_owned(), 400, "letters, digits"),
        ("PUT", SHOP, &[], r#"{"primary":"id"}"#.to_owned(), 400, "cannot change"),
        ("PUT", SHOP, &[], r#"{"primary":"sku","fields":{"a":"txt"}}"#.to_owned(), 400, "expected one of"),
        ("POST", DOCUMENTS, &[], none(), 422, "empty"),
        ("POST", DOCUMENTS, &[], r#"{"sku":"a","sku":"b"}"#.to_owned(), 422, "there twice"),
        (
            "POST",
            DOCUMENTS,
            &[],
            r#"{"sku":"a","qty":9223372036854775808}"#.to_owned(),
            422,
            "out of the range of i64",
        ),
        ("POST", DOCUMENTS, &[], r#"{"skuu":"a"}"#.to_owned(), 422, "did you mean `skuu`?"),
        ("POST", DOCUMENTS, &[], deep, 422, "deeper than 100"),
        ("POST", DOCUMENTS, &[], long.clone(), 422, "more than 2097152 bytes"),
        ("PUT", "/v1/collections/shop/documents/a", &[], long, 413, "more than 2097152 bytes"),
        ("POST", DOCUMENTS, &[("content-type", "text/plain")], "{}".to_owned(), 415, "application/x-ndjson"),
        ("POST", "/v1/collections/shop/documents?atomic=yes", &[], "{}".to_owned(), 400, "true or false"),
        ("PUT", "/v1/collections/shop/documents/a", &[("if-match", "7")], "{}".to_owned(), 400, "ETag"),
        ("GET", "/v1/collections/shop/documents?limit=0", &[], none(), 400, "1 to 1000"),
        ("GET", "/v1/collections/shop/documents?limt=1", &[], none(), 400, "did you mean `limit`?"),
        ("GET", "/v1/collections/shop/documents/%FF", &[], none(), 400, "UTF-8"),
        ("GET", "/v1/collections/shop/search?filter=prise+%3E+1", &[], none(), 400, "column 1"),
        ("GET", "/v1/collections/shop/search?filter=price+%3E+x", &[], none(), 400, "column 9"),
        ("GET", "/v1/collections/shop/search?q=%22lamp", &[], none(), 400, "closing"),
        ("GET", "/v1/collections/shop/search?limit=1001", &[], none(), 400, "0 to 1000"),
        ("GET", "/v1/collections/shop/search?offset=9999&limit=2", &[], none(), 400, "cursor"),
        ("GET", "/v1/collections/shop/search?q=lamp&cursor=x", &[], none(), 400, "sort"),
        ("GET", "/v1/collections/shop/search?sort=price&cursor=x", &[], none(), 400, "unchanged"),
        ("GET", "/v1/collections/shop/search?sort=title", &[], none(), 400, "keyword"),
        ("GET", "/v1/collections/shop/search?facets=title", &[], none(), 400, "facets"),
        ("GET", "/v1/collections/shop/search?after=999", &[], none(), 400, "not written yet"),
        ("POST", SEARCH, &[], r#"{"qq":"x"}"#.to_owned(), 400, "qq"),
        ("POST", SEARCH, &[], "{".to_owned(), 400, "EOF"),
        ("POST", "/v1/checkpoint", &[], "{}".to_owned(), 400, "directory"),
    ];
    for (method, path, headers, body, status, part) in cases {
        let answer = site.send(method, path, headers, &body).await;
        let text = answer.text();
        assert_eq!(answer.status, status, "{method} {path}: {text}");
        assert!(text.contains(part), "{method} {path}: {text}");
        if status != 422 {
            assert_eq!(answer.header("content-type"), "application/problem+json", "{method} {path}");
            let problem = answer.json();
            assert_eq!(problem["status"], json!(status), "{method} {path}");
            assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{method} {path}");
        }
    }
    let found = site.get("/v1/collections/shop/search?limit=0&after=1").await;
    assert_eq!(
        (found.status, found.json()["total"].as_u64()),
        (StatusCode::OK.as_u16(), Some(3)),
        "nothing changed"
    );
}
