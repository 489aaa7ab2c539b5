//! What are the cells of a driver program called by people?

use super::driven::StoreKey;
use super::label::{bytes, thousands};
use crate::scenario::{Embedded, EmbeddedOperation, USUAL_BATCH};
use plumbkv_bench_driver::protocol::{Distribution, KeySchema, Order, SyncMode};

/// One combination of the axes.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) value_bytes: u32,
    pub(super) clients: u32,
    pub(super) batch: u32,
    pub(super) sync: SyncMode,
    pub(super) order: Option<Order>,
    pub(super) distribution: Option<Distribution>,
    pub(super) cache_bytes: Option<u64>,
    pub(super) set_percent: Option<u32>,
}

impl Default for Point {
    fn default() -> Self {
        Self {
            value_bytes: 0,
            clients: 1,
            batch: USUAL_BATCH,
            sync: SyncMode::Never,
            order: None,
            distribution: None,
            cache_bytes: None,
            set_percent: None,
        }
    }
}

/// `Random load of 200k × 100 B`, `Random reads of 200k × 100 B, 2 MiB cache`; `name` is the cell's operation.
pub(super) fn label(section: &Embedded, name: &str, point: Point, count: u64) -> String {
    let what = what(section, name, point);
    let mut label = format!("{what} {} × {}", thousands(count), bytes(u64::from(point.value_bytes)));
    let operation = section.operation;
    if operation == EmbeddedOperation::Write || point.batch != USUAL_BATCH {
        label.push_str(&match point.batch {
            1 => ", one by one".to_owned(),
            batch => format!(", batches of {}", thousands(u64::from(batch))),
        });
    }
    match point.sync {
        SyncMode::Never => {}
        SyncMode::Interval => label.push_str(", synced every second"),
        SyncMode::Always => label.push_str(", each synced"),
    }
    match point.cache_bytes {
        Some(0) => label.push_str(", no cache"),
        Some(cache) => label.push_str(&format!(", {} cache", bytes(cache))),
        None => {}
    }
    label.push_str(schema(section.keys));
    if let Some(limit) = section.memory_limit_bytes {
        label.push_str(&format!(", {} limit", bytes(limit)));
    }
    let writers = matches!(operation, EmbeddedOperation::Write | EmbeddedOperation::SustainedWrite);
    match (operation.has_clients(), point.clients) {
        (true, 1) if !writers => label.push_str(", 1 client"),
        (true, clients) if !writers => label.push_str(&format!(", {clients} clients")),
        (true, clients) if clients > 1 => label.push_str(&format!(", {clients} writers")),
        _ => {}
    }
    label
}

/// Said where keys are not all of one family.
fn schema(keys: KeySchema) -> &'static str {
    match keys {
        KeySchema::OneFamily => "",
        KeySchema::FiveFamilies => ", five key families",
    }
}

fn what(section: &Embedded, name: &str, point: Point) -> String {
    let zipf = point.distribution == Some(Distribution::Zipf);
    let sequential = point.order == Some(Order::Sequential);
    let records = section.scan_records;
    match section.operation {
        EmbeddedOperation::Load if sequential => "Sequential load of".to_owned(),
        EmbeddedOperation::Load => "Random load of".to_owned(),
        EmbeddedOperation::ReadRandom if zipf => "Zipf reads of".to_owned(),
        EmbeddedOperation::ReadRandom | EmbeddedOperation::Get => "Random reads of".to_owned(),
        EmbeddedOperation::ReadAbsent => "Reads of absent keys among".to_owned(),
        EmbeddedOperation::ReadOrdered => "Ordered reads of".to_owned(),
        EmbeddedOperation::Scan => format!("{records}-record scans of"),
        EmbeddedOperation::ScanReverse => format!("{records}-record scans downwards of"),
        EmbeddedOperation::ScanPrefix => format!("Scans of prefixes with {records} records of"),
        EmbeddedOperation::ReadSequential => "Full scans of".to_owned(),
        EmbeddedOperation::Write if sequential => "Sequential overwrites of".to_owned(),
        EmbeddedOperation::Write => "Random overwrites of".to_owned(),
        EmbeddedOperation::Mixed => {
            let of = if zipf { "Zipf reads" } else { "reads" };
            format!("{} % overwrites among {of} of", point.set_percent.unwrap_or(20))
        }
        EmbeddedOperation::YcsbA => "YCSB A (half reads, half overwrites) on".to_owned(),
        EmbeddedOperation::YcsbB => "YCSB B (95 % reads, 5 % overwrites) on".to_owned(),
        EmbeddedOperation::YcsbC => "YCSB C (reads) on".to_owned(),
        EmbeddedOperation::YcsbD => "YCSB D (95 % reads of the latest, 5 % inserts) on".to_owned(),
        EmbeddedOperation::YcsbE => "YCSB E (95 % short scans, 5 % inserts) on".to_owned(),
        EmbeddedOperation::YcsbF => "YCSB F (half reads, half read and overwrite) on".to_owned(),
        EmbeddedOperation::Compact => match name {
            "read_before" => "Random reads before merging everything, of",
            "read_after" => "Random reads after merging everything, of",
            _ => "Merging everything of",
        }
        .to_owned(),
        EmbeddedOperation::Open if section.killed => "Opening after kill -9 of".to_owned(),
        EmbeddedOperation::Open if section.flush_every.is_some() => "Opening, in many tables, of".to_owned(),
        EmbeddedOperation::Open => "Opening of".to_owned(),
        EmbeddedOperation::Flush => "Flush of".to_owned(),
        EmbeddedOperation::Queue => format!("Queue of {} records, for", thousands(section.window)),
        EmbeddedOperation::DeleteRange => "Deletion of a range of 80 % of".to_owned(),
        EmbeddedOperation::Overwrite => {
            format!("{} rounds of overwrites of", section.rounds.unwrap_or_default())
        }
        EmbeddedOperation::SustainedWrite => "Sustained random writes of".to_owned(),
    }
}

/// `Random load of 24M × 100 B, kept for what follows`.
pub(super) fn stock_label(key: &StoreKey) -> String {
    let count = thousands(key.records.count);
    let size = bytes(u64::from(key.records.value_bytes));
    let limit = key.memory_limit_bytes.map_or_else(String::new, |limit| format!(", {} limit", bytes(limit)));
    let order = if key.order == Order::Sequential { "Sequential" } else { "Random" };
    let schema = schema(key.records.keys);
    format!("{order} load of {count} × {size}{schema}{limit}, kept for what follows")
}
