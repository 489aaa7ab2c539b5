//! Is this answer the right one? Looks at its status and at every byte of its body.

use crate::load::reply::Answer;
use crate::load::request::Asked;
use crate::load::values::Values;
use crate::plan::Operation;
use std::borrow::Cow;

/// Headers of one answer that are read; more of them are no answer that is waited for here.
const HEADERS_MAX: usize = 64;

/// Judges the answer at the head of `input` to what was `asked`.
#[must_use]
pub fn judge(input: &[u8], asked: &Asked, values: &Values, shape_only: bool) -> Answer {
    let name = method(asked.operation);
    let (code, body, end) = match read(input) {
        Ok(Some(Reply { code, body, end })) => (code, body, end),
        Ok(None) => return Answer::Incomplete,
        Err(why) => return Answer::Broken(format!("{name} was answered by {why}")),
    };
    match (asked.operation, code) {
        (Operation::Get, 200) => judge_body(&body, end, asked, values, shape_only),
        (Operation::Set, 200 | 201 | 204) | (Operation::Del, 200 | 204) => Answer::Right(end),
        (Operation::Get, 404) => Answer::Missed(end),
        _ => Answer::Wrong(end, format!("{name} of key {} was answered by status {code}", asked.index)),
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply<'a> {
    pub(super) code: u16,
    /// Put together, where it came in chunks.
    pub(super) body: Cow<'a, [u8]>,
    /// How long it is with its head, bytes.
    pub(super) end: usize,
}

/// What an answer says of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manners<'a> {
    /// It ends the connection after this answer.
    pub(super) closes: bool,
    /// What it says it is; empty where it says nothing.
    pub(super) server: &'a [u8],
}

/// The answer at the head of `input`; None while it is not whole. An error says what stands there instead.
pub(super) fn read(input: &[u8]) -> Result<Option<Reply<'_>>, String> {
    Ok(read_and(input, |_| ())?.map(|(reply, ())| reply))
}

/// As [`read`], and what the answer says of its server: that takes longer.
pub(super) fn read_with_manners(input: &[u8]) -> Result<Option<(Reply<'_>, Manners<'_>)>, String> {
    read_and(input, |response| {
        let named = |name: &str| {
            let header = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            header.map(|header| header.value)
        };
        let closes = match named("connection") {
            Some(words) => words.eq_ignore_ascii_case(b"close"),
            None => response.version == Some(0),
        };
        Manners { closes, server: named("server").unwrap_or_default() }
    })
}

fn read_and<'a, T>(
    input: &'a [u8],
    look: impl FnOnce(&httparse::Response<'_, 'a>) -> T,
) -> Result<Option<(Reply<'a>, T)>, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(input) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(format!("no HTTP: {error}")),
    };
    let code = response.code.unwrap_or(0);
    let framing = framing(code, response.headers).map_err(|why| format!("status {code} {why}"))?;
    let (body, end) = match framing {
        Framing::Length(length) => {
            let end = head.checked_add(length).ok_or_else(|| format!("a body of {length} bytes"))?;
            // A wrong length is known from the head: its body is still read, so that the next answer is found.
            let Some(body) = input.get(head..end) else { return Ok(None) };
            (Cow::Borrowed(body), end)
        }
        Framing::Chunks => {
            let whole = unchunk(&input[head..]).map_err(|why| format!("status {code} {why}"))?;
            let Some((body, length)) = whole else { return Ok(None) };
            (Cow::Owned(body), head + length)
        }
    };
    Ok(Some((Reply { code, body, end }, look(&response))))
}

/// The chunks at the head of `input` in one piece, and how long they are as they lie there; None while they are not
/// whole (RFC 9112, 7.1).
fn unchunk(input: &[u8]) -> Result<Option<(Vec<u8>, usize)>, &'static str> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let (head, size) = match httparse::parse_chunk_size(&input[at..]) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err("and a chunk whose size is no number"),
        };
        at += head;
        if size == 0 {
            let mut trailers = [httparse::EMPTY_HEADER; HEADERS_MAX];
            return match httparse::parse_headers(&input[at..], &mut trailers) {
                Ok(httparse::Status::Complete((length, _))) => Ok(Some((body, at + length))),
                Ok(httparse::Status::Partial) => Ok(None),
                Err(_) => Err("and chunks that end with no empty line"),
            };
        }
        let size = usize::try_from(size).map_err(|_| "and a chunk that is too long")?;
        let end = at.checked_add(size).ok_or("and a chunk that is too long")?;
        let Some(chunk) = input.get(at..end) else { return Ok(None) };
        match input.get(end..end + 2) {
            None => return Ok(None),
            Some(b"\r\n") => {}
            Some(_) => return Err("and a chunk that is longer than it says"),
        }
        body.extend_from_slice(chunk);
        at = end + 2;
    }
}

/// The status code at the head of `input`, if a whole status line is there.
#[must_use]
pub fn status(input: &[u8]) -> Option<u16> {
    let rest = input.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn judge_body(body: &[u8], end: usize, asked: &Asked, values: &Values, shape_only: bool) -> Answer {
    let length = asked.length as usize;
    if body.len() != length {
        let text = format!("GET of key {} gave {} bytes, not {length}", asked.index, body.len());
        return Answer::Wrong(end, text);
    }
    if shape_only || values.is_right(asked.index, body) {
        return Answer::Right(end);
    }
    let at = values.first_difference(asked.index, body);
    Answer::Wrong(end, format!("GET of key {} gave {length} bytes of which byte {at} is wrong", asked.index))
}

/// How the end of a body is known.
enum Framing {
    Length(usize),
    Chunks,
}

fn framing(code: u16, headers: &[httparse::Header<'_>]) -> Result<Framing, &'static str> {
    if (100..200).contains(&code) || code == 204 || code == 304 {
        return Ok(Framing::Length(0));
    }
    let (mut length, mut is_chunked): (Option<usize>, bool) = (None, false);
    for header in headers {
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err("and a Transfer-Encoding that is not 'chunked'");
            }
            is_chunked = true;
        }
        if header.name.eq_ignore_ascii_case("content-length") {
            // Digits alone (RFC 9112, 6.3): a sign would pass as a number.
            let text = header.value.trim_ascii();
            let number =
                std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let number: usize =
                number.and_then(|text| text.parse().ok()).ok_or("and a length that is no number")?;
            if length.replace(number).is_some_and(|before| before != number) {
                return Err("and two lengths of its body that differ");
            }
        }
    }
    match (length, is_chunked) {
        // Two readers would find two ends (RFC 9112, 6.3).
        (Some(_), true) => Err("and both a length of its body and chunks"),
        (None, true) => Ok(Framing::Chunks),
        (Some(length), false) => Ok(Framing::Length(length)),
        (None, false) => Err("without saying how long its body is (Content-Length)"),
    }
}

fn method(operation: Operation) -> &'static str {
    match operation {
        Operation::Get => "GET",
        Operation::Set => "PUT",
        Operation::Del => "DELETE",
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::request::Age;
    use super::*;

    fn asked(operation: Operation) -> Asked {
        Asked { operation, index: 3, length: 64, age: Age::Newest }
    }

    fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        [format!("HTTP/1.1 {status}\r\nServer: x\r\n{headers}\r\n").as_bytes(), body].concat()
    }

    fn document(index: u64, values: &Values) -> Vec<u8> {
        let mut body = vec![0; 64];
        values.write(index, &mut body);
        answer("200 OK", "content-length: 64\r\n", &body)
    }

    /// The same document in two chunks, with a trailer.
    fn chunked(document: &[u8]) -> Vec<u8> {
        let body = &document[document.len() - 64..];
        let pieces =
            [&b"3;x=y\r\n"[..], &body[..3], b"\r\n3D\r\n", &body[3..], b"\r\n0\r\nDigest: z\r\n\r\n"]
                .concat();
        answer("200 OK", "Transfer-Encoding: Chunked\r\n", &pieces)
    }

    #[test]
    fn right_answers_are_right_and_every_shorter_piece_is_incomplete() {
        let values = Values::new(1, 64);
        let chunked = chunked(&document(3, &values));
        for (operation, bytes) in [
            (Operation::Get, document(3, &values)),
            (Operation::Get, chunked),
            (Operation::Set, answer("201 Created", "Content-Length: 2\r\n", b"ok")),
            (Operation::Del, answer("204 No Content", "", b"")),
        ] {
            assert_eq!(judge(&bytes, &asked(operation), &values, false), Answer::Right(bytes.len()));
            for end in 0..bytes.len() {
                let judged = judge(&bytes[..end], &asked(operation), &values, false);
                assert_eq!(judged, Answer::Incomplete, "{operation:?} {end}");
            }
            // What follows belongs to the next answer.
            let two = [bytes.as_slice(), b"HTTP/1.1 5"].concat();
            assert_eq!(judge(&two, &asked(operation), &values, false), Answer::Right(bytes.len()));
        }
    }

    #[test]
    fn lies_are_seen() {
        let values = Values::new(1, 64);
        let mut changed = document(3, &values);
        *changed.last_mut().unwrap() ^= 1;
        for (operation, bytes, words) in [
            (Operation::Get, document(4, &values), "byte 0 is wrong"),
            (Operation::Get, changed, "byte 63 is wrong"),
            (Operation::Get, answer("200 OK", "Content-Length: 2\r\n", b"ok"), "gave 2 bytes, not 64"),
            (Operation::Get, answer("429 Too Many Requests", "Content-Length: 0\r\n", b""), "status 429"),
            (Operation::Get, answer("304 Not Modified", "", b""), "status 304"),
            (Operation::Get, answer("500 Oops", "Content-Length: 3\r\n", b"no!"), "status 500"),
            (Operation::Set, answer("404 Not Found", "Content-Length: 0\r\n", b""), "status 404"),
            (Operation::Del, answer("404 Not Found", "Content-Length: 0\r\n", b""), "status 404"),
        ] {
            let Answer::Wrong(used, text) = judge(&bytes, &asked(operation), &values, false) else {
                panic!("{words} was not seen")
            };
            assert!(used == bytes.len() && text.contains(words), "{text}");
        }
        let missing = answer("404 Not Found", "Content-Length: 9\r\n", b"not found");
        assert_eq!(judge(&missing, &asked(Operation::Get), &values, false), Answer::Missed(missing.len()));
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_status() {
        let values = Values::new(1, 64);
        for (bytes, words) in [
            (answer("200 OK", "Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"), "is not 'chunked'"),
            (answer("200 OK", "Transfer-Encoding: chunked\r\n", b"x\r\n"), "size is no number"),
            (
                answer("200 OK", "Transfer-Encoding: chunked\r\n", b"2\r\nabc\r\n0\r\n\r\n"),
                "longer than it says",
            ),
            (
                answer("200 OK", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
                "both a length of its body and chunks",
            ),
            (answer("503 Busy", "", b"?"), "status 503 without saying"),
            (answer("200 OK", "Content-Length: many\r\n", b""), "no number"),
            (answer("200 OK", "Content-Length: +3\r\n", b"abc"), "no number"),
            (answer("200 OK", "Content-Length: 3, 3\r\n", b"abc"), "no number"),
            (answer("200 OK", "Content-Length: \r\n", b""), "no number"),
            (answer("200 OK", "Content-Length: 3\r\nContent-Length: 12\r\n", b"abc"), "two lengths"),
            (b"+OK\r\n".to_vec(), "no HTTP"),
        ] {
            let Answer::Broken(text) = judge(&bytes, &asked(Operation::Get), &values, false) else {
                panic!("{words} was not seen")
            };
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_floor_is_held_to_status_and_length_only() {
        let values = Values::new(1, 64);
        let constant = answer("200 OK", "Content-Length: 64\r\n", &[b'x'; 64]);
        assert_eq!(judge(&constant, &asked(Operation::Get), &values, true), Answer::Right(constant.len()));
        let short = answer("200 OK", "Content-Length: 63\r\n", &[b'x'; 63]);
        assert!(matches!(judge(&short, &asked(Operation::Get), &values, true), Answer::Wrong(..)));
    }

    #[test]
    fn a_status_is_read_from_its_line() {
        assert_eq!(status(b"HTTP/1.1 429 Too Many Requests\r\n"), Some(429));
        assert_eq!(status(b"HTTP/1.0 200"), Some(200));
        assert_eq!(status(b"HTTP/1.1 4"), None);
        assert_eq!(status(b"+OK\r\n"), None);
    }
}
