//! Does any reply of a command, or any text that a library reads, panic on its way into Lua and back?
//!
//! The first byte chooses: a reply in either protocol version, which the script returns; or a text for
//! `cjson`, `cmsgpack` or `struct`.
//!
//! ```text
//! make fuzz SECONDS=60 TARGETS=conversion
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv_resp::{Limits as ReplyLimits, Parsed, ReplyWriter, Version, parse_reply};
use plumbkv_scripts::{Host, Interpreter, Limits, Script, Watch, digest};

/// Scripts that hand what they are given to a conversion.
const SCRIPTS: [&str; 6] = [
    "return redis.pcall('X')",
    "redis.setresp(3) return redis.pcall('X')",
    "return cjson.encode(cjson.decode(ARGV[1]))",
    "return {cmsgpack.unpack(ARGV[1])}",
    "return cmsgpack.unpack(cmsgpack.pack(cjson.decode(ARGV[1])))",
    "return {struct.unpack('<ishl>d', ARGV[1])}",
];

/// Answers the same bytes to every command.
struct Fixed<'a>(&'a [u8]);

impl Host for Fixed<'_> {
    fn call(&mut self, _: &[&[u8]], _: Version, reply: &mut Vec<u8>) -> bool {
        reply.extend_from_slice(self.0);
        false
    }

    fn log(&mut self, _: u8, _: &[u8]) {}
}

fuzz_target!(|input: &[u8]| {
    let [choice, bytes @ ..] = input else { return };
    let text = SCRIPTS[usize::from(*choice) % SCRIPTS.len()];
    let limits = Limits { memory: 4 << 20, compiled: 10 };
    let mut interpreter = Interpreter::new(limits, Watch::default()).expect("4 MiB are enough to begin");
    let name = digest(text.as_bytes());
    for version in [Version::Resp2, Version::Resp3] {
        let script = Script { digest: &name, text: text.as_bytes(), keys: &[], arguments: &[bytes] };
        let mut reply = Vec::new();
        let mut writer = ReplyWriter::new(&mut reply, version);
        if interpreter.run(script, true, &mut Fixed(bytes), &mut writer).is_ok() {
            // What is answered is one whole reply.
            let limits = ReplyLimits { max_bulk_bytes: usize::MAX, ..ReplyLimits::default() };
            let Parsed::Complete { consumed, .. } = parse_reply(&reply, &limits) else {
                panic!("{}", reply.escape_ascii())
            };
            assert_eq!(consumed, reply.len());
        }
    }
});
