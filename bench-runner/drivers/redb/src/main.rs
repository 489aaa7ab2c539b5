//! Drives redb with a workload of `bench-runner`.
fn main() {}
