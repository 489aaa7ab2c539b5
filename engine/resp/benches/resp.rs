//! What does the codec cost per byte? Small messages as a cache sees them, and one large value where it is copied.
//! (Parsers step over a large value without looking at it; bytes per second would say nothing there.)
//!
//! Three groups: `resp/parse-request`, `resp/compose-reply`, `resp/parse-reply`. Throughput is in bytes of wire.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plumbkv_resp::{Limits, Parsed, ReplyWriter, RequestParser, Version, compose, parse_reply, peek_scalar};

/// Messages in one buffer, as after one read of a pipelined connection.
const PIPELINE: usize = 16;

fn value(len: usize) -> Vec<u8> {
    (0..len).map(|i| b'a' + (i % 26) as u8).collect()
}

fn requests(args: &[&[u8]], count: usize) -> Vec<u8> {
    let mut wire = Vec::new();
    for _ in 0..count {
        compose(args, &mut wire);
    }
    wire
}

/// Reads every request in `wire` and returns the number of arguments, so that nothing is optimised away.
fn read_requests(parser: &mut RequestParser, wire: &[u8]) -> usize {
    let (mut at, mut arguments) = (0, 0);
    while let Parsed::Complete { value, consumed } = parser.parse(&wire[at..]) {
        arguments += black_box(value).len();
        at += consumed;
    }
    assert_eq!(at, wire.len());
    arguments
}

fn parse_request(c: &mut Criterion) {
    let (key, small) = (b"key:000000000042", value(64));
    let cases: [(&str, Vec<u8>); 3] = [
        ("get-x16", requests(&[b"GET", key], PIPELINE)),
        ("set-64b-x16", requests(&[b"SET", key, &small], PIPELINE)),
        ("inline-get-x16", b"GET key:000000000042\r\n".repeat(PIPELINE)),
    ];
    let mut group = c.benchmark_group("resp/parse-request");
    let mut parser = RequestParser::new(Limits::default());
    for (name, wire) in &cases {
        group.throughput(Throughput::Bytes(wire.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), wire, |b, wire| {
            b.iter(|| read_requests(&mut parser, black_box(wire)));
        });
    }
    group.finish();
}

fn compose_reply(c: &mut Criterion) {
    let (small, large) = (value(64), value(64 * 1024));
    let mut group = c.benchmark_group("resp/compose-reply");
    let mut out = Vec::new();
    let mut measure = |name: &str, write: &dyn Fn(&mut ReplyWriter<'_>)| {
        out.clear();
        write(&mut ReplyWriter::new(&mut out, Version::Resp2));
        group.throughput(Throughput::Bytes(out.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                write(&mut ReplyWriter::new(&mut out, Version::Resp2));
                black_box(out.len())
            });
        });
    };
    measure("ok-x16", &|w| (0..PIPELINE).for_each(|_| w.simple("OK")));
    measure("bulk-64b-x16", &|w| (0..PIPELINE).for_each(|_| w.bulk(black_box(&small))));
    measure("bulk-64kib", &|w| w.bulk(black_box(&large)));
    measure("integer-x16", &|w| (0..PIPELINE).for_each(|i| w.integer(black_box(1_000_000 + i as i64))));
    group.finish();
}

fn parse_replies(c: &mut Criterion) {
    let limits = Limits::default();
    let small = value(64);
    let written = |write: &dyn Fn(&mut ReplyWriter<'_>)| {
        let mut out = Vec::new();
        write(&mut ReplyWriter::new(&mut out, Version::Resp2));
        out
    };
    let mut group = c.benchmark_group("resp/parse-reply");
    let scalars = [
        ("scalar-ok-x16", written(&|w| (0..PIPELINE).for_each(|_| w.simple("OK")))),
        ("scalar-bulk-64b-x16", written(&|w| (0..PIPELINE).for_each(|_| w.bulk(&small)))),
    ];
    for (name, wire) in &scalars {
        group.throughput(Throughput::Bytes(wire.len() as u64));
        group.bench_function(*name, |b| {
            b.iter(|| {
                let mut at = 0;
                while let Parsed::Complete { value, consumed } = peek_scalar(black_box(&wire[at..]), &limits)
                {
                    black_box(value);
                    at += consumed;
                }
                assert_eq!(at, wire.len());
            });
        });
    }
    let tree = written(&|w| {
        w.array(100);
        (0..100).for_each(|_| w.bulk(&small));
    });
    group.throughput(Throughput::Bytes(tree.len() as u64));
    group.bench_function("tree-100x64b", |b| b.iter(|| black_box(parse_reply(black_box(&tree), &limits))));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_millis(1000))
        .sample_size(30);
    targets = parse_request, compose_reply, parse_replies
}
criterion_main!(benches);
