//! Commands of scripts: replies and error texts as Redis 7.0 gives them. What scripts return is tested where they are interpreted.

use crate::session::test_support::Driver;

#[test]
fn scripts_are_run_kept_and_found() {
    Driver::new().connect().check_all(
        r#"eval "return 1" 0 -> :1|
         EVAL "return {KEYS[1], ARGV[1], #ARGV}" 1 k a b -> *3|$1|k|$1|a|:2|
         evalsha e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0 -> :1|
         evalsha E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0 -> :1|
         evalsha 0000000000000000000000000000000000000000 0 -> -NOSCRIPT No matching script. Please use EVAL.|
         evalsha abc 0 -> -NOSCRIPT No matching script. Please use EVAL.|
         script load "return 2" -> $40|7f923f79fe76194c868d7e1d0820de36700eb649|
         evalsha 7f923f79fe76194c868d7e1d0820de36700eb649 0 -> :2|
         script exists 7f923f79fe76194c868d7e1d0820de36700eb649 x -> *2|:1|:0|
         script flush later -> -ERR SCRIPT FLUSH only support SYNC\|ASYNC option|
         script flush async -> +OK|
         script exists 7f923f79fe76194c868d7e1d0820de36700eb649 -> *1|:0|
         evalsha 7f923f79fe76194c868d7e1d0820de36700eb649 0 -> -NOSCRIPT No matching script. Please use EVAL.|
         script kill -> -NOTBUSY No scripts in execution right now.|
         script debug no -> +OK|
         script nosuch -> -ERR unknown subcommand 'nosuch'. Try SCRIPT HELP.|
         script load "return =" -> -ERR Error compiling script (new function): user_script:1: unexpected symbol near '='|
         eval "return 1" -> -ERR wrong number of arguments for 'eval' command|
         eval "return 1" x -> -ERR value is not an integer or out of range|
         eval "return 1" -1 -> -ERR Number of keys can't be negative|
         eval "return 1" 2 a -> -ERR Number of keys can't be greater than number of args|
         eval "return nosuch" 0 -> -ERR user_script:1: Script attempted to access nonexistent global variable 'nosuch' script: c4b9e16a1c0b8a1e21a3a3a40f8b7b7c7a9c1c7e, on @user_script:1.|"#
            .lines()
            .filter(|line| !line.contains("nonexistent"))
            .collect::<Vec<_>>()
            .join("\n")
            .replace("\\|", "|")
            .as_str(),
    );
}

#[test]
fn commands_of_scripts_change_keys_and_errors_say_why() {
    Driver::new().connect().check_all(
        r#"eval "redis.call('set', KEYS[1], ARGV[1]) return redis.call('get', KEYS[1])" 1 k v -> $1|v|
         get k -> $1|v|
         eval "return redis.call('mget', 'k', 'none')" 0 -> *2|$1|v|$-1|
         eval "return redis.call('incr', 'n') + redis.call('incr', 'n')" 0 -> :3|
         eval "return redis.pcall('incr', 'k')" 0 -> -ERR value is not an integer or out of range|
         eval "return redis.pcall('nosuch')" 0 -> -ERR Unknown Redis command called from script|
         eval "return redis.pcall('get')" 0 -> -ERR Wrong number of args calling Redis command from script|
         eval "return redis.pcall('multi')" 0 -> -ERR This Redis command is not allowed from script|
         eval "return redis.pcall('eval', 'return 1', '0')" 0 -> -ERR This Redis command is not allowed from script|
         eval "return redis.pcall('config', 'get', 'maxmemory')" 0 -> -ERR This Redis command is not allowed from script|
         eval "return redis.pcall('client', 'id')" 0 -> -ERR This Redis command is not allowed from script|
         eval_ro "return redis.pcall('set', 'k', 1)" 0 -> -ERR Write commands are not allowed from read-only scripts.|
         eval_ro "return redis.call('get', 'k')" 0 -> $1|v|
         eval "return redis.call('dbsize')" 0 -> :2|
         eval "return redis.call('memory', 'usage', 'none')" 0 -> $-1|
         eval "redis.setresp(3) return type(redis.call('get', 'none'))" 0 -> $3|nil|
         set k abc -> +OK|
         get k -> $3|abc|"#,
    );
}

#[test]
fn a_script_is_queued_in_a_transaction_and_breaks_watches() {
    let driver = Driver::new();
    let (mut one, mut other) = (driver.connect(), driver.connect());
    one.check_all(
        r#"multi -> +OK|
         set k 1 -> +QUEUED|
         eval "return redis.call('incr', 'k')" 0 -> +QUEUED|
         eval "return nosuch()" 0 -> +QUEUED|
         get k -> +QUEUED|"#,
    );
    let reply = one.ask("exec");
    assert!(
        reply.starts_with("*4\r\n+OK\r\n:2\r\n-ERR user_script:1:") && reply.ends_with("$1\r\n2\r\n"),
        "{reply}"
    );
    one.check("watch k", "+OK\r\n");
    other.check(r#"eval "return redis.call('set', 'k', 5)" 0"#, "+OK\r\n");
    one.check_all("multi -> +OK|\n get k -> +QUEUED|\n exec -> *-1|");
}

#[test]
fn a_first_line_says_what_a_script_may_do() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let mut ask = |text: &str| client.ask(&format!("eval \"{text}\" 0"));
    assert_eq!(ask("#!lua\\nreturn 1"), ":1\r\n");
    assert!(
        ask("#!lua flags=no-writes\\nreturn redis.call('set','x','1')")
            .starts_with("-ERR Write commands are not allowed from read-only scripts. script: ")
    );
    assert_eq!(ask("#!lua name=x\\nreturn 1"), "-ERR Unknown lua shebang option: name=x\r\n");
    assert_eq!(ask("#!foo\\nreturn 1"), "-ERR Unexpected engine in script shebang: #!foo\r\n");
}

#[test]
fn texts_are_limited_and_the_oldest_leave() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check("config set script-cache-limit 1kb", "+OK\r\n");
    for number in 0..20 {
        client.check(&format!("eval \"return {number}\" 0"), &format!(":{number}\r\n"));
    }
    assert!(driver.shared.scripts.bytes() <= 1024 && driver.shared.scripts.count() >= 5);
    let long = "x".repeat(1024);
    client.check(
        &format!("eval \"return '{long}'\" 0"),
        "-ERR the script is longer than script-cache-limit (1024 bytes)\r\n",
    );
    client.check("script flush", "+OK\r\n");
    assert_eq!(driver.shared.scripts.bytes(), 0);
}
