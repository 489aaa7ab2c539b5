//! Splitting a stream of bytes into JSON documents: the elements of an array, an object, or lines.
//!
//! Bytes arrive in pieces that end anywhere. A document is found by its brackets and quotes alone;
//! whether it is valid JSON is for the store to say.

use plumbkv_documents::limits::MAX_DOCUMENT_BYTES;

use crate::body::Format;

/// A document of the stream, and the line where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) line: u64,
    pub(crate) json: Vec<u8>,
}

/// Why a stream cannot be split any further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) line: u64,
    pub(crate) reason: String,
}

/// Where in the stream the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before an array or an object.
    Begin,
    /// Before an element of the array; `true` if one must follow.
    Element(bool),
    /// In a document.
    Inside,
    /// Behind an element of the array.
    Behind,
    /// Behind everything.
    End,
}

/// Splits a stream.
pub(crate) struct Splitter {
    format: Format,
    place: Place,
    is_array: bool,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    line: u64,
    begin: u64,
    current: Vec<u8>,
}

impl Splitter {
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            place: Place::Begin,
            is_array: false,
            depth: 0,
            in_string: false,
            is_escaped: false,
            line: 1,
            begin: 1,
            current: Vec::new(),
        }
    }

    /// Takes bytes in and hands out the documents that have ended.
    pub(crate) fn push(&mut self, bytes: &[u8], pieces: &mut Vec<Piece>) -> Result<(), Broken> {
        match self.format {
            Format::Lines => self.push_lines(bytes, pieces),
            Format::Json => bytes.iter().try_for_each(|byte| self.push_json(*byte, pieces)),
        }
    }

    /// The stream has ended.
    pub(crate) fn finish(mut self, pieces: &mut Vec<Piece>) -> Result<(), Broken> {
        match (self.format, self.place) {
            (Format::Lines, _) => {
                self.end_line(pieces);
                Ok(())
            }
            (_, Place::End) => Ok(()),
            (_, Place::Begin) => {
                Err(self.broken("the body is empty; send an object, an array of objects or NDJSON"))
            }
            (_, Place::Inside) if !self.is_array => {
                // What is wrong with it the store says better.
                self.end_document(pieces);
                Ok(())
            }
            _ => Err(self.broken("the array has no end")),
        }
    }

    fn broken(&self, reason: impl Into<String>) -> Broken {
        Broken { line: self.line, reason: reason.into() }
    }

    fn too_long(&self) -> Broken {
        Broken { line: self.begin, reason: format!("a document has more than {MAX_DOCUMENT_BYTES} bytes") }
    }

    fn push_lines(&mut self, bytes: &[u8], pieces: &mut Vec<Piece>) -> Result<(), Broken> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.current.len() + part.len() > MAX_DOCUMENT_BYTES + 2 {
                return Err(self.too_long());
            }
            self.current.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line(pieces);
                self.line += 1;
                self.begin = self.line;
            }
        }
        Ok(())
    }

    fn end_line(&mut self, pieces: &mut Vec<Piece>) {
        let mut json = std::mem::take(&mut self.current);
        json.truncate(json.trim_ascii_end().len());
        if !json.is_empty() {
            pieces.push(Piece { line: self.begin, json });
        }
    }

    fn end_document(&mut self, pieces: &mut Vec<Piece>) {
        pieces.push(Piece { line: self.begin, json: std::mem::take(&mut self.current) });
        self.place = if self.is_array { Place::Behind } else { Place::End };
    }

    fn push_json(&mut self, byte: u8, pieces: &mut Vec<Piece>) -> Result<(), Broken> {
        if byte == b'\n' {
            self.line += 1;
        }
        match self.place {
            Place::Inside => return self.push_inside(byte, pieces),
            _ if byte.is_ascii_whitespace() => {}
            Place::Begin if byte == b'[' => {
                self.is_array = true;
                self.place = Place::Element(false);
            }
            Place::Element(false) if byte == b']' => self.place = Place::End,
            Place::Begin | Place::Element(_) => {
                (self.place, self.begin) = (Place::Inside, self.line);
                return self.push_inside(byte, pieces);
            }
            Place::Behind if byte == b',' => self.place = Place::Element(true),
            Place::Behind if byte == b']' => self.place = Place::End,
            Place::Behind => return Err(self.broken("expected `,` or `]` behind an element of the array")),
            Place::End => {
                let reason = "data behind the JSON value; for one document a line send application/x-ndjson";
                return Err(self.broken(reason));
            }
        }
        Ok(())
    }

    fn push_inside(&mut self, byte: u8, pieces: &mut Vec<Piece>) -> Result<(), Broken> {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                // A scalar of an array ends at what follows it.
                b',' | b']' if self.depth == 0 && self.is_array => {
                    self.end_document(pieces);
                    return self.push_json(byte, pieces);
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        if self.current.len() == MAX_DOCUMENT_BYTES {
            return Err(self.too_long());
        }
        self.current.push(byte);
        if self.depth == 0 && !self.in_string && matches!(byte, b'}' | b']') {
            self.end_document(pieces);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a stream that arrives in pieces of every length; the result must be the same.
    fn split(format: Format, stream: &[u8]) -> (Vec<(u64, String)>, Option<Broken>) {
        let of = |length: usize| {
            let (mut splitter, mut pieces) = (Splitter::new(format), Vec::new());
            let pushed = stream.chunks(length).try_for_each(|chunk| splitter.push(chunk, &mut pieces));
            let done = pushed.and_then(|()| splitter.finish(&mut pieces));
            let text = |piece: Piece| (piece.line, String::from_utf8(piece.json).unwrap());
            (pieces.into_iter().map(text).collect::<Vec<_>>(), done.err())
        };
        let whole = of(stream.len().max(1));
        for length in 1..stream.len().min(9) {
            assert_eq!(of(length), whole, "{length}");
        }
        whole
    }

    fn documents(all: &[(u64, &str)]) -> Vec<(u64, String)> {
        all.iter().map(|(line, json)| (*line, (*json).to_owned())).collect()
    }

    #[test]
    fn objects_arrays_and_lines_are_split() {
        let object = "\n {\"a\": \"}\\\"]\",\n \"b\": [1, {}]} \n";
        assert_eq!(split(Format::Json, object.as_bytes()), (documents(&[(2, object.trim())]), None));
        let array = "[{\"a\":1},\n{\"b\":\"],\"} , 3,\"x\"]";
        let found = split(Format::Json, array.as_bytes());
        assert_eq!(
            found,
            (documents(&[(1, "{\"a\":1}"), (2, "{\"b\":\"],\"}"), (2, "3"), (2, "\"x\"")]), None)
        );
        assert_eq!(split(Format::Json, b" [ ] "), (vec![], None));
        let lines = "{\"a\":1}\r\n\n{\"b\":2}\nnonsense\n{\"c\":3}";
        let found = split(Format::Lines, lines.as_bytes());
        assert_eq!(
            found,
            (documents(&[(1, "{\"a\":1}"), (3, "{\"b\":2}"), (4, "nonsense"), (5, "{\"c\":3}")]), None)
        );
        assert_eq!(split(Format::Lines, b""), (vec![], None));
    }

    #[test]
    fn a_stream_that_breaks_hands_out_what_came_before() {
        for (stream, count, part) in [
            ("", 0, "empty"),
            ("[{\"a\":1}", 1, "no end"),
            ("[{\"a\":1} {\"b\":2}]", 1, "expected `,`"),
            ("[{\"a\":1}", 1, "no end"),
            ("[{\"a\":1},", 1, "no end"),
            ("{\"a\":1}\n{\"b\":2}", 1, "application/x-ndjson"),
        ] {
            let (found, broken) = split(Format::Json, stream.as_bytes());
            assert_eq!(found.len(), count, "{stream}");
            assert!(broken.is_some_and(|broken| broken.reason.contains(part)), "{stream}");
        }
        // Cut in the middle: one document, which the store refuses.
        assert_eq!(split(Format::Json, b"{\"a\":"), (documents(&[(1, "{\"a\":")]), None));
    }

    #[test]
    fn the_length_of_a_document_is_limited_at_its_edge() {
        let of = |bytes: usize| [b"{\"a\":\"", &vec![b'x'; bytes - 8][..], b"\"}"].concat();
        for format in [Format::Json, Format::Lines] {
            let mut pieces = Vec::new();
            assert!(Splitter::new(format).push(&of(MAX_DOCUMENT_BYTES), &mut pieces).is_ok());
            let broken = Splitter::new(format).push(&of(MAX_DOCUMENT_BYTES + 3), &mut pieces);
            assert!(broken.is_err_and(|broken| broken.reason.contains("more than")));
        }
    }
}
