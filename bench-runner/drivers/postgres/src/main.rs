//! Drives postgres with a workload of `bench-runner`.
fn main() {}
