//! Commands about the server: replies and error texts as Redis 7.0 gives them.

use crate::command::table;
use crate::session::test_support::Driver;

#[test]
fn the_keyspace_is_counted_measured_and_emptied() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "dbsize -> :0|
         mset a 1 b 2 -> +OK|
         dbsize -> :2|
         memory usage none -> $-1|
         memory usage a samples x -> -ERR value is not an integer or out of range|
         memory usage a samples -1 -> -ERR syntax error|
         memory usage a foo -> -ERR syntax error|
         flushall later -> -ERR syntax error|
         flushall sync async -> -ERR syntax error|
         flushdb ASYNC -> +OK|
         dbsize -> :0|
         set a 1 -> +OK|
         flushall -> +OK|
         exists a -> :0|",
    );
    client.ask("set a 1");
    let bytes: i64 = client.ask("memory usage a samples 0")[1..].trim().parse().unwrap();
    assert!((2..200).contains(&bytes), "{bytes}");
}

#[test]
fn settings_are_read_and_changed() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "config get maxmemory -> *2|$9|maxmemory|$8|67108864|
         config get save appendonly -> *4|$4|save|$0||$10|appendonly|$2|no|
         config get MAXMEMORY-P* maxmemory-policy -> *2|$16|maxmemory-policy|$11|allkeys-lru|
         config get nosuch -> *0|
         config set maxmemory 2mb maxmemory-policy noeviction -> +OK|
         config get maxmemory -> *2|$9|maxmemory|$7|2097152|
         config get maxmemory-policy -> *2|$16|maxmemory-policy|$10|noeviction|
         config set maxmemory 0 -> +OK|
         config get maxmemory -> *2|$9|maxmemory|$1|0|
         config set requirepass secret protected-mode no timeout 30 maxclients 50 maxmemory-samples 10 -> +OK|
         config get requirepass -> *2|$11|requirepass|$6|secret|
         config get timeout -> *2|$7|timeout|$2|30|
         config get maxmemory-samples -> *2|$17|maxmemory-samples|$2|10|
         config set save \"\" appendonly no -> +OK|
         config resetstat -> +OK|",
    );
    assert!(!driver.shared.settings.protected_mode());
    assert_eq!(driver.shared.settings.max_clients(), 50);
    driver.connect().check("auth secret", "+OK\r\n");
    assert_eq!(driver.connect().ask("ping"), "-NOAUTH Authentication required.\r\n");
}

#[test]
fn a_setting_that_cannot_be_changes_nothing() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "config get -> -ERR wrong number of arguments for 'config|get' command|
         config set timeout -> -ERR wrong number of arguments for 'config|set' command|
         config set timeout 5 x -> -ERR wrong number of arguments for 'config|set' command|
         config set nosuch 1 -> -ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'|
         config set databases 2 -> -ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config|
         config set timeout 5 timeout 6 -> -ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter|
         config set timeout 5 maxmemory lots -> -ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value|
         config set timeout -1 -> -ERR CONFIG SET failed (possibly related to argument 'timeout') - argument must be between 0 and 2147483647 inclusive|
         config set maxclients 0 -> -ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument must be between 1 and 4294967295 inclusive|
         config set protected-mode maybe -> -ERR CONFIG SET failed (possibly related to argument 'protected-mode') - argument must be 'yes' or 'no'|
         config set loglevel loud -> -ERR CONFIG SET failed (possibly related to argument 'loglevel') - argument(s) must be one of the following: debug, verbose, notice, warning|
         config get timeout -> *2|$7|timeout|$1|0|",
    );
    let reply = client.ask("config set maxmemory-policy allkeys-best");
    assert!(
        reply.starts_with("-ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - "),
        "{reply}"
    );
    assert!(client.ask("config set appendonly yes").starts_with("-ERR CONFIG SET failed"));
}

#[test]
fn info_counts_what_happened() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.ask("set a 1");
    client.ask("get a");
    client.ask("get none");
    client.ask("nonsense");
    let info = client.ask("info");
    for line in [
        "# Server",
        "redis_version:7.0.15",
        "connected_clients:1",
        "maxmemory:67108864",
        "maxmemory_policy:allkeys-lru",
        "total_commands_processed:3",
        "keyspace_hits:1",
        "keyspace_misses:1",
        "total_error_replies:1",
        "db0:keys=1,expires=0,avg_ttl=0",
    ] {
        assert!(info.contains(&format!("\r\n{line}\r\n")), "{line} in {info}");
    }
    client.ask("config resetstat");
    let stats = client.ask("info stats");
    assert!(stats.contains("keyspace_hits:0\r\n") && !stats.contains("# Server"), "{stats}");
    let two = client.ask("info CPU keyspace");
    assert!(two.contains("# CPU") && two.contains("# Keyspace") && !two.contains("# Memory"), "{two}");
    client.check("info nosuch", "$0\r\n\r\n");
    client.ask("hello 3");
    assert!(client.ask("info server").starts_with('='), "verbatim text in RESP3");
}

#[test]
fn info_has_the_fields_that_watchers_look_for() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.ask("set a 1 ex 100");
    client.ask("set b 1 ex 300");
    let info = client.ask("info everything");
    let field = |name: &str| {
        let found = info.split("\r\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.unwrap_or_else(|| panic!("no {name} in {info}")).to_owned()
    };
    let number = |name: &str| field(name).parse::<u64>().unwrap();
    let used = number("used_memory");
    assert_eq!(number("used_memory_dataset") + number("used_memory_overhead"), used);
    assert!(number("used_memory_peak") >= used && used > number("used_memory_startup"));
    assert!(number("total_system_memory") > 1 << 24);
    assert!(number("used_memory_rss") > 1 << 20);
    assert!(field("mem_fragmentation_ratio").parse::<f64>().unwrap() > 0.0);
    assert!(field("used_memory_dataset_perc").ends_with('%'));
    for name in
        ["client_recent_max_input_buffer", "client_recent_max_output_buffer", "loading", "aof_enabled"]
    {
        assert_eq!(number(name), 0, "{name}");
    }
    assert_eq!(field("hz"), "10");
    let keyspace = field("db0");
    let ttl: u64 = keyspace.strip_prefix("keys=2,expires=2,avg_ttl=").unwrap().parse().unwrap();
    assert!((199_000..=200_000).contains(&ttl), "{ttl}");
}

#[test]
fn commands_and_errors_are_counted_by_name() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.send(b"set a x\r\nget a\r\nget a\r\nget\r\nincr a\r\nclient id\r\nnonsense\r\nset a y ex 0\r\n");
    let info = client.ask("info commandstats");
    for (name, calls, rejected, failed) in
        [("set", 2, 0, 1), ("get", 2, 1, 0), ("incr", 1, 0, 1), ("client|id", 1, 0, 0)]
    {
        let found = info.split("\r\n").find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:")));
        let fields: Vec<&str> = found.unwrap().split(',').collect();
        let [one, usec, each, other, last] = fields[..] else { panic!("{info}") };
        assert_eq!(one, format!("calls={calls}"));
        assert_eq!(other, format!("rejected_calls={rejected}"));
        assert_eq!(last, format!("failed_calls={failed}"));
        let usec: u64 = usec.strip_prefix("usec=").unwrap().parse().unwrap();
        let each: f64 = each.strip_prefix("usec_per_call=").unwrap().parse().unwrap();
        assert!((each - usec as f64 / f64::from(calls)).abs() <= 1.0, "{usec} {each}");
    }
    assert!(!info.contains("cmdstat_mget") && !info.contains("cmdstat_info"), "{info}");
    assert!(client.ask("info errorstats").ends_with("# Errorstats\r\nerrorstat_ERR:count=4\r\n\r\n"));
    assert!(client.ask("info").contains("# Errorstats") && !client.ask("info").contains("# Commandstats"));
    assert!(client.ask("info stats").contains("total_error_replies:4\r\n"));
    client.ask("config resetstat");
    assert!(client.ask("info errorstats").ends_with("# Errorstats\r\n\r\n"));
    let info = client.ask("info commandstats");
    assert!(info.contains("cmdstat_config|resetstat:calls=1,") && !info.contains("cmdstat_get"), "{info}");
}

#[test]
fn command_describes_the_table() {
    let driver = Driver::new();
    let mut client = driver.connect();
    let count = table::commands().count();
    client.check("command count", &format!(":{count}\r\n"));
    assert!(client.ask("command").starts_with(&format!("*{count}\r\n*10\r\n")));
    assert!(client.ask("command docs").starts_with(&format!("*{}\r\n", 2 * count)));
    assert!(client.ask("command list").starts_with(&format!("*{}\r\n$4\r\nping\r\n", table::COUNT)));
    let get = "*1|*10|$3|get|:2|*2|+readonly|+fast|:1|:1|:1|*3|+@read|+@string|+@fast|*0|*1|*6|$5|flags|*2|+RO|+access|\
               $12|begin_search|*4|$4|type|$5|index|$4|spec|*2|$5|index|:1|$9|find_keys|*4|$4|type|$5|range|$4|spec|\
               *6|$7|lastkey|:0|$7|keystep|:1|$5|limit|:0|*0|";
    assert_eq!(client.ask("command info get").replace("\r\n", "|"), get);
    client.check_all(
        "command info nosuch -> *1|$-1|
         command docs nosuch -> *0|
         command list filterby pattern ge*t -> *2|$3|get|$6|getset|
         command list filterby pattern memory|u* -> *1|$12|memory|usage|
         command list filterby module json -> *0|
         command list filterby foo bar -> -ERR syntax error|
         command list foo -> -ERR syntax error|
         command nosuch -> -ERR unknown subcommand 'nosuch'. Try COMMAND HELP.|",
    );
    assert!(client.ask("command list filterby aclcat dangerous").contains("flushall"));
    assert!(client.ask("command docs client").contains("subcommands\r\n"));
    assert!(client.ask("config help").contains("+RESETSTAT\r\n"));
}

#[test]
fn keys_of_a_request_are_told() {
    let driver = Driver::new();
    let mut client = driver.connect();
    client.check_all(
        "command getkeys mset a 1 b 2 -> *2|$1|a|$1|b|
         command getkeys GET k -> *1|$1|k|
         command getkeys del a b c -> *3|$1|a|$1|b|$1|c|
         command getkeys memory usage k -> *1|$1|k|
         command getkeys rename a b -> *2|$1|a|$1|b|
         command getkeys ping x -> -ERR The command has no key arguments|
         command getkeys memory nosuch -> -ERR Invalid command specified|
         command getkeys nosuch k -> -ERR Invalid command specified|
         command getkeys get k v -> -ERR Invalid number of arguments specified for command|
         command getkeys -> -ERR wrong number of arguments for 'command|getkeys' command|
         command getkeysandflags set k v -> *1|*2|$1|k|*2|+OW|+update|
         command getkeysandflags set k v get -> *1|*2|$1|k|*3|+RW|+access|+update|
         command getkeysandflags renamenx a b -> *2|*2|$1|a|*3|+RW|+access|+delete|*2|$1|b|*2|+OW|+insert|
         command getkeysandflags copy a b -> *2|*2|$1|a|*2|+RO|+access|*2|$1|b|*2|+OW|+update|",
    );
}

#[test]
fn time_is_now() {
    let reply = Driver::new().connect().ask("time");
    let seconds: u64 = reply.split("\r\n").nth(2).unwrap().parse().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(now - seconds <= 1);
}

#[test]
fn the_slowest_command_is_told_until_it_is_reset() {
    let driver = Driver::new();
    let mut client = driver.connect();
    driver.shared.counters.note_duration(std::time::Duration::from_secs(3600));
    client.ask("ping");
    assert!(client.ask("info stats").contains("slowest_command_usec:3600000000\r\n"));
    client.ask("config resetstat");
    assert!(!client.ask("info stats").contains("slowest_command_usec:3600000000\r\n"));
    assert!(driver.shared.counters.slowest_us() > 0, "each of these took some time");
}

#[test]
fn the_mean_of_the_longest_lifetimes_is_no_sum_of_64_bits() {
    let driver = Driver::new();
    let mut client = driver.connect();
    for number in 0..40 {
        client.check(&format!("set k{number} v pxat 9223372036854775000"), "+OK\r\n");
    }
    let info = client.ask("info keyspace");
    let ttl: u64 = info.split("avg_ttl=").nth(1).unwrap().trim_end().parse().unwrap();
    assert!(ttl > i64::MAX as u64 / 2 && ttl < i64::MAX as u64, "{info}");
}
