//! Does COMMAND DOCS describe the same arguments as Redis's?
//!
//! Summaries and complexities are this server's own words and are not compared.

use plumbkv_resp::{Limits, Parsed, Reply, parse_reply};

use crate::client::Client;
use crate::server::{Redis, Server};

/// Commands with other arguments in this server's documents.
const OTHERS: [&str; 3] = [
    // Redis 7.0 has it, but not these arguments.
    "command|getkeys",
    "command|getkeysandflags",
    // Of Redis 7.2.
    "client|setinfo",
];

fn with_reply<T>(client: &mut Client, line: &str, read: impl FnOnce(Reply<'_>) -> T) -> T {
    let bytes = client.ask(line);
    match parse_reply(&bytes, &Limits::default()) {
        Parsed::Complete { value, .. } => read(value),
        other => panic!("{line}: {other:?}"),
    }
}

/// What is compared of the documents of `name`: fields with their values as text, in order of their names.
fn documents(client: &mut Client, name: &str) -> Vec<String> {
    with_reply(client, &format!("COMMAND DOCS {name}"), |reply| {
        let Reply::Map(commands) = reply else { panic!("{name}: {reply:?}") };
        let Some((_, Reply::Map(fields))) = commands.into_iter().next() else { return Vec::new() };
        let compared = ["arguments", "deprecated_since", "doc_flags", "group", "replaced_by", "since"];
        let mut found: Vec<String> = fields
            .into_iter()
            .filter(|(field, _)| compared.iter().any(|wanted| *field == Reply::Bulk(wanted.as_bytes())))
            .map(|(field, value)| format!("{} = {}", text(&field), text(&value)))
            .collect();
        found.sort();
        found
    })
}

fn text(reply: &Reply<'_>) -> String {
    let list = |items: &[Reply<'_>]| items.iter().map(text).collect::<Vec<_>>().join(", ");
    match reply {
        Reply::Bulk(bytes) | Reply::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Reply::Integer(number) => number.to_string(),
        Reply::Array(items) | Reply::Set(items) => format!("[{}]", list(items)),
        Reply::Map(pairs) => {
            let pairs: Vec<_> =
                pairs.iter().map(|(key, value)| format!("{}: {}", text(key), text(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_of_commands_are_documented_as_in_redis() {
    let Some(redis) = Redis::start(&[]) else { return };
    let server = Server::start(&[]);
    let (mut ours, mut theirs) = (server.client(), redis.client());
    ours.ask("HELLO 3");
    theirs.ask("HELLO 3");
    let names: Vec<String> = with_reply(&mut ours, "COMMAND LIST", |reply| match reply {
        Reply::Array(names) => names.iter().map(text).collect(),
        other => panic!("{other:?}"),
    });
    let mut differences = Vec::new();
    let mut count = 0;
    for name in names.iter().filter(|name| !OTHERS.contains(&name.as_str())) {
        let (mine, redis) = (documents(&mut ours, name), documents(&mut theirs, name));
        count += 1;
        if mine != redis {
            differences.push(format!("{name}\n  ours  {}\n  redis {}", mine.join("; "), redis.join("; ")));
        }
    }
    assert!(count > 130, "only {count} commands were compared");
    assert!(differences.is_empty(), "{} of {count}:\n{}", differences.len(), differences.join("\n"));
}
