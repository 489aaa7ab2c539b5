//! `bench-runner floor`.

use super::{EXIT_FINE, Format, Global};
use crate::floor::{Answers, epoll, http::Http, resp::Resp, uring};
use crate::output::document;
use anyhow::Context;
use clap::ValueEnum;
use std::io;
use std::net::SocketAddr;

/// A server that answers at once: the floor of what any server costs here
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// How bytes come in and go out
    #[arg(long, value_enum, default_value_t = Backend::Epoll)]
    backend: Backend,
    /// What the bytes mean
    #[arg(long, value_enum, default_value_t = Protocol::Resp)]
    protocol: Protocol,
    /// Length of the value that a read is answered by; in RESP until one has been set
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    value_bytes: u32,
    /// Say whether the back end can be used here, and end
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    Epoll,
    #[value(name = "io_uring")]
    IoUring,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Protocol {
    Resp,
    Http,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, global: &Global) -> anyhow::Result<u8> {
    if args.check {
        if args.backend == Backend::IoUring {
            uring::probe()?;
        }
        let version = env!("CARGO_PKG_VERSION");
        println!(
            "{}",
            match global.format {
                Format::Json => document("floor", serde_json::json!({ "version": version })).to_string(),
                _ => format!("bench-runner {version}"),
            }
        );
        return Ok(EXIT_FINE);
    }
    let value_bytes = args.value_bytes as usize;
    match args.protocol {
        Protocol::Resp => serve(&args, Resp::new(value_bytes)),
        Protocol::Http => serve(&args, Http::new(value_bytes)),
    }
}

fn serve<A: Answers>(args: &Args, answers: A) -> anyhow::Result<u8> {
    let bound = || format!("cannot serve on {}; choose another port with --listen", args.listen);
    match args.backend {
        Backend::Epoll => {
            let mut server = epoll::Server::bind(args.listen, answers).with_context(bound)?;
            ready(args, server.address());
            server.run()?;
        }
        Backend::IoUring => {
            uring::probe()?;
            let mut server = uring::Server::bind(args.listen, answers).with_context(bound)?;
            ready(args, server.address());
            server.run()?;
        }
    }
    Ok(EXIT_FINE)
}

fn ready(args: &Args, address: io::Result<SocketAddr>) {
    let protocol = if args.protocol == Protocol::Http { "http" } else { "resp" };
    eprintln!("floor ready: {protocol} tcp {}", address.unwrap_or(args.listen));
}
