//! Drives fjall with a workload of `bench-runner`.
fn main() {}
