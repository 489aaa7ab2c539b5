//! Which bytes is a key, and which bytes must its value have? The same for sockets and for embedded engines.

pub use plumbkv_bench_driver::values::*;
