//! Comparing two keys with their stamps, and writing and reading a write as a log holds it.

use criterion::Criterion;
use plumbkv::parts;
use plumbkv_components::{Part, SIZES, VALUE, shuffled};
use std::hint::black_box;
use std::path::Path;

/// Each with the next one: keys of 16 bytes that differ in the last six.
pub(crate) fn compare(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "lsm-key");
    for size in SIZES {
        let keys = shuffled(size);
        let mut before = 0_u64;
        part.ours("compare", size, |at| {
            let (one, other) = (black_box(&keys[at]), black_box(&keys[(at + 1) % size]));
            before += u64::from(parts::is_before(one, 1, other, 2));
        });
        black_box(before);
    }
}

pub(crate) fn encode_and_decode(c: &mut Criterion, home: &Path) {
    let mut part = Part::new(c, home, "lsm-value");
    for size in SIZES {
        let keys = shuffled(size);
        let mut written = Vec::with_capacity(size * 120 + 120);
        part.ours("encode", size, |at| {
            if at == 0 {
                written.clear();
            }
            parts::encode_write(&mut written, black_box(&keys[at]), black_box(&VALUE));
        });
        assert!(!written.is_empty());
    }
    for size in SIZES {
        let keys = shuffled(size);
        let (mut bytes, mut begins) = (Vec::new(), Vec::new());
        for key in &keys {
            begins.push(bytes.len());
            parts::encode_write(&mut bytes, key, &VALUE);
        }
        part.ours("decode", size, |at| {
            let found = parts::decode_write(black_box(&bytes[begins[at]..]));
            assert!(found.is_some_and(|(key, value)| key == keys[at] && value.len() == VALUE.len()));
        });
    }
}
