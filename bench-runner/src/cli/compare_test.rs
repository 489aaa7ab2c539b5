use super::*;
use crate::export::testing;
use crate::model::{Build, Spread};

fn found() -> Found {
    let (run, scenarios) = testing::run();
    Found { folder: PathBuf::new(), run, scenarios }
}

/// The made-up run as if it had had enough trials for intervals.
fn full() -> Found {
    let mut one = found();
    let cells = one.scenarios.iter_mut().flat_map(|record| &mut record.cells);
    cells.flat_map(|cell| &mut cell.measurements).for_each(|measured| measured.spread = Spread::Interval);
    one
}

/// Compared as the command does it: the text, and the exit code.
fn compared(first: &Found, second: &Found, metric: Option<&str>) -> (String, u8) {
    let (first, second) = (std::slice::from_ref(first), std::slice::from_ref(second));
    let (first, second) = (stored(first), stored(second));
    let (pairs, left) = paired(&first, &second);
    let (rows, controls) = judge(&pairs, metric);
    let all = Compared { first: ids(&first), second: ids(&second), cells: pairs.len(), rows, controls, left };
    (shown(&all, Format::Human).unwrap(), exit_code(&all))
}

fn scaled(run: &mut Found, scenario: &str, by: impl Fn(&str) -> f64) {
    let records = run.scenarios.iter_mut().filter(|record| record.scenario.key == scenario);
    for cell in records.flat_map(|record| &mut record.cells) {
        let by = by(&cell.target);
        for one in &mut cell.measurements {
            (one.low, one.median, one.high) = (one.low * by, one.median * by, one.high * by);
        }
    }
}

/// Programs that are the same file on both sides, except ours; two more rivals are like the first.
fn with_files(run: &mut Found, ours: &str) {
    for name in ["rival 2", "rival 3"] {
        for record in &mut run.scenarios {
            let cells = record.cells.iter().filter(|cell| cell.target == "redis-server").cloned();
            let mut cells: Vec<_> = cells.collect();
            for cell in &mut cells {
                name.clone_into(&mut cell.target);
                cell.key = cell.key.replace("redis-server", name);
            }
            record.cells.append(&mut cells);
        }
        let mut target = run.run.targets.iter().find(|target| target.key == "redis-server").cloned().unwrap();
        name.clone_into(&mut target.key);
        run.run.targets.push(target);
    }
    for target in &mut run.run.targets {
        let digest = if target.key == "plumbkv" { ours.to_owned() } else { format!("of {}", target.key) };
        target.build = Some(Build {
            file: target.key.clone(),
            sha256: digest,
            bytes: 1,
            profile: "release".into(),
            rustc: String::new(),
            target: String::new(),
            rustflags: String::new(),
            is_static: true,
        });
    }
}

#[test]
fn ranges_are_undecided_and_without_unchanged_programs_nothing_is_called() {
    let (text, code) = compared(&found(), &found(), None);
    assert!(text.contains("Undecided, fewer than six trials"), "{text}");
    assert_eq!(code, EXIT_INCONCLUSIVE);
    let without_files = || {
        let mut one = full();
        one.run.targets.iter_mut().for_each(|target| target.build = None);
        one
    };
    let mut slower = without_files();
    scaled(&mut slower, "wire-single", |_| 2.0);
    let (text, code) = compared(&without_files(), &slower, Some("ops_per_second"));
    assert!(!text.contains("faster") && !text.contains("slower"), "{text}");
    assert!(
        text.contains("too few unchanged programs beside it") && text.contains("nothing shows what"),
        "{text}"
    );
    assert_eq!(code, EXIT_INCONCLUSIVE);
}

#[test]
fn versions_are_compared_on_a_machine_that_has_both() {
    let root = tempfile::tempdir().unwrap();
    for (id, version, machine) in [
        ("a1", "0.1.0", "m1"),
        ("a2", "0.1.0", "m2"),
        ("b2", "0.2.0", "m2"),
        ("b3", "0.2.0", "m3"),
        ("c1", "0.3.0", "m1"),
    ] {
        let (mut run, mut scenarios) =
            testing::small_run_as(id, version, &format!("2026-01-0{}T00:00:00Z", &id[1..]));
        machine.clone_into(&mut run.machine_key);
        scenarios.iter_mut().for_each(|record| machine.clone_into(&mut record.machine_key));
        crate::export::write_run(root.path(), run, scenarios).unwrap();
    }
    let machine = |one: &str, other: &str, wanted: Option<&str>| {
        let (one, other) = (named(root.path(), one).unwrap(), named(root.path(), other).unwrap());
        common_machine(&one, &other, wanted)
    };
    assert_eq!(machine("0.1.0", "0.2.0", None).unwrap().as_deref(), Some("m2"));
    assert_eq!(machine("0.1.0", "0.3.0", Some("m1")).unwrap().as_deref(), Some("m1"));
    assert_eq!(machine("0.1.0", "b2", None).unwrap().as_deref(), Some("m2"));
    assert_eq!(machine("a1", "b2", None).unwrap(), None, "runs name their machines themselves");
    let said = machine("0.2.0", "0.3.0", None).unwrap_err().to_string();
    assert!(said.contains("no machine has both") && said.contains("m2, m3") && said.contains("m1"), "{said}");
    assert!(machine("0.1.0", "0.2.0", Some("m1")).unwrap_err().to_string().contains("m1"));
    assert!(machine("a1", "b2", Some("m1")).unwrap_err().to_string().contains("both sides are runs"));
    let side = named(root.path(), "0.2.0").unwrap().read(Some("m2")).unwrap();
    assert_eq!(side.iter().map(|found| found.run.id.as_str()).collect::<Vec<_>>(), ["b2"]);
}

#[test]
fn what_worsened_beside_unchanged_programs_is_a_regression() {
    let pair = |by: f64| {
        let (mut one, mut other) = (full(), full());
        with_files(&mut one, "1");
        with_files(&mut other, "2");
        scaled(&mut other, "wire-single", |target| if target == "plumbkv" { by } else { 1.0 });
        compared(&one, &other, Some("ops_per_second"))
    };
    let (text, code) = pair(1.0);
    assert_eq!(code, EXIT_FINE, "{text}");
    let (text, code) = pair(0.2);
    assert!(text.contains("slower") && !text.contains("slower (same file)"), "{text}");
    assert_eq!(code, EXIT_REGRESSION);
    let (text, code) = pair(5.0);
    assert!(text.contains("faster") && !text.contains("slower"), "{text}");
    assert_eq!(code, EXIT_FINE);
}

#[test]
fn markdown_keeps_what_was_left_out() {
    let mut changed = found();
    changed.scenarios[0].scenario.params_sha256 = "other".into();
    changed.scenarios.pop();
    let (first, second) = ([found()], [changed]);
    let (first, second) = (stored(&first), stored(&second));
    let (pairs, left) = paired(&first, &second);
    let (rows, controls) = judge(&pairs, Some("latency_ns_p999"));
    let all = Compared { first: ids(&first), second: ids(&second), cells: pairs.len(), rows, controls, left };
    let text = shown(&all, Format::Markdown).unwrap();
    assert!(text.contains("cells or scenarios compared") && text.contains("its definition is another one"));
    assert!(text.contains("only one side has it") && text.contains("without a figure on one side"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&shown(&all, Format::Json).unwrap()).unwrap();
    assert_eq!((&json["schema"], &json["schema_version"]), (&"plumbkv.compare".into(), &1.into()));
}
