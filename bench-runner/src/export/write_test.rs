//! Is a run ever half stored?

use super::*;
use crate::export::testing::{run_as, small_run_as};
use crate::export::{read_indexed_run, read_run};
use std::cell::Cell;

const EARLIER: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-02-01T00:00:00Z";

/// Everything below a folder, with contents; folders end in a slash.
fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                all.push((format!("{name}/"), Vec::new()));
                open.push(path);
            } else {
                all.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn a_stored_run_reads_back_as_it_was() {
    let results = tempfile::tempdir().unwrap();
    let (run, scenarios) = run_as("r1", "local", EARLIER);
    let folder = write_run(results.path(), run.clone(), scenarios.clone()).unwrap();
    assert_eq!(folder, results.path().join("local/fixture-machine/r1"));
    let (stored, records) = read_run(&folder).unwrap();
    assert_eq!(records, scenarios);
    assert_eq!(stored.scenarios.len(), scenarios.len());
    let mixed = stored.scenarios.iter().find(|entry| entry.key == "wire-mixed").unwrap();
    assert!(mixed.cells_skipped == 4 && mixed.cells_failed == 0, "{mixed:?}");
    let index = read_index(&results.path().join("local/index.json")).unwrap();
    let listed = &index.versions[0].machines[0].runs[0];
    assert_eq!(listed.files[0].path, "fixture-machine/r1/run.json");
    assert_eq!(read_indexed_run(&results.path().join("local"), listed).unwrap().1, scenarios);
    assert!(!results.path().join("index.json").exists(), "a local run is not in the committed index");
}

#[test]
fn runs_and_versions_stand_in_order_whatever_order_they_came_in() {
    let results = tempfile::tempdir().unwrap();
    for (id, version, at) in [
        ("b", "0.10.0", LATER),
        ("c", "0.9.0", EARLIER),
        ("a", "0.10.0", EARLIER),
        ("d", "0.10.0-rc.1", LATER),
    ] {
        let (run, scenarios) = small_run_as(id, version, at);
        write_run(results.path(), run, scenarios).unwrap();
    }
    let index = read_index(&results.path().join("index.json")).unwrap();
    let versions: Vec<_> = index.versions.iter().map(|one| one.version.as_str()).collect();
    assert_eq!(versions, ["0.9.0", "0.10.0-rc.1", "0.10.0"]);
    let runs: Vec<_> = index.versions[2].machines[0].runs.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(runs, ["a", "b"]);
}

#[test]
fn a_stored_run_is_never_overwritten() {
    let results = tempfile::tempdir().unwrap();
    let (run, scenarios) = small_run_as("r1", "0.0.1", EARLIER);
    write_run(results.path(), run.clone(), scenarios.clone()).unwrap();
    let before = tree(results.path());
    let (other, _) = small_run_as("r1", "0.0.1", LATER);
    let error = write_run(results.path(), other, scenarios).unwrap_err();
    assert!(error.to_string().contains("never overwritten"), "{error}");
    assert_eq!(tree(results.path()), before);
}

#[test]
fn names_cannot_lead_out_of_results() {
    let results = tempfile::tempdir().unwrap();
    for bad in ["..", "", "a/b", ".hidden", "a b", "ä"] {
        let (mut run, scenarios) = small_run_as("r1", "0.0.1", EARLIER);
        run.machine_key = bad.to_owned();
        let error = write_run(results.path(), run, scenarios).unwrap_err();
        assert!(error.to_string().contains("invalid name"), "{bad}: {error}");
    }
    let (run, mut scenarios) = small_run_as("r1", "0.0.1", EARLIER);
    scenarios[0].scenario.key = "run".into();
    assert!(write_run(results.path(), run, scenarios).is_err());
    assert_eq!(tree(results.path()), []);
}

/// A disk with room for so many bytes; the file that does not fit is left half written, as a real one is.
struct FullDisk {
    room: Cell<usize>,
}

impl Disk for FullDisk {
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(self.room.get());
        self.room.set(self.room.get() - fits);
        std::fs::write(path, &bytes[..fits])?;
        if fits < bytes.len() { Err(io::Error::from_raw_os_error(libc::ENOSPC)) } else { Ok(()) }
    }
}

#[test]
fn a_full_disk_leaves_no_trace_wherever_it_fills_up() {
    let (run, scenarios) = small_run_as("r2", "0.0.1", LATER);
    let sizes: Vec<usize> =
        spell(&mut run.clone(), &scenarios).unwrap().iter().map(|(_, bytes)| bytes.len()).collect();
    let whole: usize = sizes.iter().sum();
    // The last two leave room for the run and not for the index, or not for all of it.
    for room in [0, 1, sizes[0] - 1, sizes[0], whole - 1, whole, whole + 10] {
        for first_run_is_there in [false, true] {
            let results = tempfile::tempdir().unwrap();
            if first_run_is_there {
                let (first, records) = small_run_as("r1", "0.0.1", EARLIER);
                write_run(results.path(), first, records).unwrap();
            }
            let before = tree(results.path());
            let disk = FullDisk { room: Cell::new(room) };
            let error = write_run_on(&disk, results.path(), run.clone(), &scenarios).unwrap_err();
            let said = format!("{error:#}");
            assert!(
                said.contains("No space left") && said.contains("nothing of this run was stored"),
                "{said}"
            );
            assert_eq!(tree(results.path()), before, "room for {room} bytes");
        }
    }
    let results = tempfile::tempdir().unwrap();
    let enough = FullDisk { room: Cell::new(whole + 100_000) };
    write_run_on(&enough, results.path(), run, &scenarios).unwrap();
}

/// A disk that ends the program at a write, as a kill does: no error handling runs.
struct Killed {
    writes_left: Cell<u32>,
}

impl Disk for Killed {
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if self.writes_left.get() == 0 {
            std::fs::write(path, &bytes[..bytes.len() / 2])?;
            std::panic::panic_any("killed");
        }
        self.writes_left.set(self.writes_left.get() - 1);
        std::fs::write(path, bytes)
    }
}

#[test]
fn after_a_kill_readers_see_the_old_index_and_the_next_attempt_succeeds() {
    // Writes: run.json, startup.json.zst, histograms.hdr.zst, the index.
    for writes in 0..4 {
        let results = tempfile::tempdir().unwrap();
        let (first, records) = small_run_as("r1", "0.0.1", EARLIER);
        write_run(results.path(), first, records).unwrap();
        let index_before = std::fs::read(results.path().join("index.json")).unwrap();
        let (run, scenarios) = small_run_as("r2", "0.0.1", LATER);
        let disk = Killed { writes_left: Cell::new(writes) };
        let attempt =
            std::panic::AssertUnwindSafe(|| write_run_on(&disk, results.path(), run.clone(), &scenarios));
        assert!(std::panic::catch_unwind(attempt).is_err());
        assert_eq!(
            std::fs::read(results.path().join("index.json")).unwrap(),
            index_before,
            "{writes} writes"
        );
        let machine = results.path().join("0.0.1/fixture-machine");
        assert_eq!(machine.join("r2").exists(), writes == 3, "only a whole folder carries the run's name");
        write_run(results.path(), run, scenarios).unwrap();
        let index = read_index(&results.path().join("index.json")).unwrap();
        assert_eq!(index.versions[0].machines[0].runs.len(), 2);
        assert!(!machine.join(".writing-r2").exists());
    }
}

#[test]
fn a_full_file_system_is_reported_and_nothing_half_written_stays() {
    let mount = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=48k", "plumbkv-test"])
        .arg(mount.path())
        .output()
        .is_ok_and(|done| done.status.success());
    if !mounted {
        eprintln!("not run: mounting a tmpfs needs root; the simulated full disk above covers the same code");
        return;
    }
    let (run, scenarios) = run_as("r1", "local", EARLIER);
    let done = write_run(mount.path(), run, scenarios);
    let left = tree(mount.path());
    let unmounted = std::process::Command::new("umount").arg(mount.path()).status().unwrap();
    assert!(unmounted.success());
    let said = format!("{:#}", done.unwrap_err());
    assert!(said.contains("No space left on device") && said.contains(".json"), "{said}");
    assert_eq!(left, []);
}

#[test]
fn writers_of_one_index_wait_for_each_other() {
    let results = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let results = results.path();
            scope.spawn(move || {
                let (run, scenarios) = small_run_as(&format!("r{number}"), "local", EARLIER);
                write_run(results, run, scenarios).unwrap();
            });
        }
    });
    let index = read_index(&results.path().join("local/index.json")).unwrap();
    assert_eq!(index.versions[0].machines[0].runs.len(), 8);
}
