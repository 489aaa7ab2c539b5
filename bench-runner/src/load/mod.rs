//! Load: which requests are sent, whether each reply is right, and how long it took.
//!
//! Threads and non-blocking sockets. In a closed loop a connection sends its next requests when all of the last ones
//! are answered: response times are from the send, and say nothing of latency at a stated rate. In an open loop
//! requests are due at times of a schedule, and latency is from the intended start.

pub mod address;
mod answered;
pub mod arrivals;
pub mod client;
mod connection;
pub mod draw;
mod fresh;
#[cfg(test)]
mod fresh_test;
pub mod generator;
#[cfg(test)]
mod generator_test;
mod held;
pub mod http;
pub mod length;
pub mod memcached;
mod open;
mod permit;
mod poller;
pub mod read_back;
pub mod recorder;
pub mod reply;
pub mod request;
pub mod resp;
pub mod stream;
#[cfg(test)]
mod test_server;
mod turning;
pub mod values;
mod worker;
pub mod written;
