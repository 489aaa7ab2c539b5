//! Which bytes ask for a document?

use super::Target;
use crate::load::values::{KEY_BYTES, Values, write_key};
use crate::plan::Operation;
use std::io::Write;

/// Appends the request for the document of key `index`; a write carries the key's value of `length` bytes.
pub fn write(
    target: &Target,
    operation: Operation,
    index: u64,
    length: u32,
    values: &Values,
    out: &mut Vec<u8>,
) {
    let mut key = [0; KEY_BYTES];
    write_key(index, &mut key);
    out.extend_from_slice(match operation {
        Operation::Get => b"GET ",
        Operation::Set => b"PUT ",
        Operation::Del => b"DELETE ",
    });
    out.extend_from_slice(target.path_prefix.as_bytes());
    out.extend_from_slice(&key);
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(target.host.as_bytes());
    out.extend_from_slice(if target.close { b"\r\nConnection: close\r\n" } else { b"\r\n" });
    if operation != Operation::Set {
        out.extend_from_slice(b"\r\n");
        return;
    }
    // Writing to a vector cannot fail.
    let _ = write!(out, "Content-Type: application/octet-stream\r\nContent-Length: {length}\r\n\r\n");
    let start = out.len();
    out.resize(start + length as usize, 0);
    values.write(index, &mut out[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(operation: Operation, close: bool) -> Vec<u8> {
        let (host, path_prefix) = ("127.0.0.1:8080".to_owned(), "/documents/".to_owned());
        let target = Target { host, path_prefix, close };
        let mut out = Vec::new();
        write(&target, operation, 42, 24, &Values::new(1, 24), &mut out);
        out
    }

    #[test]
    fn requests_are_what_an_http_parser_reads() {
        for (operation, method, length, close) in [
            (Operation::Get, "GET", None, false),
            (Operation::Get, "GET", None, true),
            (Operation::Set, "PUT", Some("24"), false),
            (Operation::Set, "PUT", Some("24"), true),
            (Operation::Del, "DELETE", None, false),
        ] {
            let bytes = written(operation, close);
            let mut headers = [httparse::EMPTY_HEADER; 8];
            let mut request = httparse::Request::new(&mut headers);
            let httparse::Status::Complete(head) = request.parse(&bytes).unwrap() else { panic!("whole") };
            assert_eq!((request.method, request.path), (Some(method), Some("/documents/key:000000000042")));
            let header = |name: &str| {
                let found = request.headers.iter().find(|header| header.name == name)?;
                std::str::from_utf8(found.value).ok()
            };
            assert_eq!(header("Host"), Some("127.0.0.1:8080"));
            assert_eq!(header("Content-Length"), length);
            assert_eq!(header("Connection"), close.then_some("close"));
            assert_eq!(bytes.len() - head, if length.is_some() { 24 } else { 0 });
        }
    }

    #[test]
    fn a_write_carries_the_value_of_its_key() {
        let bytes = written(Operation::Set, false);
        assert!(Values::new(1, 24).is_right(42, &bytes[bytes.len() - 24..]));
    }
}
