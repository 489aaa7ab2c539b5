//! Which cells do the scenarios have that look into a store: caps, keys by the million, and what removing them costs others?

use super::cells::{Unit, Who, cell};
use super::label::{bytes, thousands};
use super::step::{CapLoad, CapPhase, ExpiryPhase, KeysPhase, TailPhase, Work};
use crate::model::{Axes, Placement};
use crate::scenario::{Arrival, Cap, Distribution, Expiry, PerKey, Tail, Written};

/// One unit for each switch of a cap, or the one without.
pub(super) fn cap_units(cap: &Cap, who: Who<'_>, placement: Placement) -> Vec<Unit> {
    let switches: Vec<Option<&String>> =
        if cap.variant.is_empty() { vec![None] } else { cap.variant.iter().map(Some).collect() };
    switches.into_iter().filter_map(|variant| cap_unit(cap, who, placement, variant)).collect()
}

fn cap_unit(cap: &Cap, who: Who<'_>, placement: Placement, variant: Option<&String>) -> Option<Unit> {
    let size = bytes(cap.cap_bytes);
    let written = cap.written()?;
    let (operation, clients, largest) = match written {
        Written::Fill(fill) => ("fill", 1, fill.value_bytes),
        Written::Overwrite(overwrite) => ("overwrite", overwrite.clients, overwrite.value_bytes[1]),
        Written::TtlChurn(churn) => ("ttl_churn", churn.clients, churn.value_bytes),
        Written::Trace(trace) => ("trace", 1, trace.value_bytes[1]),
        Written::Hostile(hostile) => ("hostile", hostile.clients, 0),
        Written::Idle(idle) => ("idle", idle.clients, 0),
    };
    let value = bytes(u64::from(largest));
    let (label, load) = match written {
        Written::Fill(fill) => (
            format!("{} × {value} into {size}, then {}", fill.keys, bytes(u64::from(fill.oversize_bytes))),
            CapLoad::Fill {
                keys: fill.keys,
                value_bytes: fill.value_bytes,
                oversize_bytes: fill.oversize_bytes,
            },
        ),
        Written::Overwrite(overwrite) => (
            format!(
                "Overwrites growing {} to {value}, {size} cap",
                bytes(u64::from(overwrite.value_bytes[0]))
            ),
            CapLoad::Overwrite {
                clients: overwrite.clients,
                keys: overwrite.keys,
                value_bytes: overwrite.value_bytes.into(),
                seconds: overwrite.seconds.of(who.profile),
            },
        ),
        Written::TtlChurn(churn) => (
            format!("{value} values living {} ms, {size} cap", churn.ttl_ms),
            CapLoad::TtlChurn {
                clients: churn.clients,
                keys: churn.keys,
                value_bytes: churn.value_bytes,
                ttl_ms: churn.ttl_ms,
                seconds: churn.seconds.of(who.profile),
            },
        ),
        Written::Trace(trace) => (
            format!(
                "Zipf reads of {} keys of {} to {value}, {size} cap",
                thousands(trace.keys),
                bytes(u64::from(trace.value_bytes[0]))
            ),
            CapLoad::Trace {
                keys: trace.keys,
                value_bytes: trace.value_bytes.into(),
                requests: trace.requests.of(who.profile),
            },
        ),
        Written::Hostile(hostile) => (
            format!("Hostile mix of {} clients, {size} cap", thousands(hostile.clients.into())),
            CapLoad::Hostile {
                clients: hostile.clients,
                keys: hostile.keys,
                seconds: hostile.seconds.of(who.profile),
            },
        ),
        Written::Idle(idle) => (
            format!("{} idle connections, {size} cap", thousands(idle.clients.into())),
            CapLoad::Idle { clients: idle.clients },
        ),
    };
    let label = match cap.memory_limit_bytes {
        Some(limit) => format!("{label}, {} limit", bytes(limit)),
        None => label,
    };
    let label = match variant {
        Some(variant) => format!("{label}, {variant}"),
        None => label,
    };
    let axes = Axes {
        operation: operation.to_owned(),
        clients: Some(clients),
        value_bytes: Some(largest).filter(|bytes| *bytes > 0),
        cap_bytes: Some(cap.cap_bytes),
        memory_limit_bytes: cap.memory_limit_bytes,
        distribution: matches!(written, Written::Trace(_)).then(|| Distribution::Zipf.name().to_owned()),
        variant: variant.cloned(),
        ..Axes::default()
    };
    let phase = CapPhase { cell: cell(who, placement, axes, label), cap_bytes: cap.cap_bytes, load };
    let unit = who.unit(placement, Some(cap.cap_bytes), Work::MemoryCap { phase });
    Some(Unit {
        memory_limit_bytes: cap.memory_limit_bytes,
        variant: variant.cloned(),
        trials: cap.trials.map(|own| own.of(who.profile)),
        ..unit
    })
}

pub(super) fn per_key_unit(each: &PerKey, who: Who<'_>, placement: Placement) -> Unit {
    let axes = Axes {
        operation: "fill".to_owned(),
        value_bytes: Some(each.value_bytes),
        keys: Some(each.keys),
        ..Axes::default()
    };
    let label =
        format!("{} keys of 16 B, values of {}", thousands(each.keys), bytes(u64::from(each.value_bytes)));
    let cell = cell(who, placement, axes, label);
    let phase = KeysPhase { cell, keys: each.keys, value_bytes: each.value_bytes };
    let unit = who.unit(placement, Some(each.cap_bytes), Work::MemoryPerKey { phase });
    Unit { trials: each.trials.map(|own| own.of(who.profile)), ..unit }
}

pub(super) fn expiry_unit(each: &Expiry, who: Who<'_>, placement: Placement) -> Unit {
    let axes = Axes {
        operation: "expire".to_owned(),
        clients: Some(each.clients),
        value_bytes: Some(each.value_bytes),
        keys: Some(each.keys),
        ttl_ms: Some(each.within_ms),
        ..Axes::default()
    };
    let label = format!(
        "{} keys running out within {} s, GET by {} clients",
        thousands(each.keys),
        each.within_ms as f64 / 1e3,
        each.clients
    );
    let phase = ExpiryPhase {
        cell: cell(who, placement, axes, label),
        clients: each.clients,
        kept_keys: each.kept_keys,
        keys: each.keys,
        value_bytes: each.value_bytes,
        within_ms: each.within_ms,
    };
    who.unit(placement, Some(each.cap_bytes), Work::Expiry { phase })
}

/// The three cells of a tail share a process: what grows is what is emptied.
pub(super) fn tail_units(each: &Tail, who: Who<'_>, placement: Placement) -> Vec<Unit> {
    let switches: Vec<Option<&String>> =
        if each.variant.is_empty() { vec![None] } else { each.variant.iter().map(Some).collect() };
    switches.into_iter().map(|variant| tail_unit(each, who, placement, variant)).collect()
}

fn tail_unit(each: &Tail, who: Who<'_>, placement: Placement, variant: Option<&String>) -> Unit {
    let key = |operation: &str, keys: u64, ttl_ms: Option<u64>, what: String| {
        let axes = Axes {
            operation: operation.to_owned(),
            clients: Some(each.clients),
            value_bytes: Some(each.value_bytes),
            keys: Some(keys),
            arrival: Some(Arrival::Poisson.name().to_owned()),
            rate_per_second: Some(each.per_second),
            ttl_ms,
            variant: variant.cloned(),
            ..Axes::default()
        };
        let switch = variant.map_or_else(String::new, |variant| format!(", {variant}"));
        let label = format!("{} requests/s {what}{switch}", thousands(each.per_second));
        cell(who, placement, axes, label)
    };
    let (keys, expiring) = (thousands(each.keys), thousands(each.expiring_keys));
    let within_s = each.within_ms as f64 / 1e3;
    let phase = TailPhase {
        grow: key("grow", each.keys, None, format!("while the store grows to {keys} keys")),
        expire: key(
            "expire",
            each.expiring_keys,
            Some(each.within_ms),
            format!("while {expiring} keys run out within {within_s} s"),
        ),
        flush: key("flush", each.keys, None, format!("while {keys} keys are flushed")),
        clients: each.clients,
        per_second: each.per_second,
        kept_keys: each.kept_keys,
        keys: each.keys,
        expiring_keys: each.expiring_keys,
        within_ms: each.within_ms,
        value_bytes: each.value_bytes,
    };
    let unit = who.unit(placement, Some(each.cap_bytes), Work::Tail { phase: Box::new(phase) });
    Unit { variant: variant.cloned(), trials: each.trials.map(|own| own.of(who.profile)), ..unit }
}
