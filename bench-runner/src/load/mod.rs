//! Load: which requests are sent, whether each reply is right, and how long it took.
//!
//! Closed loop on threads and non-blocking sockets: a connection sends its next requests when all of the last
//! ones are answered. Response times are from the send, so they say nothing of latency at a stated rate.

pub mod client;
pub mod generator;
pub mod recorder;
pub mod reply;
pub mod request;
pub mod values;
