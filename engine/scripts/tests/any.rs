//! Any input: no bytes, numbers, formats, scripts or nestings panic, take more memory than a script
//! may have, or keep the next script from running. What libraries write, they read.

#![allow(clippy::unwrap_used, reason = "helpers of tests; clippy exempts only the tests themselves")]

use plumbkv_resp::{ReplyWriter, Version};
use plumbkv_scripts::{Failure, Host, Interpreter, Limits, Script, Watch, digest};
use proptest::prelude::*;

/// Memory of an interpreter.
const MEMORY: usize = 8 << 20;

/// Answers how many words there are, and what they are.
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

fn interpreter() -> Interpreter {
    Interpreter::new(Limits { memory: MEMORY, compiled: 100 }, Watch::default()).unwrap()
}

fn run_in(
    interpreter: &mut Interpreter,
    text: &[u8],
    words: &[&[u8]],
    is_hasty: bool,
) -> Result<Vec<u8>, Failure> {
    let name = digest(text);
    let script = Script { digest: &name, text, keys: &[], arguments: words };
    let mut reply = Vec::new();
    let result =
        interpreter.run(script, is_hasty, &mut Echo, &mut ReplyWriter::new(&mut reply, Version::Resp2));
    assert!(interpreter.memory() <= MEMORY + MEMORY / 8, "{} bytes", interpreter.memory());
    result.map(|()| reply)
}

/// The reply of a script, after which another one runs as well as before. In haste what never ends
/// gives up.
fn run_alone(text: &[u8], words: &[&[u8]], is_hasty: bool) -> Result<Vec<u8>, Failure> {
    let mut interpreter = interpreter();
    let result = run_in(&mut interpreter, text, words, is_hasty);
    assert_eq!(run_in(&mut interpreter, b"return #ARGV", &[b"a", b"b"], true), Ok(b":2\r\n".to_vec()));
    result
}

fn run(text: &[u8], words: &[&[u8]]) -> Result<Vec<u8>, Failure> {
    run_alone(text, words, true)
}

fn reply(text: &str, words: &[&[u8]]) -> String {
    match run_alone(text.as_bytes(), words, false) {
        Ok(reply) => String::from_utf8_lossy(&reply).into_owned(),
        Err(Failure::Error(error)) => format!("-{}", String::from_utf8_lossy(&error)),
        Err(Failure::TooLong) => "too long".to_owned(),
    }
}

/// Bytes that are often nearly JSON.
fn json_like() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\"a\"",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\ud800",
        "\\u12",
        "\\n",
        "true",
        "false",
        "null",
        "nul",
        "1",
        "-",
        "+",
        "0",
        "1.5",
        "e5",
        "1e400",
        "0x1p3",
        "inf",
        "nan(1)",
        "NaN",
        " ",
        "\t",
        "\n",
        "\0",
        "[[",
        "]]",
        "{\"a\":",
        "}",
    ]);
    let any = prop::collection::vec(any::<u8>(), 0..6);
    let part = prop_oneof![6 => token.prop_map(|text| text.as_bytes().to_vec()), 1 => any];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// Bytes that are often nearly Lua.
fn lua_like() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "return ",
        "local ",
        "x",
        "y",
        " = ",
        "1",
        "'a'",
        "nil",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ",",
        " .. ",
        " + ",
        "#",
        "-",
        "not ",
        "if ",
        " then ",
        " else ",
        " end ",
        "while ",
        " do ",
        "for ",
        " in ",
        "function",
        "repeat ",
        " until ",
        "break ",
        "pairs",
        "ipairs",
        "string.rep",
        "string.format",
        "string.dump",
        "string.gsub",
        "table.concat",
        "table.sort",
        "unpack",
        "select",
        "loadstring",
        "load",
        "pcall",
        "xpcall",
        "error",
        "coroutine.wrap",
        "redis.call",
        "redis.pcall",
        "redis.log",
        "redis.setresp",
        "cjson.encode",
        "cjson.decode",
        "cmsgpack.pack",
        "cmsgpack.unpack",
        "struct.pack",
        "struct.unpack",
        "bit.rol",
        "setmetatable",
        "getmetatable",
        "rawset",
        "rawget",
        "next",
        "_G",
        "KEYS",
        "ARGV",
        "'%s'",
        "'\\27Lua'",
        "1e9",
        "-1",
        "0/0",
        "\n",
        " ",
        ";",
        "--",
        "[[",
        "]]",
        "#!lua",
        "goto",
        "...",
    ]);
    let any = prop::collection::vec(any::<u8>(), 0..4);
    let part = prop_oneof![20 => token.prop_map(|text| text.as_bytes().to_vec()), 1 => any];
    prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<i32>().prop_map(f64::from),
        any::<u64>().prop_map(|number| number as f64),
        prop::sample::select(vec![
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            2_147_483_647.5,
            4_294_967_295.5,
            9_007_199_254_740_993.0
        ]),
    ]
}

/// A value as JSON, without null and with objects of one key, of which the text says all.
fn json() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (-1_000_000_i64..1_000_000).prop_map(|number| number.to_string()),
        (-1_000_000_i64..1_000_000).prop_map(|number| (number as f64 / 8.0).to_string()),
    ];
    let text = prop::collection::vec(
        prop::sample::select(vec!["a", "\\n", "\\\"", "\\/", "\u{e9}", "\\u0001"]),
        0..6,
    )
    .prop_map(|letters| format!("\"{}\"", letters.concat()));
    let leaf = prop_oneof![number, text.clone(), Just("true".to_owned()), Just("false".to_owned())];
    leaf.prop_recursive(8, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..6).prop_map(|items| format!("[{}]", items.join(","))),
            (text.clone(), inner).prop_map(|(key, value)| format!("{{{key}:{value}}}")),
        ]
    })
}

/// Lua's function that compares tables.
const SAME: &str = "local function same(a, b)
    if type(a) ~= 'table' or type(b) ~= 'table' then return a == b end
    for key, value in pairs(a) do if not same(value, b[key]) then return false end end
    for key in pairs(b) do if a[key] == nil then return false end end
    return true
end\n";

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in json_like(), more in prop::collection::vec(any::<u8>(), 0..40)) {
        for bytes in [&bytes[..], &more] {
            let _ = run(b"return cjson.decode(ARGV[1])", &[bytes]);
            // What was read can be written, but for infinity and what is nested deeply.
            let _ = run(b"return cjson.encode(cjson.decode(ARGV[1]))", &[bytes]);
        }
    }

    #[test]
    fn json_that_is_read_is_written_as_it_was(text in json()) {
        let expected = format!("${}\r\n{text}\r\n", text.len());
        prop_assert_eq!(reply("return cjson.encode(cjson.decode(ARGV[1]))", &[text.as_bytes()]), expected);
    }

    #[test]
    fn any_bytes_are_unpacked_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        limit in any_number(),
        offset in any_number(),
    ) {
        let _ = run(b"return {cmsgpack.unpack(ARGV[1])}", &[&bytes]);
        let (limit, offset) = (limit.to_string(), offset.to_string());
        let words = [&bytes[..], limit.as_bytes(), offset.as_bytes()];
        let _ = run(b"return {cmsgpack.unpack_limit(ARGV[1], ARGV[2], ARGV[3])}", &words);
        let _ = run(b"return {cmsgpack.unpack_one(ARGV[1], ARGV[3])}", &words);
    }

    #[test]
    fn what_is_packed_is_unpacked(text in json()) {
        let script = format!(
            "{SAME} local value = cjson.decode(ARGV[1])
             local one, other, text = cmsgpack.unpack(cmsgpack.pack(value, {{value}}, ARGV[1]))
             return {{same(value, one), same({{value}}, other), text == ARGV[1]}}"
        );
        prop_assert_eq!(reply(&script, &[text.as_bytes()]), "*3\r\n:1\r\n:1\r\n:1\r\n");
    }

    #[test]
    fn any_format_is_read_or_refused(
        format in "[bBhHlLTiIfdscx<>! 0-9]{0,12}",
        other in prop::collection::vec(any::<u8>(), 0..8),
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        from in any_number(),
    ) {
        let from = from.to_string();
        for format in [format.as_bytes(), &other] {
            let words = [format, &bytes[..], from.as_bytes()];
            let _ = run(b"return struct.size(ARGV[1])", &words);
            let _ = run(b"return {struct.unpack(ARGV[1], ARGV[2])}", &words);
            let _ = run(b"return {struct.unpack(ARGV[1], ARGV[2], ARGV[3])}", &words);
            let _ = run(b"return struct.pack(ARGV[1], ARGV[3], ARGV[2], ARGV[3], ARGV[2], 1, 2, 3)", &words);
        }
    }

    #[test]
    fn numbers_are_unpacked_from_their_bytes(number in any::<i32>(), letter in "[<>][!]?[i]") {
        let script = format!("return struct.unpack('{letter}', struct.pack('{letter}', ARGV[1]))");
        prop_assert_eq!(reply(&script, &[number.to_string().as_bytes()]), format!(":{number}\r\n"));
    }

    #[test]
    fn bits_of_any_numbers_are_those_of_a_processor(a in any_number(), b in any_number()) {
        // The lowest bits of the mantissa, where 2^52 + 2^51 moves them.
        let bits = |number: f64| (number + 6_755_399_441_055_744.0).to_bits() as u32;
        let (x, y) = (bits(a), bits(b));
        let by = y & 31;
        let expected = [
            x, !x, x & y, x | y, x ^ y, x << by, x >> by, (x as i32 >> by) as u32, x.rotate_left(by),
            x.rotate_right(by), x.swap_bytes(),
        ];
        let expected: String = expected.iter().map(|bits| format!(":{}\r\n", *bits as i32)).collect();
        let script = "local a, b = tonumber(ARGV[1]), tonumber(ARGV[2])
            return {bit.tobit(a), bit.bnot(a), bit.band(a, b), bit.bor(a, b), bit.bxor(a, b), bit.lshift(a, b),
            bit.rshift(a, b), bit.arshift(a, b), bit.rol(a, b), bit.ror(a, b), bit.bswap(a)}";
        let words = [format!("{a:?}"), format!("{b:?}")];
        prop_assert_eq!(reply(script, &[words[0].as_bytes(), words[1].as_bytes()]), format!("*11\r\n{expected}"));
        prop_assert!(reply("return bit.tohex(ARGV[1], ARGV[2])", &[words[0].as_bytes(), words[1].as_bytes()]).starts_with('$'));
    }

    #[test]
    fn any_bytes_are_a_script_or_none(bytes in prop::collection::vec(any::<u8>(), 0..60), script in lua_like()) {
        let _ = run(&bytes, &[b"a"]);
        let _ = run(&script, &[b"a", b"1"]);
    }
}

/// The most memory that the process has had, in bytes: also what libraries take besides Lua's.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn what_is_there_many_times_takes_no_more_memory_than_a_script_has() {
    const DOUBLED: &str = "local t = {string.rep('x', 1000)} for i = 1, 200 do t = {t, t} end";
    const TRIPLED: &str =
        "local t = {string.rep('x', 1000)} for i = 1, 14 do t = {t, t, t, t, t, t, t, t} end";
    const LONG: &str = "local t, s = {}, string.rep('x', 1e6) for i = 1, 7000 do t[i] = s end";
    for (script, expected) in [
        (format!("{DOUBLED} return t"), "longer than script-memory-limit"),
        (format!("{DOUBLED} return cjson.encode(t)"), "not enough memory"),
        (format!("{TRIPLED} return cmsgpack.pack(t)"), "not enough memory"),
        (format!("{LONG} return t"), "longer than script-memory-limit"),
        (format!("{LONG} return redis.call(unpack(t))"), "longer than script-memory-limit"),
        (format!("{LONG} return struct.pack(string.rep('s', 7000), unpack(t))"), "not enough memory"),
        (format!("{LONG} return cmsgpack.pack(unpack(t))"), "not enough memory"),
        (format!("{LONG} return cjson.encode(t)"), "not enough memory"),
        (format!("{LONG} return table.concat(t)"), "not enough memory"),
        (format!("{LONG} redis.log(3, unpack(t))"), "$-1"),
        ("return cjson.decode('[' .. string.rep('0,', 2e6) .. '0]')".to_owned(), "not enough memory"),
        ("return cjson.decode('[' .. string.rep('[],', 1e6) .. '0]')".to_owned(), "not enough memory"),
        ("return cmsgpack.unpack(string.rep('\\144', 2e6))".to_owned(), "too many return values at once"),
        (
            "return cmsgpack.unpack('\\221\\0\\64\\0\\0' .. string.rep('\\144', 2e6))".to_owned(),
            "not enough memory",
        ),
        ("return struct.unpack(string.rep('b', 1e6), string.rep('b', 1e6))".to_owned(), "too many results"),
        ("error(string.rep('x', 5e6))".to_owned(), "not enough memory"),
    ] {
        let reply = reply(&script, &[]);
        let start: String = reply.chars().take(200).collect();
        assert!(reply.contains(expected), "{script}: {start}");
    }
    assert!(peak() < 40 * MEMORY, "{} bytes", peak());
}

#[test]
fn nestings_and_lengths_at_the_limits_are_answered() {
    let nested = |depth: usize| format!("local t = 'x' for i = 1, {depth} do t = {{t}} end");
    for (script, expected) in [
        (format!("{} return t", nested(256)), "$1\r\nx\r\n"),
        (format!("{} return t", nested(257)), "-ERR reached lua stack limit\r\n"),
        (format!("{} return t", nested(100_000)), "-ERR reached lua stack limit\r\n"),
        (format!("{} return #cjson.encode(t)", nested(1000)), ":2003"),
        (format!("{} return cjson.encode(t)", nested(1001)), "excessive nesting (1001)"),
        ("return #cjson.decode(string.rep('[', 1000) .. string.rep(']', 1000))".to_owned(), ":1"),
        (
            "return cjson.decode(string.rep('[', 1001))".to_owned(),
            "too many nested data structures (1001) at character 1001",
        ),
        (
            "return cjson.decode(string.rep('{\"a\":', 1e5))".to_owned(),
            "too many nested data structures (1001)",
        ),
        (
            format!("{} return cjson.encode(cmsgpack.unpack(cmsgpack.pack(t)))", nested(16)),
            "[[[[[[[[[[[[[[[[\"x\"]]]]]]]]]]]]]]]]",
        ),
        (
            format!("{} return cjson.encode(cmsgpack.unpack(cmsgpack.pack(t)))", nested(17)),
            "[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]",
        ),
        ("return type(cmsgpack.unpack(string.rep('\\145', 3999) .. '\\1'))".to_owned(), "table"),
        ("return cmsgpack.unpack(string.rep('\\145', 4000) .. '\\1')".to_owned(), "stack overflow"),
        ("return cmsgpack.unpack(string.rep('\\145', 1e6))".to_owned(), "stack overflow"),
        // Values of which there are more than Lua has room for references to.
        (
            "local t = {} for i = 1, 20000 do t[i] = 'x' .. i end return t".to_owned(),
            "*20000\r\n$2\r\nx1\r\n",
        ),
        ("local t = {} for i = 1, 20000 do t[i] = 'x' .. i end return #cjson.encode(t)".to_owned(), ":"),
        ("local t = {} for i = 1, 20000 do t['x' .. i] = {} end return #cmsgpack.pack(t)".to_owned(), ":"),
        ("local t = {} for i = 1, 20000 do t['x' .. i] = {} end return {map = t}".to_owned(), "*40000\r\n"),
        ("local t = {} for i = 1, 20000 do t[{}] = true end return {set = t}".to_owned(), "*20000\r\n"),
        ("return #cjson.decode('[' .. string.rep('\"x\",', 20000) .. '1]')".to_owned(), ":20001"),
        (
            "return #{redis.call(unpack(cjson.decode('[' .. string.rep('\"x\",', 7900) .. '1]')))}[1]"
                .to_owned(),
            "-ERR",
        ),
        (
            "local t = {} for i = 1, 7000 do t[i] = 'x' .. i end return #redis.call(unpack(t))".to_owned(),
            ":7000",
        ),
        ("return unpack({}, 1, 8000)".to_owned(), "too many results to unpack"),
        (format!("return {}1{}", "(".repeat(199), ")".repeat(199)), ":1"),
        (
            format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
            "chunk has too many syntax levels",
        ),
        (format!("return {}1", "- ".repeat(100_000)), "chunk has too many syntax levels"),
        ("local function f() return 1 + f() end return f()".to_owned(), "stack overflow"),
        ("local function f() local ok = pcall(f) return ok end return f()".to_owned(), ":1"),
        (
            "local s = string.rep('a', 1000) return s:gsub('a', function() return s:gsub('a', 'b') end)"
                .to_owned(),
            "$",
        ),
        ("local function f() return coroutine.wrap(f)() end return f()".to_owned(), "-ERR"),
    ] {
        let reply = reply(&script, &[]);
        let start: String = reply.chars().take(200).collect();
        assert!(reply.contains(expected), "{}: {start}", script.chars().take(200).collect::<String>());
    }
    let words = vec![&b"word"[..]; 50_000];
    assert_eq!(reply("return {#ARGV, ARGV[50000]}", &words), "*2\r\n:50000\r\n$4\r\nword\r\n");
}

/// Compiled code is not checked by Lua, and could read and write all memory.
#[test]
fn compiled_code_is_not_run() {
    let loaded = "local code = string.dump(function() return 1 end)";
    for script in [
        format!("{loaded} return {{loadstring(code)}}"),
        format!("{loaded} return {{pcall(loadstring(code))}}"),
        format!("{loaded} local f = load(function() local all = code code = nil return all end) return {{f}}"),
        format!(
            "{loaded} local i = 0
             local f = load(function() i = i + 1 if i <= #code then return code:sub(i, i) end end) return {{f}}"
        ),
    ] {
        let reply = reply(&script, &[]);
        assert!(reply.starts_with("*0") || reply.contains("attempt to call a nil value"), "{script}: {reply}");
    }
    let error = reply("local f, e = loadstring('\\27Lua', '@x') return e", &[]);
    assert_eq!(error, "$38\r\nx:1: unexpected symbol near 'char(27)'\r\n");
    assert!(matches!(run(b"\x1bLua", &[]), Err(Failure::Error(_))));
    assert_eq!(reply("return loadstring('return ...')(5)", &[]), ":5\r\n");
    assert_eq!(
        reply("local i = 0 return load(function() i = i + 1 return ({'return', ' ', '7'})[i] end)()", &[]),
        ":7\r\n"
    );
    assert!(
        reply("local f = load('x')", &[])
            .contains("user_script:1: bad argument #1 to 'load' (function expected, got string)")
    );
    assert!(
        reply("local f = loadstring()", &[])
            .contains("user_script:1: bad argument #1 to 'loadstring' (string expected, got no value)")
    );
}
