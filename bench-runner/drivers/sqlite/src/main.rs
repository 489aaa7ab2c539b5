//! Drives sqlite with a workload of `bench-runner`.
fn main() {}
