//! Estimates that criterion left on disk, as components.
//!
//! Criterion keeps `<group>/…/new/benchmark.json` (what it is called) beside `new/estimates.json` (what came
//! out); the slope is its estimate of choice where iterations were grown, the mean where they were not.
//! Beside them a benchmark may have left `new/component.json`: allocations per operation, and whose part it is (`components/src/part.rs`).
//! See <https://bheisler.github.io/criterion.rs/book/user_guide/csv_output.html> and the crate's `estimate.rs`.

use crate::model::Component;
use anyhow::{Context as _, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Deepest folder looked into: group, function, value, `new`, and one to spare.
const DEPTH: u32 = 6;

#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    full_id: String,
    throughput: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
    slope: Option<Estimate>,
}

#[derive(Deserialize)]
struct Estimate {
    confidence_interval: Interval,
    point_estimate: f64,
}

/// The samples, each of so many iterations.
#[derive(Deserialize)]
struct Samples {
    iters: Vec<f64>,
}

/// What a benchmark says of itself.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    allocations_per_op: Option<f64>,
    library: Option<String>,
    like: Option<String>,
}

#[derive(Deserialize)]
struct Interval {
    confidence_level: f64,
    lower_bound: f64,
    upper_bound: f64,
}

/// The estimates below criterion's folder (`target/criterion`), by key.
///
/// # Errors
/// When the folder holds none, or one of them cannot be read.
pub fn criterion(folder: &Path) -> anyhow::Result<Vec<Component>> {
    let mut found = Vec::new();
    look_into(folder, DEPTH, &mut found).with_context(|| format!("looking into {}", folder.display()))?;
    let mut components = found.iter().map(|new| component(new)).collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(
        !components.is_empty(),
        "{} holds no estimate of criterion (no new/estimates.json below it); 'cargo bench' makes them",
        folder.display()
    );
    components.sort_by(|left, right| left.key.cmp(&right.key));
    // The same benchmark under two folders: one of them is what an older criterion called it.
    components.dedup_by(|later, earlier| later.key == earlier.key);
    Ok(components)
}

/// Collects the folders `new` that hold both files.
fn look_into(folder: &Path, depth: u32, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // Criterion makes no links; one that leads upwards would never end.
        if !path.is_dir() || path.is_symlink() {
            continue;
        }
        let is_new = path.file_name().is_some_and(|name| name == "new");
        if is_new && path.join("benchmark.json").exists() && path.join("estimates.json").exists() {
            found.push(path);
        } else if depth > 0 {
            look_into(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

fn component(new: &Path) -> anyhow::Result<Component> {
    let benchmark: Benchmark = parse(&new.join("benchmark.json"))?;
    let estimates: Estimates = parse(&new.join("estimates.json"))?;
    let (estimate, name) = match estimates.slope {
        Some(slope) => (slope, "slope"),
        None => (estimates.mean, "mean"),
    };
    let interval = estimate.confidence_interval;
    let samples: Option<Samples> = parse_if_there(&new.join("sample.json"))?;
    let note: Note = parse_if_there(&new.join("component.json"))?.unwrap_or_default();
    ensure!(
        (interval.confidence_level - 0.95).abs() < 1e-9,
        "{}: its interval is of {} %, a component's is of 95 %",
        new.display(),
        interval.confidence_level * 100.0
    );
    let (low, point, high) = (interval.lower_bound, estimate.point_estimate, interval.upper_bound);
    ensure!(
        low > 0.0 && low <= point && point <= high && high.is_finite(),
        "{}: its {name} is {point} ns in an interval from {low} to {high} ns; expected 0 < low ≤ {name} ≤ high. Measure it again",
        new.display(),
    );
    let rest = benchmark.full_id.strip_prefix(&benchmark.group_id).unwrap_or(&benchmark.full_id);
    let in_bytes = |throughput: &serde_json::Value| {
        throughput.get("Bytes").or_else(|| throughput.get("BytesDecimal")).and_then(serde_json::Value::as_u64)
    };
    Ok(Component {
        name: rest.trim_start_matches('/').to_owned(),
        group: benchmark.group_id,
        key: benchmark.full_id,
        ns_per_op: point,
        ns_per_op_low: low,
        ns_per_op_high: high,
        estimate: name.to_owned(),
        bytes_per_op: benchmark.throughput.as_ref().and_then(in_bytes),
        samples: samples.map(|samples| u32::try_from(samples.iters.len()).unwrap_or(u32::MAX)),
        allocations_per_op: note.allocations_per_op,
        library: note.library,
        counterpart: note.like,
    })
}

fn parse_if_there<T: serde::de::DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    if path.exists() { parse(path).map(Some) } else { Ok(None) }
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: not what criterion writes", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn estimate(ns: f64) -> serde_json::Value {
        json!({ "confidence_interval": { "confidence_level": 0.95, "lower_bound": ns - 1.0, "upper_bound": ns + 2.0 },
            "point_estimate": ns, "standard_error": 0.5 })
    }

    fn put(root: &Path, folder: &str, benchmark: &serde_json::Value, slope: Option<f64>, mean: f64) {
        for kind in ["new", "base"] {
            let folder = root.join(folder).join(kind);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("benchmark.json"), benchmark.to_string()).unwrap();
            let estimates =
                json!({ "mean": estimate(mean), "median": estimate(1.0), "slope": slope.map(estimate) });
            std::fs::write(folder.join("estimates.json"), estimates.to_string()).unwrap();
        }
    }

    #[test]
    fn slope_where_there_is_one_and_mean_otherwise() {
        let root = tempfile::tempdir().unwrap();
        let named = |group: &str, full: &str, throughput: serde_json::Value| {
            json!({ "group_id": group, "function_id": "x", "value_str": null, "throughput": throughput, "full_id": full,
                "directory_name": full, "title": full })
        };
        let bytes = json!({ "Bytes": 64 });
        put(root.path(), "memory/get/64", &named("memory", "memory/get/64", bytes), Some(61.5), 99.0);
        put(root.path(), "alone", &named("alone", "alone", json!({ "Elements": 3 })), None, 12.0);
        std::fs::create_dir_all(root.path().join("report")).unwrap();
        let components = criterion(root.path()).unwrap();
        let seen: Vec<_> = components
            .iter()
            .map(|one| {
                (
                    one.key.as_str(),
                    one.group.as_str(),
                    one.name.as_str(),
                    one.ns_per_op,
                    one.estimate.as_str(),
                    one.bytes_per_op,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("alone", "alone", "", 12.0, "mean", None),
                ("memory/get/64", "memory", "get/64", 61.5, "slope", Some(64)),
            ]
        );
        assert_eq!((components[1].ns_per_op_low, components[1].ns_per_op_high), (60.5, 63.5));
    }

    #[test]
    fn what_a_benchmark_notes_beside_its_estimate_travels_along() {
        let root = tempfile::tempdir().unwrap();
        let benchmark = |full: &str| json!({ "group_id": "skip", "full_id": full, "throughput": null });
        put(root.path(), "ours", &benchmark("skip/get/8"), Some(5.0), 5.0);
        put(root.path(), "theirs", &benchmark("skip/get-other/8"), Some(9.0), 9.0);
        let note = json!({ "allocations_per_op": 1.5, "library": "other 1.2", "like": "skip/get/8" });
        std::fs::write(root.path().join("theirs/new/component.json"), note.to_string()).unwrap();
        let samples =
            json!({ "sampling_mode": "Linear", "iters": [1.0, 2.0, 3.0], "times": [5.0, 9.0, 14.0] });
        std::fs::write(root.path().join("theirs/new/sample.json"), samples.to_string()).unwrap();
        let components = criterion(root.path()).unwrap();
        // In the order of keys, in which '-' stands before '/'.
        let ours = &components[1];
        assert_eq!((ours.key.as_str(), ours.allocations_per_op, ours.samples), ("skip/get/8", None, None));
        let theirs = &components[0];
        assert_eq!((theirs.allocations_per_op, theirs.samples), (Some(1.5), Some(3)));
        assert_eq!(
            (theirs.library.as_deref(), theirs.counterpart.as_deref()),
            (Some("other 1.2"), Some("skip/get/8"))
        );
        std::fs::write(root.path().join("theirs/new/component.json"), "{\"allocation\": 1}").unwrap();
        assert!(format!("{:#}", criterion(root.path()).unwrap_err()).contains("component.json"));
    }

    #[test]
    fn an_estimate_that_no_benchmark_can_have_is_refused() {
        for (low, point, high, is_fine) in [
            (0.5, 1.0, 2.0, true),
            (1.0, 1.0, 1.0, true),
            (0.0, 0.0, 0.0, false),
            (-4.0, -3.0, -2.0, false),
            (2.0, 1.5, 1.0, false),
            (2.0, 1.0, 3.0, false),
            (1.0, 4.0, 3.0, false),
        ] {
            let root = tempfile::tempdir().unwrap();
            put(root.path(), "a", &json!({ "group_id": "a", "full_id": "a", "throughput": null }), None, 1.0);
            let interval = json!({ "confidence_level": 0.95, "lower_bound": low, "upper_bound": high });
            let mean =
                json!({ "confidence_interval": interval, "point_estimate": point, "standard_error": 0.1 });
            let text = json!({ "mean": mean, "median": mean, "slope": null }).to_string();
            std::fs::write(root.path().join("a/new/estimates.json"), text).unwrap();
            let found = criterion(root.path());
            assert_eq!(found.is_ok(), is_fine, "{low} {point} {high}");
            if let Err(error) = found {
                assert!(error.to_string().contains("Measure it again"), "{error}");
            }
        }
    }

    #[test]
    fn an_empty_folder_and_a_broken_file_say_so() {
        let root = tempfile::tempdir().unwrap();
        assert!(criterion(root.path()).unwrap_err().to_string().contains("holds no estimate"));
        assert!(criterion(&root.path().join("none")).is_err());
        put(root.path(), "a", &json!({ "group_id": "a", "full_id": "a", "throughput": null }), None, 1.0);
        std::fs::write(root.path().join("a/new/estimates.json"), "{").unwrap();
        let error = format!("{:#}", criterion(root.path()).unwrap_err());
        assert!(error.contains("estimates.json") && error.contains("not what criterion writes"), "{error}");
    }
}
