//! What the HTTP paths say, without a socket of their own.

use super::*;
use crate::session::test_support::Driver;

#[test]
fn every_metric_has_a_type_and_counts_what_info_counts() {
    let driver = Driver::new();
    let mut client = driver.connect();
    for command in ["set a 1", "get a", "get none", "get", "incr a", "set b x ex 100", "incr b", "nonsense"] {
        client.ask(command);
    }
    driver.shared.state.set_ready(&driver.shared.database);
    let registry = metrics::registry(Arc::new(driver.shared));
    let text = metrics::write(&registry).unwrap();
    for line in [
        "plumbkv_commands_total 6",
        "plumbkv_command_calls_total{command=\"get\"} 2",
        "plumbkv_command_rejections_total{command=\"get\"} 1",
        "plumbkv_command_failures_total{command=\"incr\"} 1",
        "plumbkv_error_replies_total{code=\"ERR\"} 3",
        "plumbkv_connected_clients 1",
        "plumbkv_keys 2",
        "plumbkv_keys_with_expiry 1",
        "plumbkv_keyspace_hits_total 1",
        "plumbkv_keyspace_misses_total 1",
        "plumbkv_memory_limit_bytes 67108864",
        "# TYPE plumbkv_memory_used_bytes gauge",
        "# UNIT plumbkv_network_received_bytes bytes",
        "# EOF",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    let info =
        format!("plumbkv_build_info{{version=\"{}\",io_backend=\"none\"}} 1", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&info), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = name.trim_end_matches("_total").trim_end_matches("_info");
        assert!(text.contains(&format!("# TYPE {family} ")), "{line} has no type");
        assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn without_a_cap_there_is_no_limit_to_compare_with() {
    let driver = Driver::with_options(|options| options, u64::MAX);
    let text = metrics::write(&metrics::registry(Arc::new(driver.shared))).unwrap();
    assert!(text.contains("plumbkv_memory_used_bytes ") && !text.contains("memory_limit"), "{text}");
}
