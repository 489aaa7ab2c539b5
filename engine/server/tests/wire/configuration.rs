//! CONFIG REWRITE: what is changed while the server runs is there after its next start.

use std::path::Path;

use crate::server::{Server, is_durable, plumbkv};

fn start(file: &Path, args: &[&str]) -> Server {
    let mut all = vec!["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()];
    all.extend_from_slice(args);
    Server::spawn(plumbkv(&all))
}

#[test]
fn changes_are_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plumbkv.toml");
    std::fs::write(&file, "# The cache.\nmaxclients = 200 # enough\nmemory-limit = \"64mb\"\n").unwrap();
    let mut changes = vec![
        ("maxmemory", "134217728"),
        ("maxclients", "300"),
        ("timeout", "77"),
        ("requirepass", "secret word"),
        ("loglevel", "warning"),
        ("client-output-buffer-limit", "normal 67108864 33554432 20"),
        ("slowlog-log-slower-than", "-1"),
        ("acllog-max-len", "5"),
    ];
    if !is_durable() {
        changes.push(("maxmemory-policy", "volatile-ttl"));
        changes.push(("maxmemory-samples", "9"));
    }
    let server = start(&file, &[]);
    let mut c = server.client();
    for (name, value) in &changes {
        c.check(&format!("CONFIG SET {name} \"{value}\""), b"+OK\r\n");
    }
    c.check("CONFIG REWRITE", b"+OK\r\n");
    let before: Vec<_> = changes.iter().map(|(name, _)| c.ask(&format!("CONFIG GET {name}"))).collect();
    drop(c);
    drop(server);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# The cache.\nmaxclients = 300 # enough\nmemory-limit = 134217728\n"),
        "{text}"
    );
    // The others keep the value that they have without being named.
    assert!(!text.contains("protected-mode") && !text.contains("port"), "{text}");

    // The last change is made only for the log line that says that the server is ready.
    let server = start(&file, &["--log-level", "info"]);
    let mut c = server.client();
    c.check("AUTH \"secret word\"", b"+OK\r\n");
    c.check("CONFIG SET loglevel warning", b"+OK\r\n");
    for ((name, _), before) in changes.iter().zip(before) {
        assert_eq!(c.ask(&format!("CONFIG GET {name}")), before, "{name}");
    }
}

#[test]
fn what_cannot_be_written_says_so_and_changes_nothing() {
    Server::start(&[])
        .client()
        .check("CONFIG REWRITE", b"-ERR The server is running without a config file\r\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plumbkv.toml");
    std::fs::write(&file, "maxclients = 200\n").unwrap();
    let server = start(&file, &[]);
    let mut c = server.client();
    c.check("CONFIG SET timeout 7", b"+OK\r\n");
    // Edited meanwhile, and wrongly.
    std::fs::write(&file, "maxclients = \n").unwrap();
    let reply = c.ask("CONFIG REWRITE");
    assert!(reply.starts_with(b"-ERR Rewriting config file: "), "{}", reply.escape_ascii());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "maxclients = \n");
    std::fs::remove_file(&file).unwrap();
    c.check("CONFIG REWRITE", b"-ERR Rewriting config file: No such file or directory (os error 2)\r\n");
    c.check("PING", b"+PONG\r\n");
    // In a transaction as well.
    std::fs::write(&file, "maxclients = 200\n").unwrap();
    c.check("MULTI", b"+OK\r\n");
    c.check("CONFIG REWRITE", b"+QUEUED\r\n");
    c.check("EXEC", b"*1\r\n+OK\r\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "maxclients = 200\ntimeout = 7\n");
}
