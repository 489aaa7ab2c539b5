//! Reading one request of a pipeline, and writing one reply: the codec's part of a GET and of a SET of 64 bytes.
//!
//! The pipeline lies in one buffer, of 4,096 requests or of as many as make 64 MiB.

use criterion::Criterion;
use plumbkv_components::{Part, shuffled};
use plumbkv_resp::{Limits, Parsed, ReplyWriter, RequestParser, Version, compose as compose_request};
use std::hint::black_box;
use std::path::Path;

const VALUE: [u8; 64] = [b'v'; 64];
const SIZES: [usize; 2] = [4_096, (64 << 20) / 110];

pub(crate) fn parse(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "resp-parse");
    for size in SIZES {
        let keys = shuffled(size);
        for (operation, arguments) in [("get", 2), ("set", 3)] {
            let (mut wire, mut begins) = (Vec::new(), Vec::new());
            for key in &keys {
                begins.push(wire.len());
                match arguments {
                    2 => compose_request(&[b"GET", key], &mut wire),
                    _ => compose_request(&[b"SET", key, &VALUE], &mut wire),
                };
            }
            let mut parser = RequestParser::new(Limits::default());
            part.ours(operation, size, |at| {
                let parsed = parser.parse(black_box(&wire[begins[at]..]));
                assert!(matches!(parsed, Parsed::Complete { value, .. } if value.len() == arguments));
            });
        }
    }
}

pub(crate) fn compose(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "resp-compose");
    for size in SIZES {
        let mut out = Vec::with_capacity(size * 80);
        part.ours("ok", size, |at| {
            if at == 0 {
                out.clear();
            }
            ReplyWriter::new(&mut out, Version::Resp2).simple("OK");
        });
        part.ours("bulk-64", size, |at| {
            if at == 0 {
                out.clear();
            }
            ReplyWriter::new(&mut out, Version::Resp2).bulk(black_box(&VALUE));
        });
        assert!(!out.is_empty());
    }
}
