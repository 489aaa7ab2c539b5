//! Do histograms come back from the histogram file bit by bit, and is a file with other bytes refused?

use super::*;
use crate::export::testing::{run_as, small_run_as};
use crate::export::{ReadError, canonical, read_index, read_indexed_run, read_run, write_run};
use crate::model::{Run, Status};
use std::path::{Path, PathBuf};

/// A run with one scenario that has histograms.
fn timed() -> (Run, Vec<ScenarioRecord>) {
    let (run, mut scenarios) = run_as("r1", "0.0.1", "2026-01-01T00:00:00Z");
    scenarios.retain(|record| record.scenario.key == "wire-mixed");
    (run, scenarios)
}

struct Stored {
    results: tempfile::TempDir,
    folder: PathBuf,
}

fn stored() -> Stored {
    let results = tempfile::tempdir().unwrap();
    let (run, scenarios) = timed();
    let folder = write_run(results.path(), run, scenarios).unwrap();
    Stored { results, folder }
}

impl Stored {
    fn content(&self, name: &str) -> Vec<u8> {
        zstd::decode_all(std::fs::File::open(self.folder.join(name)).unwrap()).unwrap()
    }

    /// Replaces a file's content and every digest of it, as a hostile record would.
    fn forge(&self, name: &str, content: &[u8]) {
        let before = canonical::sha256_hex(&self.content(name));
        std::fs::write(self.folder.join(name), zstd::encode_all(content, 1).unwrap()).unwrap();
        let run = self.folder.join("run.json");
        let text = std::fs::read_to_string(&run).unwrap();
        assert!(text.contains(&before), "run.json does not name the digest of {name}");
        std::fs::write(&run, text.replace(&before, &canonical::sha256_hex(content))).unwrap();
    }

    /// Changes the first place of a histogram in the scenario's JSON.
    fn move_first(&self, to: &str) -> String {
        let text = String::from_utf8(self.content("wire-mixed.json.zst")).unwrap();
        let (before, after) = text.split_once("\"hdr_v2\": ").unwrap();
        let (_, after) = after.split_once('}').unwrap();
        self.forge("wire-mixed.json.zst", format!("{before}\"hdr_v2\": {to}{after}").as_bytes());
        read_run(&self.folder).unwrap_err().to_string()
    }
}

fn all(scenarios: &mut [ScenarioRecord]) -> Vec<Histogram> {
    scenarios
        .iter_mut()
        .flat_map(|record| &mut record.cells)
        .flat_map(histograms)
        .map(|one| one.clone())
        .collect()
}

#[test]
fn every_histogram_is_once_in_the_file_and_comes_back_bit_by_bit() {
    let stored = stored();
    let (_, mut before) = timed();
    let content = stored.content(NAME);
    let raw: Vec<Vec<u8>> =
        all(&mut before).iter().map(|one| inflated(&one.hdr_v2_deflate_base64).unwrap()).collect();
    assert!(raw.len() > 20 && content == raw.concat());
    let text = String::from_utf8(stored.content("wire-mixed.json.zst")).unwrap();
    assert!(!text.contains("base64") && text.matches("\"hdr_v2\"").count() == raw.len());
    let (run, mut after) = read_run(&stored.folder).unwrap();
    assert!(all(&mut after) == all(&mut before) && after == before);
    let named = run.histograms.unwrap();
    assert_eq!((named.file.as_str(), named.bytes), (NAME, content.len() as u64));
    let index = read_index(&stored.results.path().join("index.json")).unwrap();
    let listed = &index.versions[0].machines[0].runs[0];
    let names: Vec<&str> = listed.files.iter().map(|one| one.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["run.json", "wire-mixed.json.zst", NAME]);
    assert!(read_indexed_run(stored.results.path(), listed).unwrap().1 == before);
}

#[test]
fn a_run_without_histograms_has_no_file_of_them() {
    let results = tempfile::tempdir().unwrap();
    let (run, mut scenarios) = small_run_as("r1", "0.0.1", "2026-01-01T00:00:00Z");
    for trial in scenarios.iter_mut().flat_map(|record| &mut record.cells).flat_map(|cell| &mut cell.trials) {
        trial.histograms.clear();
    }
    let folder = write_run(results.path(), run, scenarios.clone()).unwrap();
    assert!(!folder.join(NAME).exists());
    let (run, records) = read_run(&folder).unwrap();
    assert!(run.histograms.is_none() && records == scenarios);
}

#[test]
fn what_is_no_histogram_keeps_its_text() {
    let (run, mut scenarios) = timed();
    let whole = scenarios[0].cells[0].trials[0].histograms[0].hdr_v2_deflate_base64.clone();
    let mut longer = STANDARD.decode(&whole).unwrap();
    longer.push(0);
    let broken = [
        "!!".to_owned(),
        STANDARD.encode("no histogram"),
        whole[..whole.len() / 8 * 4].to_owned(),
        STANDARD.encode(longer),
    ];
    let trial = &mut scenarios[0].cells[0].trials[0];
    trial.status = Status::Failed;
    let one = trial.histograms[0].clone();
    trial.histograms = broken.map(|text| Histogram { hdr_v2_deflate_base64: text, ..one.clone() }).to_vec();
    let results = tempfile::tempdir().unwrap();
    let folder = write_run(results.path(), run, scenarios.clone()).unwrap();
    assert!(read_run(&folder).unwrap().1 == scenarios);
}

#[test]
fn a_deflate_bomb_is_no_histogram() {
    let bomb = [V2.to_vec(), vec![0; 64 * 1024 * 1024]].concat();
    let mut bytes = [&V2_DEFLATE[..], &[0; 4]].concat();
    let mut encoder = ZlibEncoder::new(&mut bytes, Compression::fast());
    encoder.write_all(&bomb).unwrap();
    encoder.finish().unwrap();
    let length = u32::try_from(bytes.len() - 8).unwrap();
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    assert_eq!(inflated(&STANDARD.encode(bytes)), None);
    assert_eq!(deflated(&bomb), None);
}

#[test]
fn a_cut_or_flipped_histogram_file_is_refused() {
    let stored = stored();
    let path = stored.folder.join(NAME);
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 4, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let said = read_run(&stored.folder).unwrap_err().to_string();
        assert!(said.contains(NAME) && said.contains("restore the file from its commit"), "{length}: {said}");
    }
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        std::fs::write(&path, flipped).unwrap();
        let error = read_run(&stored.folder).unwrap_err();
        let known = matches!(
            error,
            ReadError::Compressed { .. }
                | ReadError::Digest { promised_by: "run.json", .. }
                | ReadError::TooLarge { .. }
        );
        assert!(known && error.to_string().contains(NAME), "{at}: {error}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(read_run(&stored.folder).unwrap_err(), ReadError::File { .. }));
}

#[test]
fn a_place_that_holds_no_histogram_of_its_own_is_refused() {
    let size = stored().content(NAME).len();
    for (place, expected) in [
        (format!("{{ \"at\": {size}, \"bytes\": 1 }}"), format!("outside {NAME}, which has {size}")),
        ("{ \"at\": 18446744073709551615, \"bytes\": 2 }".to_owned(), format!("outside {NAME}")),
        ("{ \"at\": 0, \"bytes\": 18446744073709551615 }".to_owned(), format!("outside {NAME}")),
        (format!("{{ \"at\": 0, \"bytes\": {size} }}"), "where another one is".to_owned()),
        ("{ \"at\": 1, \"bytes\": 40 }".to_owned(), "where none begins".to_owned()),
        ("{ \"at\": 0, \"bytes\": 0 }".to_owned(), "where none begins".to_owned()),
        ("null".to_owned(), "neither a text nor a place".to_owned()),
    ] {
        let said = stored().move_first(&place);
        assert!(
            said.contains("wire-mixed.json.zst: histogram of") && said.contains(&expected),
            "{place}: {said}"
        );
    }
}

#[test]
fn a_bomb_as_histogram_file_is_refused() {
    let stored = stored();
    // 300 MiB of zeros, which zstd writes in a few kilobytes.
    let mut bomb = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    std::io::copy(&mut std::io::repeat(0).take(300 << 20), &mut bomb).unwrap();
    std::fs::write(stored.folder.join(NAME), bomb.finish().unwrap()).unwrap();
    let error = read_run(&stored.folder).unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { .. }) && error.to_string().contains(NAME), "{error}");
}

#[test]
fn names_in_run_json_cannot_lead_out_of_the_folder() {
    for name in [NAME, "wire-mixed.json.zst"] {
        let stored = stored();
        let path = stored.folder.join("run.json");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(name, &format!("../{name}"))).unwrap();
        let error = read_run(&stored.folder).unwrap_err();
        assert!(matches!(error, ReadError::Name { .. }), "{error}");
    }
}

#[test]
fn the_same_run_has_the_same_run_json_whichever_level_compressed_it() {
    let stored = stored();
    for name in [NAME, "wire-mixed.json.zst"] {
        let content = stored.content(name);
        std::fs::write(stored.folder.join(name), zstd::encode_all(content.as_slice(), 1).unwrap()).unwrap();
    }
    assert!(read_run(Path::new(&stored.folder)).unwrap().1 == timed().1);
}
