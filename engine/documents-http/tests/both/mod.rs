//! Both lanes to the same documents and keys.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

use std::net::IpAddr;
use std::sync::Arc;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use plumbkv::Database;
use plumbkv_documents::{Collections, Options, Schema};
use plumbkv_documents_http::{Access, Lane, Peer, Served, router};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub(crate) const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

pub(crate) struct Both {
    lane: Lane,
    keys: Arc<Database>,
    router: Router,
    runtime: tokio::runtime::Runtime,
    _directory: tempfile::TempDir,
}

impl Both {
    pub(crate) fn new(access: Access) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(Collections::open(Options::new(directory.path())).unwrap());
        let schema = Schema::parse(br#"{"primary":"id","fields":{"n":"i64"}}"#).unwrap();
        let shop = store.create("shop", schema).unwrap();
        shop.put(br#"{"id":"a", "n": 1}"#).unwrap();
        shop.put(br#"{"id":"b.c-d_e~f","n":2}"#).unwrap();
        let keys = Arc::new(Database::open(plumbkv::Options::memory(8 << 20)).unwrap());
        keys.set(b"k", b"value").unwrap();
        keys.set(b"empty", b"").unwrap();
        let access = Arc::new(access);
        let lane = Lane::new(Some(Arc::clone(&store)), Arc::clone(&access));
        let router = router(Some(store), Arc::clone(&keys) as _, access).layer(Extension(Peer(PEER)));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { lane, keys, router, runtime, _directory: directory }
    }

    pub(crate) fn by_lane(&self, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.lane.serve(&*self.keys, bytes, PEER, out)
    }

    /// What hyper sends for these bytes, until it closes or has nothing more to say.
    pub(crate) fn by_hyper(&self, bytes: &[u8]) -> Vec<u8> {
        self.runtime.block_on(async {
            let (mut client, server) = tokio::io::duplex(1 << 20);
            let service = TowerToHyperService::new(self.router.clone());
            let connection =
                http1::Builder::new().half_close(true).serve_connection(TokioIo::new(server), service);
            let serving = tokio::spawn(async move { drop(connection.await) });
            client.write_all(bytes).await.unwrap();
            client.shutdown().await.unwrap();
            let mut out = Vec::new();
            client.read_to_end(&mut out).await.unwrap();
            serving.await.unwrap();
            out
        })
    }
}

/// Without the value of `date`, and the end of the connection that only the test's own shutdown causes.
pub(crate) fn normal(response: &[u8]) -> String {
    let text = String::from_utf8_lossy(response).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let lines: Vec<&str> = head
        .split("\r\n")
        .filter(|line| *line != "connection: close")
        .map(|line| if line.starts_with("date: ") { "date" } else { line })
        .collect();
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}
