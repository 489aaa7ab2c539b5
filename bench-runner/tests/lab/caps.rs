//! Are caps looked into, and traces replayed, on real servers?

use super::{assert_figures, cell, committed, is_missing, lab, redis_is_missing, run, step, value};
use bench_runner::model::Status;
use bench_runner::plan::{CapLoad, CapPhase, Step, TailPhase, Work};

#[test]
fn a_memory_cap_is_looked_into_on_redis() {
    if redis_is_missing() {
        return;
    }
    let lab = lab(committed());
    let cap = |name: &str, cap_bytes, load| {
        let work = Work::MemoryCap { phase: CapPhase { cell: cell(name), cap_bytes, load } };
        let step = Step { cap_bytes: Some(cap_bytes), ..step("redis-server", work) };
        run(&lab, &step).remove(name).unwrap()
    };
    let fill =
        cap("fill", 2 << 20, CapLoad::Fill { keys: 4_000, value_bytes: 1_024, oversize_bytes: 3 << 20 });
    assert_figures(&fill);
    assert_eq!(value(&fill, "cap_bytes", None), 2_097_152.0);
    assert!(value(&fill, "evictions", None) > 1_000.0);
    assert!(value(&fill, "survivors", None) < 2_000.0 && value(&fill, "accounted_bytes", None) > 1e6);
    assert_eq!(fill.facts["survival_by_insertion_age"].as_array().unwrap().len(), 40);
    assert!(fill.facts["oversize_reply"].is_string());

    let grow = CapLoad::Overwrite { clients: 20, keys: 5_000, value_bytes: (64, 8_192), seconds: 0.4 };
    let grow = cap("grow", 16 << 20, grow);
    assert_figures(&grow);
    assert!(
        value(&grow, "evictions", None) > 0.0 && grow.facts["looks_at_the_account"].as_u64().unwrap() > 1
    );

    let churn = CapLoad::TtlChurn { clients: 20, keys: 5_000, value_bytes: 256, ttl_ms: 100, seconds: 0.3 };
    let churn = cap("churn", 16 << 20, churn);
    assert_figures(&churn);
    assert!(churn.facts["expired"].as_u64().unwrap() > 100);
}

#[test]
fn a_trace_has_its_hit_ratio_whatever_the_cache_speaks() {
    const CAP: u64 = 16 << 20;
    let lab = lab(committed());
    for target in ["redis-server", "memcached"] {
        if is_missing(target) {
            continue;
        }
        let cap = |name: &str, load| {
            let work = Work::MemoryCap { phase: CapPhase { cell: cell(name), cap_bytes: CAP, load } };
            run(&lab, &Step { cap_bytes: Some(CAP), ..step(target, work) }).remove(name).unwrap()
        };
        let load = CapLoad::Trace { keys: 100_000, value_bytes: (64, 1_024), requests: 200_000 };
        let trial = cap("trace", load);
        assert_eq!((trial.status, trial.reason.as_deref()), (Status::Ok, None), "{target}");
        let (ratio, exact) = (value(&trial, "hit_ratio", None), value(&trial, "hit_ratio_exact_lru", None));
        assert!(ratio > 0.3 && ratio < exact, "{target}: {ratio} beside {exact}");
        assert!(value(&trial, "evictions", None) > 1_000.0, "{target}");
        let held = trial.facts["payload_bytes_held"].as_u64().unwrap();
        assert!(held > CAP / 4 && held <= CAP, "{target} holds {held} bytes");
        let told = value(&trial, "accounted_bytes", None);
        // Redis counts its clients' buffers, too, and is some hundred bytes above its cap at times.
        assert!(told > held as f64 && told <= CAP as f64 * 1.01, "{target} says {told} of {held} bytes");
        if target == "memcached" {
            let churn =
                CapLoad::TtlChurn { clients: 2, keys: 50, value_bytes: 256, ttl_ms: 100, seconds: 0.1 };
            assert_eq!(cap("churn", churn).status, Status::Skipped);
        }
    }
}

#[test]
fn a_hostile_mix_and_idle_connections_show_in_the_memory_of_the_process() {
    if redis_is_missing() {
        return;
    }
    let lab = lab(committed());
    let cap = |name: &str, cap_bytes, load| {
        let work = Work::MemoryCap { phase: CapPhase { cell: cell(name), cap_bytes, load } };
        run(&lab, &Step { cap_bytes: Some(cap_bytes), ..step("redis-server", work) }).remove(name).unwrap()
    };
    let mix = cap("mix", 4 << 20, CapLoad::Hostile { clients: 40, keys: 3_000, seconds: 1.5 });
    assert_eq!((mix.status, mix.reason.as_deref()), (Status::Ok, None));
    assert_eq!((mix.counts.errors, mix.facts["idle_connections"].as_u64()), (0, Some(28)));
    assert!(mix.counts.operations > 1_000);
    // It bounds neither replies that nobody reads nor what the allocator leaves unused.
    assert!(value(&mix, "rss_bytes_growth", None) > f64::from(4 << 20), "{:?}", mix.values);
    let start = value(&mix, "rss_bytes_start", None);
    assert!(value(&mix, "rss_bytes_peak", None) > start && start > 1e6);

    let idle = cap("idle", 64 << 20, CapLoad::Idle { clients: 500 });
    assert_eq!((idle.status, idle.reason.as_deref()), (Status::Ok, None));
    let each = value(&idle, "rss_bytes_per_connection", None);
    assert!((100.0..100_000.0).contains(&each), "{each} bytes for a connection");
    assert!(value(&idle, "rss_bytes_growth", None) >= each * 500.0 * 0.999);
}

#[test]
fn requests_at_a_rate_are_answered_while_a_store_grows_expires_and_is_flushed() {
    if redis_is_missing() {
        return;
    }
    let phase = TailPhase {
        grow: cell("grow"),
        expire: cell("expire"),
        flush: cell("flush"),
        clients: 4,
        per_second: 2_000,
        kept_keys: 100,
        keys: 50_000,
        expiring_keys: 2_000,
        within_ms: 200,
        value_bytes: 64,
    };
    let trials = run(&lab(committed()), &step("redis-server", Work::Tail { phase: Box::new(phase) }));
    assert_eq!(trials.len(), 3);
    for (name, trial) in &trials {
        assert_eq!((trial.status, trial.reason.as_deref()), (Status::Ok, None), "{name}");
        let open = trial.open_loop.as_ref().unwrap();
        assert_eq!((open.skipped, trial.counts.errors), (0, 0), "{name}");
        assert!(trial.counts.operations > 1_500, "{name}: {}", trial.counts.operations);
        assert!(trial.histograms.iter().all(|one| one.from_intended_start), "{name}");
        assert!(value(trial, "latency_ns_p999", None) >= value(trial, "latency_ns_p50", None), "{name}");
    }
    assert!(value(&trials["grow"], "grown_keys_per_second", None) > 1_000.0);
    assert_eq!(value(&trials["grow"], "keys_held", None), 50_000.0);
    assert!(value(&trials["flush"], "keys_held", None) <= 100.0);
}
