//! Does the real binary behave on real sockets? Each test starts its own server on a free port.
//!
//! One test binary with a module per subject, so that it links once.

// All of this is test code; clippy only exempts functions that carry `#[test]` themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod acl;
mod backpressure;
mod blocking;
mod cap;
mod cli;
mod client;
mod cold;
mod commands;
mod configuration;
mod connections;
mod cpu_stalls;
mod databases;
mod differential;
mod documents;
mod durable;
mod expiry;
mod faults;
mod http;
mod log;
mod memory;
mod monitor;
mod pause;
mod process;
mod protocol;
mod random;
mod redis_crate;
mod resp3;
mod restart;
mod scheduling;
mod scripts;
mod server;
mod tls;
mod tools;
mod tracking;
mod transactions;
