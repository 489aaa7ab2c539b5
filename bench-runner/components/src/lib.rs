//! How fast are the parts of the durable store? `cargo bench -p plumbkv-components` says; there is nothing else here.
