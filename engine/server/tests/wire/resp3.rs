//! What changes for a connection after HELLO 3?

use plumbkv_resp::{Limits, Parsed, Reply, parse_reply};

use crate::server::{Server, is_durable};

#[test]
fn hello_answers_with_a_map_and_nulls_change() {
    let server = Server::start(&[]);
    let mut c = server.client();
    let resp2 = c.ask("HELLO");
    assert!(resp2.starts_with(b"*14\r\n"), "{}", resp2.escape_ascii());
    let reply = c.ask("HELLO 3 SETNAME plumb");
    let Parsed::Complete { value: Reply::Map(pairs), .. } = parse_reply(&reply, &Limits::default()) else {
        panic!("{}", reply.escape_ascii())
    };
    let names: Vec<&[u8]> = pairs
        .iter()
        .map(|(name, _)| match name {
            Reply::Bulk(name) => *name,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, [&b"server"[..], b"version", b"proto", b"id", b"mode", b"role", b"modules"]);
    assert_eq!(pairs[2].1, Reply::Integer(3));
    c.check("CLIENT GETNAME", b"$5\r\nplumb\r\n");
    c.check("GET nothing", b"_\r\n");
    c.check("MGET nothing", b"*1\r\n_\r\n");
    c.check("SET a 1 XX", b"_\r\n");
    let policy: &[u8] = if is_durable() { b"$10\r\nnoeviction\r\n" } else { b"$11\r\nallkeys-lru\r\n" };
    c.check("CONFIG GET maxmemory-policy", &[b"%1\r\n$16\r\nmaxmemory-policy\r\n", policy].concat());
    assert!(c.ask("INFO").starts_with(b"="));
    assert!(c.ask("COMMAND DOCS get").starts_with(b"%1\r\n"));
    assert!(c.ask("HELLO 2").starts_with(b"*14\r\n"));
    c.check("GET nothing", b"$-1\r\n");
}
