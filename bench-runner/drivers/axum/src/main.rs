//! A constant answer from axum: what does a widely used HTTP framework cost that has nothing to look up?
//!
//! One thread, every path answered by the same bytes of the planned length, connections kept.

use anyhow::Context;
use axum::Router;
use axum::http::header::CONTENT_TYPE;

const USAGE: &str = "usage: plumbkv-driver-axum --listen HOST:PORT --value-bytes N | --version";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (address, value_bytes) = match words.as_slice() {
        ["--version"] => {
            println!("axum {}", env!("AXUM_VERSION"));
            return Ok(());
        }
        ["--listen", address, "--value-bytes", bytes] => {
            (*address, bytes.parse::<usize>().with_context(|| format!("{bytes} is no number; {USAGE}"))?)
        }
        _ => anyhow::bail!("{USAGE}"),
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(address, value_bytes))
}

async fn serve(address: &str, value_bytes: usize) -> anyhow::Result<()> {
    // Static, so that an answer is a reference and no copy.
    let body: &'static [u8] = Box::leak(vec![b'x'; value_bytes].into_boxed_slice());
    let answer = move || async move { ([(CONTENT_TYPE, "application/octet-stream")], body) };
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))?;
    eprintln!("ready: http tcp {}", listener.local_addr()?);
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // Without it a second answer waits for the acknowledgement of the first.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().fallback(answer)).await?;
    Ok(())
}
