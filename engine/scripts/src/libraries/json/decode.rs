//! JSON as values of Lua, token by token as lua-cjson reads it: with numbers in any form that C's
//! `strtod` takes, strings of any bytes, and an end at the first NUL byte.
//!
//! Values go into Lua's memory at once, and containers in containers take no stack: so the limit of
//! a script's memory holds.

use mlua::{Lua, LuaString, Table, Value};

use super::DEEPEST;
use crate::libraries::{Failure, of_lua};

/// What is between white space.
enum Token {
    Mark(u8),
    Text(Vec<u8>),
    Number(f64),
    Boolean(bool),
    Null,
    End,
    /// What is wrong.
    Wrong(&'static str),
}

impl Token {
    /// How an error names it.
    fn name(&self) -> &'static str {
        match self {
            Self::Mark(b'{') => "T_OBJ_BEGIN",
            Self::Mark(b'}') => "T_OBJ_END",
            Self::Mark(b'[') => "T_ARR_BEGIN",
            Self::Mark(b']') => "T_ARR_END",
            Self::Mark(b':') => "T_COLON",
            Self::Mark(_) => "T_COMMA",
            Self::Text(_) => "T_STRING",
            Self::Number(_) => "T_NUMBER",
            Self::Boolean(_) => "T_BOOLEAN",
            Self::Null => "T_NULL",
            Self::End => "T_END",
            Self::Wrong(what) => what,
        }
    }
}

/// A container that is not whole yet.
struct Open {
    table: Table,
    /// The key of the value that comes next, in an object.
    key: Option<LuaString>,
    /// The elements before it, in an array.
    count: i64,
    is_object: bool,
}

/// What is behind a value.
enum Step {
    /// The token with which the next value begins.
    Next(Token),
    /// Nothing: it is the whole value.
    Whole(Value),
}

struct Reader<'a> {
    lua: &'a Lua,
    text: &'a [u8],
    at: usize,
    /// Where the last token begins, or where it is wrong.
    place: usize,
}

pub(super) fn decode(lua: &Lua, text: &[u8]) -> Result<Value, Failure> {
    if matches!(text, [0, _, ..] | [_, 0, ..]) {
        return Err("JSON parser does not support UTF-16 or UTF-32".to_owned());
    }
    let mut reader = Reader { lua, text, at: 0, place: 0 };
    let value = reader.value()?;
    match reader.next()? {
        Token::End => Ok(value),
        other => Err(reader.expected("the end", &other)),
    }
}

impl Reader<'_> {
    fn expected(&self, what: &str, found: &Token) -> Failure {
        format!("Expected {what} but found {} at character {}", found.name(), self.place + 1)
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// A whole value.
    fn value(&mut self) -> Result<Value, Failure> {
        let mut open: Vec<Open> = Vec::new();
        let mut token = self.next()?;
        loop {
            let value = match token {
                Token::Mark(mark @ (b'{' | b'[')) => {
                    if open.len() >= DEEPEST {
                        let (depth, at) = (open.len() + 1, self.at);
                        return Err(format!(
                            "Found too many nested data structures ({depth}) at character {at}"
                        ));
                    }
                    let table = self.lua.create_table().map_err(of_lua)?;
                    let mut container = Open { table, key: None, count: 0, is_object: mark == b'{' };
                    token = self.next()?;
                    if !is_end(&container, &token) {
                        token = self.key(&mut container, token)?;
                        open.push(container);
                        continue;
                    }
                    Value::Table(container.table)
                }
                Token::Text(text) => Value::String(self.lua.create_string(text).map_err(of_lua)?),
                Token::Number(number) => Value::Number(number),
                Token::Boolean(value) => Value::Boolean(value),
                Token::Null => Value::NULL,
                other => return Err(self.expected("value", &other)),
            };
            match self.close(&mut open, value)? {
                Step::Next(next) => token = next,
                Step::Whole(value) => return Ok(value),
            }
        }
    }

    /// Puts a value where it belongs, and ends all containers that end behind it.
    fn close(&mut self, open: &mut Vec<Open>, mut value: Value) -> Result<Step, Failure> {
        loop {
            let Some(mut last) = open.pop() else { return Ok(Step::Whole(value)) };
            match last.key.take() {
                Some(key) => last.table.raw_set(key, value).map_err(of_lua)?,
                None => {
                    last.count += 1;
                    last.table.raw_set(last.count, value).map_err(of_lua)?;
                }
            }
            let token = self.next()?;
            if is_end(&last, &token) {
                value = Value::Table(last.table);
                continue;
            }
            if !matches!(token, Token::Mark(b',')) {
                let what = if last.is_object { "comma or object end" } else { "comma or array end" };
                return Err(self.expected(what, &token));
            }
            let token = self.next()?;
            let token = self.key(&mut last, token)?;
            open.push(last);
            return Ok(Step::Next(token));
        }
    }

    /// Reads the key and the colon before a value of an object; the token with which the value
    /// begins.
    fn key(&mut self, container: &mut Open, token: Token) -> Result<Token, Failure> {
        if !container.is_object {
            return Ok(token);
        }
        let Token::Text(key) = token else { return Err(self.expected("object key string", &token)) };
        container.key = Some(self.lua.create_string(key).map_err(of_lua)?);
        match self.next()? {
            Token::Mark(b':') => self.next(),
            other => Err(self.expected("colon", &other)),
        }
    }

    fn next(&mut self) -> Result<Token, Failure> {
        while matches!(self.byte(self.at), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.place = self.at;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (token, length) = match self.byte(self.at) {
            0 => (Token::End, 0),
            mark @ (b'{' | b'}' | b'[' | b']' | b':' | b',') => (Token::Mark(mark), 1),
            b'"' => return Ok(self.string()),
            b'-' | b'0'..=b'9' => return self.number(),
            _ if rest.starts_with(b"true") => (Token::Boolean(true), 4),
            _ if rest.starts_with(b"false") => (Token::Boolean(false), 5),
            _ if rest.starts_with(b"null") => (Token::Null, 4),
            b'+' => return self.number(),
            b'i' | b'I' | b'n' | b'N' if begins_with(rest, b"inf") || begins_with(rest, b"nan") => {
                return self.number();
            }
            _ => (Token::Wrong("invalid token"), 0),
        };
        self.at += length;
        Ok(token)
    }

    fn string(&mut self) -> Token {
        let mut text = Vec::new();
        self.at += 1;
        loop {
            match self.byte(self.at) {
                b'"' => break,
                0 => return self.wrong("unexpected end of string"),
                b'\\' => {
                    let letter = match self.byte(self.at + 1) {
                        byte @ (b'"' | b'\\' | b'/') => byte,
                        b'b' => 8,
                        b't' => b'\t',
                        b'n' => b'\n',
                        b'f' => 12,
                        b'r' => b'\r',
                        b'u' => match self.escaped() {
                            Some((letter, length)) => {
                                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                                self.at += length;
                                continue;
                            }
                            None => return self.wrong("invalid unicode escape code"),
                        },
                        _ => return self.wrong("invalid escape code"),
                    };
                    text.push(letter);
                    self.at += 2;
                }
                byte => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Token::Text(text)
    }

    fn wrong(&mut self, what: &'static str) -> Token {
        self.place = self.at;
        Token::Wrong(what)
    }

    /// A letter written as one or two units of UTF-16, and the bytes that it takes here.
    fn escaped(&self) -> Option<(char, usize)> {
        let unit = |at: usize| {
            let digits = self.text.get(at + 2..at + 6).filter(|_| self.text[at..].starts_with(b"\\u"))?;
            digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
        };
        let first = unit(self.at)?;
        match first {
            0xd800..=0xdbff => {
                let second = unit(self.at + 6).filter(|second| (0xdc00..=0xdfff).contains(second))?;
                let letter = char::from_u32(0x1_0000 + ((first & 0x3ff) << 10 | second & 0x3ff))?;
                Some((letter, 12))
            }
            // The second half of a pair is no letter.
            _ => Some((char::from_u32(first)?, 6)),
        }
    }

    fn number(&mut self) -> Result<Token, Failure> {
        let text = &self.text[self.at..];
        let (length, is_plain) = number_length(text);
        if length == 0 {
            return Ok(Token::Wrong("invalid number"));
        }
        let text = &text[..length];
        let plain =
            if is_plain { std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()) } else { None };
        let number = match plain {
            Some(number) => Some(number),
            // Lua reads it by the function that lua-cjson calls.
            None => {
                let text = self.lua.create_string(text).map_err(of_lua)?;
                self.lua.coerce_number(Value::String(text)).map_err(of_lua)?
            }
        };
        self.at += length;
        Ok(number.map_or(Token::Wrong("invalid number"), Token::Number))
    }
}

fn is_end(container: &Open, token: &Token) -> bool {
    matches!((container.is_object, token), (true, Token::Mark(b'}')) | (false, Token::Mark(b']')))
}

fn begins_with(text: &[u8], name: &[u8]) -> bool {
    text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

/// How much of a text C's `strtod` reads as a number, and whether it is written with decimal
/// digits.
fn number_length(text: &[u8]) -> (usize, bool) {
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let rest = &text[sign..];
    for name in [&b"infinity"[..], b"inf"] {
        if begins_with(rest, name) {
            return (sign + name.len(), false);
        }
    }
    if begins_with(rest, b"nan") {
        let inner = rest[3..].strip_prefix(b"(").unwrap_or_default();
        let letters = inner.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let is_closed = inner.get(letters) == Some(&b')');
        return (sign + 3 + if is_closed { letters + 2 } else { 0 }, false);
    }
    if begins_with(rest, b"0x") {
        let length = digits_length(&rest[2..], u8::is_ascii_hexdigit, b'p');
        if length > 0 {
            return (sign + 2 + length, false);
        }
    }
    match digits_length(rest, u8::is_ascii_digit, b'e') {
        0 => (0, true),
        length => (sign + length, true),
    }
}

/// The length of digits with a point or without, and an exponent or none; zero where there is no
/// digit.
fn digits_length(text: &[u8], is_digit: fn(&u8) -> bool, mark: u8) -> usize {
    let count = |from: usize| text[from..].iter().take_while(|byte| is_digit(byte)).count();
    let whole = count(0);
    let mut end = whole;
    if text.get(end) == Some(&b'.') {
        let fraction = count(end + 1);
        if whole + fraction == 0 {
            return 0;
        }
        end += 1 + fraction;
    }
    if end == 0 {
        return 0;
    }
    if text.get(end).is_some_and(|byte| byte.eq_ignore_ascii_case(&mark)) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'-' | b'+')));
        let power = text[end + 1 + sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if power > 0 {
            end += 1 + sign + power;
        }
    }
    end
}
