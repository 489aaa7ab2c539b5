//! What is a cell called? Its key for programs, its label for people.

use crate::model::Axes;

/// The axes as the last part of a cell's key: `set-64B-c50-p1`.
pub(super) fn point(axes: &Axes) -> String {
    let mut parts = vec![axes.operation.clone()];
    let mut add = |prefix: &str, value: Option<u64>, suffix: &str| {
        if let Some(value) = value {
            parts.push(format!("{prefix}{value}{suffix}"));
        }
    };
    add("", axes.value_bytes.map(u64::from), "B");
    add("s", axes.set_percent.map(u64::from), "");
    add("c", axes.clients.map(u64::from), "");
    add("p", axes.pipeline.map(u64::from), "");
    add("cap", axes.cap_bytes, "");
    add("n", axes.requests, "");
    add("k", axes.keys, "");
    add("r", axes.rate_percent.map(u64::from), "pct");
    add("r", axes.rate_per_second, "");
    add("r", axes.rate_percent_of_slowest.map(u64::from), "pct-of-slowest");
    add("ttl", axes.ttl_ms, "");
    add("mem", axes.memory_limit_bytes, "");
    add("cache", axes.cache_bytes, "");
    add("batch", axes.batch.map(u64::from), "");
    let words = [
        &axes.distribution,
        &axes.arrival,
        &axes.protocol,
        &axes.transport,
        &axes.connections,
        &axes.variant,
        &axes.client_program,
        &axes.sync,
        &axes.key_schema,
    ];
    parts.extend(words.into_iter().flatten().cloned());
    parts.join("-")
}

/// `SET 64 B, 50 clients`, `9:1 SET:GET 64 B, 20 clients, depth 10, Poisson at 50 % of the peak`.
pub(super) fn wire_label(axes: &Axes, value_mix: &[(u32, u32)]) -> String {
    let what = match (axes.set_percent, axes.operation.as_str()) {
        (Some(0), _) => "GET".to_owned(),
        (Some(100), _) => "SET".to_owned(),
        (Some(sets), _) => {
            let (sets, gets) = lowest_terms(sets, 100 - sets);
            format!("{sets}:{gets} SET:GET")
        }
        (None, operation) => operation.to_uppercase(),
    };
    let size = match (axes.value_bytes, value_mix.iter().map(|(bytes, _)| *bytes)) {
        (Some(value), _) => bytes(u64::from(value)),
        (None, sizes) if sizes.len() == 0 => "of one page".to_owned(),
        (None, sizes) => {
            let (low, high) = sizes.fold((u32::MAX, 0), |(low, high), size| (low.min(size), high.max(size)));
            format!("{} to {}", bytes(u64::from(low)), bytes(u64::from(high)))
        }
    };
    let mut label = format!("{what} {size}");
    match axes.clients {
        Some(1) => label.push_str(", 1 client"),
        Some(clients) => label.push_str(&format!(", {clients} clients")),
        None => {}
    }
    if let Some(depth) = axes.pipeline.filter(|depth| *depth > 1) {
        label.push_str(&format!(", depth {depth}"));
    }
    if let Some(requests) = axes.requests {
        label.push_str(&format!(", {} requests", thousands(requests)));
    }
    match axes.distribution.as_deref() {
        Some("hot") => label.push_str(", one key"),
        Some(distribution) => label.push_str(&format!(", {distribution} keys")),
        None => {}
    }
    if let Some(ttl_ms) = axes.ttl_ms {
        label.push_str(&format!(", living {ttl_ms} ms"));
    }
    let spaced = if axes.arrival.as_deref() == Some("fixed") { "evenly" } else { "Poisson" };
    match (axes.operation.as_str(), axes.rate_percent, axes.rate_per_second) {
        ("peak", ..) => label.push_str(", closed-loop peak"),
        ("knee", ..) => label.push_str(", knee"),
        (_, Some(percent), _) => label.push_str(&format!(", {spaced} at {percent} % of its peak")),
        _ if axes.rate_percent_of_slowest.is_some() => {
            let percent = axes.rate_percent_of_slowest.unwrap_or_default();
            label.push_str(&format!(", {spaced} at {percent} % of the slowest's peak"));
        }
        (_, None, Some(rate)) => label.push_str(&format!(", {spaced} at {}/s", thousands(rate))),
        _ => {}
    }
    if let Some(limit) = axes.memory_limit_bytes {
        label.push_str(&format!(", {} limit", bytes(limit)));
    }
    for word in [&axes.protocol, &axes.transport, &axes.variant].into_iter().flatten() {
        label.push_str(&format!(", {word}"));
    }
    if axes.connections.is_some() {
        label.push_str(", new connections");
    }
    if let Some(program) = &axes.client_program {
        label.push_str(&format!(", by {program}"));
    }
    label
}

fn lowest_terms(a: u32, b: u32) -> (u32, u32) {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1), b / x.max(1))
}

/// A count for people: `100k`, `1M`.
pub(super) fn thousands(value: u64) -> String {
    match value {
        v if v >= 1_000_000 && v % 1_000_000 == 0 => format!("{}M", v / 1_000_000),
        v if v >= 1_000 && v % 1_000 == 0 => format!("{}k", v / 1_000),
        v => v.to_string(),
    }
}

/// Bytes for people, in the largest unit that divides them.
pub(super) fn bytes(value: u64) -> String {
    match value {
        v if v >= 1 << 30 && v % (1 << 30) == 0 => format!("{} GiB", v >> 30),
        v if v >= 1 << 20 && v % (1 << 20) == 0 => format!("{} MiB", v >> 20),
        v if v >= 1 << 10 && v % (1 << 10) == 0 => format!("{} KiB", v >> 10),
        v => format!("{v} B"),
    }
}
