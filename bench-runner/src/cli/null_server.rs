//! `bench-runner null-server`.

use super::{EXIT_FINE, Global};
use crate::load::null_server::NullServer;
use anyhow::Context;
use std::net::SocketAddr;

/// A server that answers at once: shows the generator's ceiling
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Length of the value that GET is answered by until one has been set
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    value_bytes: u32,
}

/// Carries it out; the exit code is in [`super`]'s list.
pub(super) fn execute(args: Args, _global: &Global) -> anyhow::Result<u8> {
    let mut server = NullServer::bind(args.listen, args.value_bytes as usize)
        .with_context(|| format!("cannot listen on {}; choose another port with --listen", args.listen))?;
    eprintln!("null-server ready: resp tcp {}", server.address()?);
    server.run()?;
    Ok(EXIT_FINE)
}
