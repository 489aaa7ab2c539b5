//! Does any text, as a script, panic, take more memory than it may, or keep the next script from running?
//!
//! Commands answer their words. A script that takes long gives up, as beside waiting clients.
//!
//! ```text
//! make fuzz SECONDS=60 TARGETS=script
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbkv_resp::{ReplyWriter, Version};
use plumbkv_scripts::{Host, Interpreter, Limits, Script, Watch, digest};

/// Memory of an interpreter, in bytes.
const MEMORY: usize = 4 << 20;

struct Echo;

impl Host for Echo {
    fn call(&mut self, words: &[&[u8]], version: Version, reply: &mut Vec<u8>) -> bool {
        let mut reply = ReplyWriter::new(reply, version);
        reply.array(words.len());
        words.iter().for_each(|word| reply.bulk(word));
        false
    }

    fn log(&mut self, _: u8, text: &[u8]) {
        assert!(text.len() <= 4096);
    }
}

fn run(interpreter: &mut Interpreter, text: &[u8]) -> Option<Vec<u8>> {
    let name = digest(text);
    let arguments: &[&[u8]] = &[b"1", b"[1,{\"a\":null}]", b"\x93\x01\xc0\xa1x"];
    let script = Script { digest: &name, text, keys: &[b"k"], arguments };
    let mut reply = Vec::new();
    let result =
        interpreter.run(script, true, &mut Echo, &mut ReplyWriter::new(&mut reply, Version::Resp3));
    assert!(interpreter.memory() <= MEMORY + MEMORY / 8, "{} bytes", interpreter.memory());
    result.is_ok().then_some(reply)
}

fuzz_target!(|text: &[u8]| {
    let limits = Limits { memory: MEMORY, compiled: 100 };
    let mut interpreter = Interpreter::new(limits, Watch::default()).expect("4 MiB are enough to begin");
    let _ = run(&mut interpreter, text);
    assert_eq!(run(&mut interpreter, b"return #ARGV"), Some(b":3\r\n".to_vec()));
});
