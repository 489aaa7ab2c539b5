//! The floor's answers in HTTP/1.1: `200 OK` with the same body to every request, on connections that are kept.
//!
//! A request is read to the end of its body (`Content-Length`) before it is answered; a body in chunks is not
//! understood, since no load here sends one.

use super::{Answers, Taken};

/// Headers of one request that are looked at; more of them break the protocol.
const HEADERS_MAX: usize = 64;

/// Answers every HTTP request alike.
#[derive(Debug)]
pub struct Http {
    reply: Vec<u8>,
}

impl Http {
    /// Answers with a body of `value_bytes`.
    #[must_use]
    pub fn new(value_bytes: usize) -> Self {
        let mut reply = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {value_bytes}\r\n\r\n"
        )
        .into_bytes();
        reply.resize(reply.len() + value_bytes, b'x');
        Self { reply }
    }
}

impl Answers for Http {
    type State = ();

    fn answer(&mut self, (): &mut (), bytes: &[u8], output: &mut Vec<u8>) -> Taken {
        let mut used = 0;
        while used < bytes.len() {
            match request(&bytes[used..]) {
                Head::Whole { bytes: length, close } => {
                    if bytes.len() - used < length {
                        break;
                    }
                    used += length;
                    output.extend_from_slice(&self.reply);
                    if close {
                        return Taken { bytes: used, open: false };
                    }
                }
                Head::Incomplete => break,
                Head::Broken => return Taken { bytes: used, open: false },
            }
        }
        Taken { bytes: used, open: true }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Head {
    /// A request that takes so many bytes, its body with them.
    Whole {
        bytes: usize,
        close: bool,
    },
    Incomplete,
    Broken,
}

fn request(bytes: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Head::Incomplete,
        Err(_) => return Head::Broken,
    };
    // Version 1.0 ends a connection after its answer unless told otherwise, which nobody here tells it.
    let mut close = request.version == Some(0);
    let mut body = 0usize;
    for header in request.headers {
        if header.name.eq_ignore_ascii_case("content-length") {
            let length = std::str::from_utf8(header.value).ok().and_then(|text| text.trim().parse().ok());
            match length {
                Some(length) => body = length,
                None => return Head::Broken,
            }
        } else if header.name.eq_ignore_ascii_case("connection") {
            close |= header.value.eq_ignore_ascii_case(b"close");
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Head::Broken;
        }
    }
    match head.checked_add(body) {
        Some(bytes) => Head::Whole { bytes, close },
        None => Head::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(bytes: &[u8]) -> (Taken, usize) {
        let mut output = Vec::new();
        let mut http = Http::new(3);
        let taken = http.answer(&mut (), bytes, &mut output);
        assert_eq!(output.len() % http.reply.len(), 0);
        (taken, output.len() / http.reply.len())
    }

    #[test]
    fn every_whole_request_is_answered_and_no_piece_of_one() {
        let one = b"GET /documents/1 HTTP/1.1\r\nHost: a\r\n\r\n".as_slice();
        let put = b"PUT /1 HTTP/1.1\r\ncontent-length: 4\r\n\r\nGET ".as_slice();
        let all = [one, put, one].concat();
        assert_eq!(answered(&all), (Taken { bytes: all.len(), open: true }, 3));
        for end in 0..one.len() {
            assert_eq!(answered(&one[..end]), (Taken { bytes: 0, open: true }, 0), "{end}");
        }
        assert_eq!(answered(&put[..put.len() - 1]), (Taken { bytes: 0, open: true }, 0));
    }

    #[test]
    fn a_connection_ends_when_it_is_asked_to_or_broken() {
        let close = b"GET / HTTP/1.1\r\nConnection: Close\r\n\r\nGET / HTTP/1.1\r\n\r\n";
        assert_eq!(answered(close), (Taken { bytes: 37, open: false }, 1));
        for broken in [
            b"*1\r\n$4\r\nPING\r\n".as_slice(),
            b"PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            assert_eq!(answered(broken), (Taken { bytes: 0, open: false }, 0));
        }
    }
}
