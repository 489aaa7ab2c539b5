//! Does one section of a definition make sense by itself? Bounds, and keys that exclude or need each other.

use super::cap::Cap;
use super::definition::PerProfile;
use super::keys::{Expiry, PerKey, Tail};
use super::load::{Load, LoadOperation};
use super::words::{ClientProgram, Protocol, Seek};
use std::collections::HashSet;
use std::fmt::Display;

/// Connections a cell may have: client and server each live under a hard limit of 20,000 open files here.
const CLIENTS_MAX: u32 = 10_000;
/// Requests in flight per connection a cell may have.
const PIPELINE_MAX: u32 = 1_024;
/// Largest value a load writes, bytes.
pub(super) const VALUE_MAX: u32 = 64 << 20;
/// Largest key space: keys carry twelve digits.
const KEYS_MAX: u64 = 999_999_999_999;

/// Smallest memory limit a process here can start in, bytes.
pub(super) const LIMIT_MIN: u64 = 16 << 20;

pub(super) fn load(faults: &mut Faults, load: &Load) {
    if load.is_of_a_page() {
        page(faults, load);
    } else if load.value_mix.is_empty() {
        list(faults, "value_bytes", &load.value_bytes, 1, VALUE_MAX);
    } else {
        faults.unless(load.value_bytes.is_empty(), || {
            "value_mix already says the sizes: leave value_bytes out".to_owned()
        });
        for [bytes, weight] in &load.value_mix {
            between(faults, "value_mix bytes", *bytes, 1, VALUE_MAX);
            between(faults, "value_mix weight", *weight, 1, 1_000_000);
        }
    }
    list(faults, "clients", &load.clients, 1, CLIENTS_MAX);
    list(faults, "pipeline", &load.pipeline, 1, PIPELINE_MAX);
    faults.unless((1..=KEYS_MAX).contains(&load.keys), || format!("keys must be 1 to {KEYS_MAX}"));
    faults.unless(!load.placement.is_empty(), || "placement is empty".to_owned());
    if load.operation == LoadOperation::Mixed {
        list(faults, "set_percent", &load.set_percent, 1, 99);
    } else {
        faults
            .unless(load.set_percent.is_empty(), || "set_percent belongs to operation \"mixed\"".to_owned());
    }
    if !load.requests.is_empty() {
        list(faults, "requests", &load.requests, 1, 1_000_000_000);
    }
    let mut drawn = HashSet::new();
    for each in &load.distribution {
        faults.unless(drawn.insert(each), || format!("distribution holds {} twice", each.name()));
    }
    if let Some(ttl_ms) = load.ttl_ms {
        between(faults, "ttl_ms", ttl_ms, 1, 86_400_000);
        faults.unless(matches!(load.operation, LoadOperation::Set | LoadOperation::Mixed), || {
            "ttl_ms belongs to operation \"set\" or \"mixed\"".to_owned()
        });
    }
    if let Some(seconds) = &load.seconds {
        per_profile(faults, "seconds", seconds, 0.05, 600.0);
    }
    if let Some(trials) = &load.trials {
        per_profile(faults, "trials", trials, 0, 100);
    }
    if let Some(limit) = load.memory_limit_bytes {
        between(faults, "memory_limit_bytes", limit, LIMIT_MIN, 1 << 40);
    }
    if let Some(variant) = &load.variant {
        let halves = variant.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
        faults.unless(halves.is_some(), || {
            format!("variant `{variant}` must be a switch and its value: `allocator=mimalloc`")
        });
    }
    open_loop(faults, load);
    new_connections(faults, load);
    client_program(faults, load);
}

fn new_connections(faults: &mut Faults, load: &Load) {
    if load.connections.is_none() {
        return;
    }
    let http = load.protocol == Some(Protocol::Http) && load.operation == LoadOperation::Get;
    faults.unless(http, || "connections = \"new\" takes operation \"get\" with protocol \"http\"".to_owned());
    let closed = load.arrival.is_none() && load.seek != Some(Seek::Knee);
    faults.unless(closed && load.transport.is_none() && load.pipeline == [1], || {
        "connections = \"new\" is a closed loop over TCP with one request per connection: no rates, no knee, no \
         transport, no depth"
            .to_owned()
    });
}

/// There is one page, asked for by one request at a time.
fn page(faults: &mut Faults, load: &Load) {
    let plain = load.keys == 1
        && load.pipeline == [1]
        && load.distribution.is_empty()
        && load.client_program.is_none()
        && load.connections.is_none();
    faults.unless(plain, || {
        "without value_bytes it reads one page of a server: keys must be 1, and there is no pipeline, distribution, \
         connections or client_program"
            .to_owned()
    });
}

fn open_loop(faults: &mut Faults, load: &Load) {
    if !load.rate_percent.is_empty() {
        list(faults, "rate_percent", &load.rate_percent, 1, 200);
    }
    if !load.rate_per_second.is_empty() {
        list(faults, "rate_per_second", &load.rate_per_second, 1, 100_000_000);
    }
    if !load.rate_percent_of_slowest.is_empty() {
        list(faults, "rate_percent_of_slowest", &load.rate_percent_of_slowest, 1, 100);
    }
    let rates = !load.rate_percent.is_empty()
        || !load.rate_per_second.is_empty()
        || !load.rate_percent_of_slowest.is_empty();
    let knee = load.seek == Some(Seek::Knee);
    faults.unless(load.arrival.is_some() || !(rates || knee), || {
        "a rate and the knee need `arrival`: how the starts of requests are spaced".to_owned()
    });
    faults.unless(load.arrival.is_none() || rates || knee, || {
        "`arrival` needs rate_percent, rate_per_second, rate_percent_of_slowest or seek = \"knee\"".to_owned()
    });
    faults.unless(load.seek.is_none() || !rates, || {
        "`seek` finds a rate by itself: leave the rates out".to_owned()
    });
    let closed_only = load.arrival.is_some() || load.seek.is_some();
    faults.unless(!closed_only || load.requests.is_empty(), || {
        "`requests` belongs to a closed loop that is measured, not to a rate or to `seek`".to_owned()
    });
    faults.unless(!closed_only || load.operation != LoadOperation::Del, || {
        "operation \"del\" uses its keys up: it has no rate, peak or knee".to_owned()
    });
}

/// Somebody else's program does what it does: SET or GET of one size, uniformly, as fast as replies come.
fn client_program(faults: &mut Faults, load: &Load) {
    let Some(program) = load.client_program else { return };
    let name = program.name();
    let plain = load.arrival.is_none()
        && load.seek.is_none()
        && load.ttl_ms.is_none()
        && load.value_mix.is_empty()
        && load.distribution.is_empty()
        && load.requests.is_empty()
        && load.transport.is_none()
        && load.connections.is_none();
    faults.unless(plain, || {
        format!("{name} takes a plain closed loop: no rates, mixes, lifetimes or distributions")
    });
    let fits = match program {
        ClientProgram::RedisBenchmark => {
            load.protocol.is_none() && matches!(load.operation, LoadOperation::Set | LoadOperation::Get)
        }
        ClientProgram::Wrk => load.protocol == Some(Protocol::Http) && load.operation == LoadOperation::Get,
    };
    faults.unless(fits, || match program {
        ClientProgram::RedisBenchmark => format!("{name} takes operation \"set\" or \"get\" over RESP"),
        ClientProgram::Wrk => format!("{name} takes operation \"get\" with protocol \"http\""),
    });
}

pub(super) fn per_key(faults: &mut Faults, each: &PerKey) {
    between(faults, "keys", each.keys, 1, KEYS_MAX);
    between(faults, "value_bytes", each.value_bytes, 1, VALUE_MAX);
    if let Some(trials) = &each.trials {
        per_profile(faults, "trials", trials, 0, 100);
    }
    room(faults, each.cap_bytes, each.keys, each.value_bytes);
}

pub(super) fn expiry(faults: &mut Faults, each: &Expiry) {
    between(faults, "clients", each.clients, 1, CLIENTS_MAX);
    between(faults, "kept_keys", each.kept_keys, 1, KEYS_MAX);
    between(faults, "keys", each.keys, 1, KEYS_MAX);
    between(faults, "value_bytes", each.value_bytes, 1, VALUE_MAX);
    between(faults, "within_ms", each.within_ms, 100, 600_000);
    room(faults, each.cap_bytes, each.keys.saturating_add(each.kept_keys), each.value_bytes);
}

pub(super) fn tail(faults: &mut Faults, each: &Tail) {
    between(faults, "clients", each.clients, 1, CLIENTS_MAX);
    between(faults, "per_second", each.per_second, 1, 100_000_000);
    between(faults, "kept_keys", each.kept_keys, 1, KEYS_MAX);
    between(faults, "keys", each.keys, 1, KEYS_MAX);
    between(faults, "expiring_keys", each.expiring_keys, 1, KEYS_MAX);
    between(faults, "value_bytes", each.value_bytes, 1, VALUE_MAX);
    between(faults, "within_ms", each.within_ms, 100, 600_000);
    faults.unless(each.kept_keys <= each.keys, || {
        "kept_keys are the first of keys: make them fewer".to_owned()
    });
    if let Some(trials) = &each.trials {
        per_profile(faults, "trials", trials, 0, 100);
    }
    room(faults, each.cap_bytes, each.keys.saturating_add(each.expiring_keys), each.value_bytes);
}

/// A key that is evicted cannot be counted: the cap must at least hold twice the payload.
fn room(faults: &mut Faults, cap_bytes: u64, keys: u64, value_bytes: u32) {
    let payload = keys.saturating_mul(u64::from(value_bytes) + 16);
    faults.unless(cap_bytes >= payload.saturating_mul(2), || {
        format!("cap_bytes must be at least twice the payload of {payload} bytes, so that nothing is evicted")
    });
}

pub(super) fn cap(faults: &mut Faults, cap: &Cap) {
    faults.unless(cap.written().is_some(), || {
        "exactly one of `fill`, `overwrite`, `ttl_churn`, `trace`, `hostile`, `idle` says what is done"
            .to_owned()
    });
    if let Some(trials) = &cap.trials {
        per_profile(faults, "trials", trials, 0, 100);
    }
    for (index, variant) in cap.variant.iter().enumerate() {
        faults.unless(!cap.variant.iter().take(index).any(|other| other == variant), || {
            format!("variant holds {variant} twice")
        });
    }
    if let Some(hostile) = &cap.hostile {
        between(faults, "hostile.clients", hostile.clients, 10, CLIENTS_MAX);
        between(faults, "hostile.keys", hostile.keys, 1, KEYS_MAX);
        per_profile(faults, "hostile.seconds", &hostile.seconds, 0.05, 600.0);
    }
    if let Some(idle) = &cap.idle {
        between(faults, "idle.clients", idle.clients, 1, CLIENTS_MAX);
    }
    faults.unless(cap.cap_bytes >= 1 << 20, || "cap_bytes must be at least 1 MiB (1048576)".to_owned());
    if let Some(fill) = &cap.fill {
        faults.unless((1..=KEYS_MAX).contains(&fill.keys), || "fill.keys must be at least 1".to_owned());
        between(faults, "fill.value_bytes", fill.value_bytes, 1, VALUE_MAX);
        faults.unless(u64::from(fill.oversize_bytes) > cap.cap_bytes, || {
            "fill.oversize_bytes must be more than cap_bytes: it is the value that cannot fit".to_owned()
        });
    }
    if let Some(overwrite) = &cap.overwrite {
        between(faults, "overwrite.clients", overwrite.clients, 1, CLIENTS_MAX);
        let [smallest, largest] = overwrite.value_bytes;
        faults.unless(smallest >= 1 && smallest < largest && largest <= VALUE_MAX, || {
            "overwrite.value_bytes must rise, from 1 byte on".to_owned()
        });
        faults.unless(overwrite.keys >= 1, || "overwrite.keys must be at least 1".to_owned());
        per_profile(faults, "overwrite.seconds", &overwrite.seconds, 0.05, 600.0);
    }
    if let Some(churn) = &cap.ttl_churn {
        between(faults, "ttl_churn.clients", churn.clients, 1, CLIENTS_MAX);
        between(faults, "ttl_churn.value_bytes", churn.value_bytes, 1, VALUE_MAX);
        faults.unless(churn.keys >= 1, || "ttl_churn.keys must be at least 1".to_owned());
        faults.unless(churn.ttl_ms >= 1, || "ttl_churn.ttl_ms must be at least 1".to_owned());
        per_profile(faults, "ttl_churn.seconds", &churn.seconds, 0.05, 600.0);
    }
    if let Some(trace) = &cap.trace {
        let [smallest, largest] = trace.value_bytes;
        faults.unless(smallest >= 8 && smallest <= largest && largest <= VALUE_MAX, || {
            "trace.value_bytes must be the smallest, from 8 bytes on, and the largest size".to_owned()
        });
        between(faults, "trace.keys", trace.keys, 1, 100_000_000);
        per_profile(faults, "trace.requests", &trace.requests, 1, 1_000_000_000);
        let payload = trace.keys.saturating_mul((u64::from(smallest) + u64::from(largest)) / 2 + 16);
        faults.unless(payload > cap.cap_bytes, || {
            "the keys of the trace all fit under the cap: nothing would ever be evicted".to_owned()
        });
    }
    if let Some(limit) = cap.memory_limit_bytes {
        between(faults, "memory_limit_bytes", limit, LIMIT_MIN, 1 << 40);
        faults.unless(limit > cap.cap_bytes, || {
            "memory_limit_bytes must be more than cap_bytes: the kernel ends what goes past it".to_owned()
        });
    }
}

/// Faults found so far.
pub(super) struct Faults(pub(super) Vec<String>);

impl Faults {
    pub(super) fn unless(&mut self, fine: bool, fault: impl FnOnce() -> String) {
        if !fine {
            let fault = fault();
            // The same fault of one target under three profiles is told once.
            if !self.0.contains(&fault) {
                self.0.push(fault);
            }
        }
    }

    pub(super) fn within(&mut self, place: impl Display, check: impl FnOnce(&mut Self)) {
        let mut inner = Self(Vec::new());
        check(&mut inner);
        self.0.extend(inner.0.into_iter().map(|fault| format!("{place}: {fault}")));
    }
}

pub(super) fn between<T: PartialOrd + Display>(faults: &mut Faults, name: &str, value: T, low: T, high: T) {
    faults.unless(value >= low && value <= high, || format!("{name} must be {low} to {high}, not {value}"));
}

pub(super) fn per_profile<T: PartialOrd + Display + Copy>(
    faults: &mut Faults,
    name: &str,
    value: &PerProfile<T>,
    low: T,
    high: T,
) {
    for profile in super::PROFILES {
        between(faults, &format!("{name}.{}", super::profile_name(profile)), value.of(profile), low, high);
    }
}

/// An axis: at least one value, each in bounds, none twice (twice would be one cell measured double).
pub(super) fn list<T: PartialOrd + Display + Copy>(
    faults: &mut Faults,
    name: &str,
    values: &[T],
    low: T,
    high: T,
) {
    faults.unless(!values.is_empty(), || format!("{name} is empty"));
    for (index, value) in values.iter().enumerate() {
        between(faults, name, *value, low, high);
        faults.unless(!values.iter().take(index).any(|other| other == value), || {
            format!("{name} holds {value} twice")
        });
    }
}
