//! The codec at work so many times, for programs that count instructions: `work parse 20000`, `work compose 20000`.
//!
//! The work is the same every time: messages as a cache sees them, from buffers that are made before. `bench-runner gate` runs it
//! under callgrind with a number and with nought; the difference is the codec's.

use std::hint::black_box;
use std::process::ExitCode;

use plumbkv_resp::{Limits, Parsed, ReplyWriter, RequestParser, Version, compose};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let times = words.get(1).and_then(|times| times.parse::<u32>().ok());
    let done = match (words.first().map(String::as_str), times) {
        (Some("parse"), Some(times)) => parse(times),
        (Some("compose"), Some(times)) => reply(times),
        _ => {
            eprintln!("usage: work parse|compose TIMES");
            return ExitCode::from(64);
        }
    };
    println!("{done}");
    ExitCode::SUCCESS
}

/// Reads so many requests, a SET of 64 bytes and a GET in turns; returns the number of their arguments.
fn parse(times: u32) -> usize {
    let (key, value) = (b"key:000000000042", [b'v'; 64]);
    let (mut set, mut get) = (Vec::new(), Vec::new());
    compose(&[b"SET", key, &value], &mut set);
    compose(&[b"GET", key], &mut get);
    let mut parser = RequestParser::new(Limits::default());
    let mut arguments = 0;
    for number in 0..times {
        let wire = if number % 2 == 0 { &set } else { &get };
        if let Parsed::Complete { value, .. } = parser.parse(black_box(wire)) {
            arguments += black_box(value).len();
        }
    }
    arguments
}

/// Writes so many replies, `OK`, a bulk of 64 bytes and a number in turns; returns the length of the last.
fn reply(times: u32) -> usize {
    let value = [b'v'; 64];
    let mut out = Vec::new();
    for number in 0..times {
        out.clear();
        let mut writer = ReplyWriter::new(&mut out, Version::Resp2);
        match number % 3 {
            0 => writer.simple("OK"),
            1 => writer.bulk(black_box(&value)),
            _ => writer.integer(black_box(i64::from(number))),
        }
        black_box(&out);
    }
    out.len()
}
