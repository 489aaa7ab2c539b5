//! Scripts and their replies, as Redis 7.0.15 gives them.

#![allow(clippy::unwrap_used, reason = "helpers of tests; clippy exempts only the tests themselves")]

use std::collections::HashMap;

use plumbkv_resp::{ReplyWriter, Version};
use plumbkv_scripts::{Failure, Host, Interpreter, Limits, Script, Watch, digest, hex};

/// A few commands, and a log.
#[derive(Default)]
struct Little {
    keys: HashMap<Vec<u8>, Vec<u8>>,
    log: Vec<(u8, String)>,
}

impl Host for Little {
    fn call(&mut self, words: &[&[u8]], version: Version, reply: &mut Vec<u8>) -> bool {
        let mut reply = ReplyWriter::new(reply, version);
        match words {
            [b"ping"] => reply.simple("PONG"),
            [b"get", key] => match self.keys.get(*key) {
                Some(value) => reply.bulk(value),
                None => reply.null(),
            },
            [b"set", key, value] => {
                self.keys.insert(key.to_vec(), value.to_vec());
                reply.simple("OK");
            }
            [b"incr", key] => {
                let value = self.keys.entry(key.to_vec()).or_insert_with(|| b"0".to_vec());
                match std::str::from_utf8(value).ok().and_then(|text| text.parse::<i64>().ok()) {
                    Some(number) => {
                        *value = (number + 1).to_string().into_bytes();
                        reply.integer(number + 1);
                    }
                    None => reply.error("ERR value is not an integer or out of range"),
                }
            }
            [b"map"] => {
                reply.map(1);
                reply.bulk(b"a");
                reply.double(1.5);
            }
            [b"list"] => {
                reply.array(3);
                reply.integer(1);
                reply.null();
                reply.bulk(b"x");
            }
            _ => reply.error("ERR Unknown Redis command called from script"),
        }
        matches!(words, [b"set" | b"incr", ..])
    }

    fn log(&mut self, level: u8, text: &[u8]) {
        self.log.push((level, String::from_utf8_lossy(text).into_owned()));
    }
}

fn interpreter() -> Interpreter {
    Interpreter::new(Limits { memory: 64 << 20, compiled: 100 }, Watch::default()).unwrap()
}

fn answer(
    interpreter: &mut Interpreter,
    host: &mut Little,
    text: &str,
    keys: &[&[u8]],
    words: &[&[u8]],
) -> String {
    let name = digest(text.as_bytes());
    let script = Script { digest: &name, text: text.as_bytes(), keys, arguments: words };
    let mut bytes = Vec::new();
    match interpreter.run(script, false, host, &mut ReplyWriter::new(&mut bytes, Version::Resp2)) {
        Ok(()) => String::from_utf8_lossy(&bytes).replace("\r\n", "|"),
        Err(Failure::TooLong) => "too long".to_owned(),
        Err(Failure::Error(text)) => {
            let text = String::from_utf8_lossy(&text).into_owned();
            format!("-{}", text.replace(&format!(" script: {}, on ", hex(&name)), " @ "))
        }
    }
}

/// Lines of a script, ` -> ` and its reply. In a reply CR LF is written as `|`, and the script's name in an error as ` @ `.
fn check(script: &str) {
    let mut interpreter = interpreter();
    let mut host = Little::default();
    host.keys.insert(b"k".to_vec(), b"abc".to_vec());
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (text, expected) = line.rsplit_once(" -> ").unwrap();
        assert_eq!(answer(&mut interpreter, &mut host, text, &[b"a", b"b"], &[b"c"]), expected, "{text}");
    }
}

#[test]
fn values_become_replies() {
    check(
        "return 1 -> :1|
         return 3.99 -> :3|
         return -3.99 -> :-3|
         return 1e30 -> :-9223372036854775808|
         return 0/0 -> :-9223372036854775808|
         return true -> :1|
         return false -> $-1|
         return nil -> $-1|
         return -> $-1|
         return 'text' -> $4|text|
         return {1,2,3.9,nil,5} -> *3|:1|:2|:3|
         return {1,{2,'a'},true,false} -> *4|:1|*2|:2|$1|a|:1|$-1|
         return {} -> *0|
         return {ok='fine'} -> +fine|
         return {err='MY boom'} -> -MY boom|
         return {ok='a', err='b'} -> -b|
         return {err={}} -> *0|
         return {ok=1} -> *0|
         return {double=3.5} -> $3|3.5|
         return {map={a=1}} -> *2|$1|a|:1|
         return {set={a=true}} -> *1|$1|a|
         return {big_number='123'} -> $3|123|
         return {verbatim_string={format='txt',string='abc'}} -> $3|abc|
         return KEYS -> *2|$1|a|$1|b|
         return KEYS[1]..ARGV[1]..#KEYS -> $3|ac2|
         KEYS[1]='z' return KEYS[1] -> $1|z|
         return function() end -> $-1|",
    );
}

#[test]
fn commands_are_executed_and_their_replies_are_values() {
    check(
        "return redis.call('ping') -> +PONG|
         return redis.call('ping').ok -> $4|PONG|
         return redis.call('get','none') -> $-1|
         return type(redis.call('get','none')) -> $7|boolean|
         redis.setresp(3) return type(redis.call('get','none')) -> $3|nil|
         return redis.call('list') -> *3|:1|$-1|$1|x|
         return redis.call('list')[3] -> $1|x|
         return redis.call('map') -> *2|$1|a|$3|1.5|
         redis.setresp(3) return tostring(redis.call('map').map.a.double) -> $3|1.5|
         return redis.call('incr','n') -> :1|
         return redis.call('set','f',3.5) -> +OK|
         return redis.call('get','f') -> $3|3.5|
         redis.call('set','f',0.1) return redis.call('get','f') -> $19|0.10000000000000001|
         redis.call('set','f',1e20) return redis.call('get','f') -> $5|1e+20|
         redis.call('set','f',12) return redis.call('get','f') -> $2|12|",
    );
}

#[test]
fn errors_say_what_and_where() {
    check(
        "return redis.call('nosuch') -> -ERR Unknown Redis command called from script @ @user_script:1.
         return redis.call() -> -ERR Please specify at least one argument for this redis lib call @ @user_script:1.
         return redis.call('set','k',{}) -> -ERR Lua redis lib command arguments must be strings or integers @ @user_script:1.
         return redis.call('incr','k') -> -ERR value is not an integer or out of range @ @user_script:1.
         return redis.pcall('incr','k') -> -ERR value is not an integer or out of range|
         return redis.pcall('incr','k').err -> $43|ERR value is not an integer or out of range|
         local ok,e=pcall(redis.call,'incr','k') return e -> $43|ERR value is not an integer or out of range|
         local ok,e=pcall(redis.call,'incr','k') return tostring(ok)..type(e) -> $11|falsestring|
         return foo -> -ERR user_script:1: Script attempted to access nonexistent global variable 'foo' @ @user_script:1.
         return print -> -ERR user_script:1: Script attempted to access nonexistent global variable 'print' @ @user_script:1.
         return os -> -ERR user_script:1: Script attempted to access nonexistent global variable 'os' @ @user_script:1.
         return dofile -> -ERR user_script:1: Script attempted to access nonexistent global variable 'dofile' @ @user_script:1.
         x = 1 -> -ERR user_script:1: Attempt to modify a readonly table @ @user_script:1.
         redis.foo = 1 -> -ERR user_script:1: Attempt to modify a readonly table @ @user_script:1.
         string.foo = 1 -> -ERR user_script:1: Attempt to modify a readonly table @ @user_script:1.
         KEYS = {} -> -ERR user_script:1: Attempt to modify a readonly table @ @user_script:1.
         getmetatable('').__index = 1 -> -ERR user_script:1: Attempt to modify a readonly table @ @user_script:1.
         return getmetatable('').__index == string -> :1|
         error('boom') -> -ERR user_script:1: boom @ @user_script:1.
         error({err='MY boom'}) -> -MY boom @ @user_script:1.
         error(redis.error_reply('FOO x')) -> -FOO x @ @user_script:1.
         return redis.error_reply('x y') -> -x y|
         return redis.error_reply('-X y') -> -X y|
         return redis.error_reply('x') -> -ERR x|
         return redis.error_reply('-') -> -ERR |
         return redis.error_reply('--x y') -> --x y|
         return redis.error_reply('a \\r\\nb\\r\\n') -> -a b|
         return redis.error_reply('a\\0b c') -> -ERR a|
         return redis.error_reply(1) -> -ERR wrong number or type of arguments|
         return redis.status_reply(1) -> -ERR wrong number or type of arguments|
         return {err='-x'} -> --x|
         return {err='a\\r\\nb\\r\\n'} -> -a  b|
         return {err='a\\0b'} -> -a|
         return {ok='a\\r\\nb\\r\\n'} -> +a  b  |
         return {ok='a\\0b'} -> +a|
         error({err='a\\0b'}) -> -a @ @user_script:1.
         error({err=1}) -> -1 @ @user_script:1.
         error('a\\0b') -> -ERR user_script:1: a @ @user_script:1.
         error() -> -ERR nil @ @user_script:1.
         return redis.status_reply('x y') -> +x y|
         local x = = 1 -> -ERR Error compiling script (new function): user_script:1: unexpected symbol near '='
         return redis.sha1hex() -> -ERR wrong number of arguments @ @user_script:1.
         return redis.log('x') -> -ERR redis.log() requires two arguments or more. @ @user_script:1.
         return redis.setresp(4) -> -ERR RESP version must be 2 or 3. @ @user_script:1.
         return redis.setresp() -> -ERR redis.setresp() requires one argument. @ @user_script:1.
         return redis.sha1hex('') -> $40|da39a3ee5e6b4b0d3255bfef95601890afd80709|
         local function f() return f() + 1 end return f() -> -ERR user_script:1: stack overflow @ @user_script:1.
         return loadstring('return 1')() -> :1|
         return loadstring('return os')() -> -ERR [string \"return os\"]:1: Script attempted to access nonexistent global variable 'os' @ return os:1.",
    );
}

#[test]
fn texts_that_are_not_utf_8_go_out_unchanged() {
    let mut interpreter = interpreter();
    let mut host = Little::default();
    for (text, expected) in [
        ("return {ok='a\\255b'}", &b"+a\xffb\r\n"[..]),
        ("return redis.status_reply('\\255\\254')", b"+\xff\xfe\r\n"),
        ("return {err='a\\255b'}", b"-a\xffb\r\n"),
        ("return redis.error_reply('a \\255')", b"-a \xff\r\n"),
        ("return {big_number='1\\255'}", b"$2\r\n1\xff\r\n"),
    ] {
        let name = digest(text.as_bytes());
        let script = Script { digest: &name, text: text.as_bytes(), keys: &[], arguments: &[] };
        let mut bytes = Vec::new();
        let mut reply = ReplyWriter::new(&mut bytes, Version::Resp2);
        interpreter.run(script, false, &mut host, &mut reply).unwrap();
        assert_eq!(bytes.escape_ascii().to_string(), expected.escape_ascii().to_string(), "{text}");
    }
}

#[test]
fn libraries_answer_as_in_redis() {
    check(
        r#"return cjson.encode({1,2,{a=1},[5]=2}) -> $20|[1,2,{"a":1},null,2]|
         return cjson.encode({a={}}) -> $8|{"a":{}}|
         return cjson.encode('x"/') -> $7|"x\"\/"|
         return cjson.encode(123456789012345) -> $19|1.2345678901234e+14|
         return cjson.encode({[1]=1,[100]=2}) -> -ERR user_script:1: Cannot serialise table: excessively sparse array @ @user_script:1.
         return cjson.encode(1/0) -> -ERR user_script:1: Cannot serialise number: must not be NaN or Inf @ @user_script:1.
         local t={} t.t=t return cjson.encode(t) -> -ERR user_script:1: Cannot serialise, excessive nesting (1001) @ @user_script:1.
         return cjson.decode('[1,2.5,null,true,{"a":"b"}]')[5].a -> $1|b|
         return cjson.decode('null') == cjson.null -> :1|
         return bit.bor(1,2) -> :3|
         return bit.bnot(0) -> :-1|
         return bit.lshift(1,31) -> :-2147483648|
         return bit.tohex(255) -> $8|000000ff|
         return {bit.arshift(-8,1), bit.rshift(-8,1), bit.rol(1,33), bit.ror(1,1), bit.bswap(1), bit.bxor(5,3), bit.band(7,3), bit.tobit(2^33+5)} -> *8|:-4|:2147483644|:2|:-2147483648|:16777216|:6|:3|:5|
         return {cmsgpack.unpack(cmsgpack.pack(1,'a',true,-5))} -> *4|:1|$1|a|:1|:-5|
         return cmsgpack.unpack(cmsgpack.pack({1,2,{b=1.5}}))[3].b * 2 -> :3|
         return {struct.unpack('>I2s', struct.pack('>I2s', 5, 'ab'))} -> *3|:5|$2|ab|:6|
         return struct.size('>I2i4d') -> :14|"#,
    );
}

#[test]
fn a_script_leaves_nothing_behind_and_logs() {
    let mut interpreter = interpreter();
    let mut host = Little::default();
    let mut ask = |text: &str| answer(&mut interpreter, &mut host, text, &[], &[]);
    assert_eq!(
        ask("rawset(_G, 'x', 1) return 1"),
        "-ERR Attempt to modify a readonly table @ @user_script:1."
    );
    assert_eq!(
        ask("local f = string.rep string = nil"),
        "-ERR user_script:1: Attempt to modify a readonly table @ @user_script:1."
    );
    assert_eq!(ask("redis.log(redis.LOG_WARNING, 'a', 1)"), "$-1|");
    assert_eq!(ask("return #KEYS"), ":0|");
    assert_eq!(host.log, [(3, "a 1".to_owned())]);
}

#[test]
fn a_script_without_end_is_killed_also_where_it_catches_errors_or_runs_in_a_coroutine() {
    for text in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
    ] {
        let watch = Watch::default();
        let mut interpreter =
            Interpreter::new(Limits { memory: 8 << 20, compiled: 10 }, watch.clone()).unwrap();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            watch.kill();
        });
        let reply = answer(&mut interpreter, &mut Little::default(), text, &[], &[]);
        assert!(reply.contains("killed by user"), "{text}: {reply}");
        killer.join().unwrap();
    }
}

#[test]
fn in_haste_a_long_script_gives_up_unless_it_has_changed_something() {
    let mut interpreter = interpreter();
    let mut host = Little::default();
    let mut run = |text: &str| {
        let name = digest(text.as_bytes());
        let script = Script { digest: &name, text: text.as_bytes(), keys: &[], arguments: &[] };
        let mut bytes = Vec::new();
        interpreter
            .run(script, true, &mut host, &mut ReplyWriter::new(&mut bytes, Version::Resp2))
            .map(|()| bytes)
    };
    let long = "for i = 1, 1000000 do end return redis.call('get', 'k')";
    assert_eq!(run(long), Err(Failure::TooLong));
    assert_eq!(run("redis.call('set', 'k', 1) for i = 1, 1000000 do end return 2"), Ok(b":2\r\n".to_vec()));
    assert_eq!(run("return 3"), Ok(b":3\r\n".to_vec()));
}

#[test]
fn memory_has_a_limit_and_the_state_goes_on() {
    let mut interpreter =
        Interpreter::new(Limits { memory: 8 << 20, compiled: 10 }, Watch::default()).unwrap();
    let mut host = Little::default();
    for text in ["return #string.rep('x', 1e8)", "local t = {} while true do t[#t + 1] = {} end"] {
        let reply = answer(&mut interpreter, &mut host, text, &[], &[]);
        assert!(reply.contains("not enough memory"), "{reply}");
    }
    assert_eq!(answer(&mut interpreter, &mut host, "return 1", &[], &[]), ":1|");
    assert!(interpreter.memory() <= 8 << 20);
}
