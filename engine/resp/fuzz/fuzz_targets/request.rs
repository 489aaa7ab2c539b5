//! Can any bytes, in any pieces, make the request parser panic, overrun, or answer differently?
//!
//! The first byte says how long the pieces are; the rest is what a client sends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv_resp::{Limits, Parsed, RequestParser, compose};

fn read(bytes: &[u8], piece: usize) -> (Vec<Vec<Vec<u8>>>, Option<String>) {
    let mut parser = RequestParser::new(Limits::default());
    let (mut start, mut arrived, mut seen) = (0, 0, Vec::new());
    loop {
        match parser.parse(&bytes[start..arrived]) {
            Parsed::Complete { value, consumed } => {
                assert!(consumed > 0 && consumed <= arrived - start);
                seen.push(value.iter().map(<[u8]>::to_vec).collect());
                start += consumed;
            }
            Parsed::Incomplete { needed } => {
                assert!(needed > arrived - start);
                if arrived == bytes.len() {
                    return (seen, None);
                }
                arrived = bytes.len().min(arrived + piece);
            }
            Parsed::Invalid(error) => return (seen, Some(error.to_string())),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(whole, read(bytes, usize::from(*piece).max(1)));
    // What was understood can be said again, in the array form, and is understood the same.
    let mut wire = Vec::new();
    for request in &whole.0 {
        let args: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
        compose(&args, &mut wire);
    }
    assert_eq!(read(&wire, wire.len().max(1)), (whole.0, None));
});
