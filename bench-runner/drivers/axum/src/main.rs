//! A constant answer from axum.
fn main() {}
