//! The gate's file of a small server, the runner's own floor under another name: how it is started, and one load. The lines
//! before it, `subject` and `[build]`, are each test's own.

const GATED: &str = r#"
[trial]
warmup_s = 0.02
seconds = 0.05
min_operations = 100

[target.own]
title = "own {version}"
role = "ceiling"
transport = "socket"
durability = "volatile"
binary = "own"
args = ["--listen", "{host}:{port}"]
version = { args = ["--version"], after = "bench-runner " }
allocator = { text = "none" }

[[load]]
operation = "get"
value_bytes = [64]
clients = [4]
pipeline = [4]
keys = 100
"#;

/// The whole file, behind `head`.
pub(crate) fn gated(head: &str) -> String {
    format!("{head}{GATED}")
}
