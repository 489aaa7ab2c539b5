//! Does a manifest survive a power cut at each of its operations, as it was before an edit or after it?

use super::{Edit, Manifest, Recovered, TableFacts};
use crate::error::Error;
use crate::lsm::vfs::{Fault, SimDisk, Survival, Vfs};
use crate::lsm::wal::{Ended, read};
use std::path::Path;

const DIRECTORY: &str = "/d";

fn edit(number: u64) -> Edit {
    let key = number.to_be_bytes().to_vec();
    let facts = TableFacts {
        number,
        bytes: 1,
        versions: 2,
        last_sequence: 3,
        first_key: key.clone(),
        last_key: key,
        ..TableFacts::default()
    };
    Edit { added: vec![(0, facts)], next_file: Some(number + 1), ..Edit::default() }
}

/// Two lives of a store: manifests 1 and 2, with edits. What was acknowledged is reported.
fn lives(disk: &SimDisk, done: &mut Vec<(u64, u64)>) -> Result<(), Error> {
    let directory = Path::new(DIRECTORY);
    for life in 1..3 {
        let mut manifest = Manifest::create(disk, directory, life, &edit(life * 100))?;
        done.push((life, 1));
        for number in 1..4 {
            manifest.append(&edit(life * 100 + number))?;
            done.push((life, number + 1));
        }
    }
    Ok(())
}

fn disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.make_dir(Path::new(DIRECTORY));
    disk
}

#[test]
fn a_power_cut_leaves_what_was_acknowledged_or_one_edit_more() {
    let (whole, mut done) = (disk(), Vec::new());
    lives(&whole, &mut done).unwrap();
    let mut cuts = 0;
    for cut in 0..whole.operations() {
        for survival in [Survival::Nothing, Survival::Everything, Survival::Some(cut), Survival::Some(!cut)] {
            let (disk, mut done) = (disk(), Vec::new());
            disk.fail(cut, Fault::PowerCut);
            assert!(lives(&disk, &mut done).is_err());
            disk.restart(survival);
            let found = Manifest::recover(&disk, Path::new(DIRECTORY)).unwrap();
            let place = found.as_ref().map_or((0, 0), |found| (found.number, found.edits.len() as u64));
            let acknowledged = done.last().copied().unwrap_or((0, 0));
            assert!(place >= acknowledged, "cut {cut}, {survival:?}: {place:?} of {acknowledged:?}");
            let next = match acknowledged {
                (0, 0) => (1, 1),
                (1, 4) => (2, 1),
                (life, edits) => (life, edits + 1),
            };
            assert!(place <= next, "cut {cut}, {survival:?}: {place:?} after {acknowledged:?}");
            if let Some(Recovered { number, edits }) = found {
                let expected: Vec<_> =
                    (0..edits.len() as u64).map(|edit_number| edit(number * 100 + edit_number)).collect();
                assert_eq!(edits, expected);
            }
            cuts += 1;
        }
    }
    assert!(cuts > 100, "{cuts}");
}

#[test]
fn what_is_damaged_is_told() {
    let disk = disk();
    lives(&disk, &mut Vec::new()).unwrap();
    let current = Path::new("/d/CURRENT");
    for at in 0..disk.content()[current].len() {
        disk.flip(current, at, 1);
        assert!(Manifest::recover(&disk, Path::new(DIRECTORY)).is_err(), "byte {at}");
        disk.flip(current, at, 1);
    }
    let manifest = Path::new("/d/MANIFEST-000002");
    disk.flip(manifest, 40, 1);
    assert!(matches!(Manifest::recover(&disk, Path::new(DIRECTORY)), Err(Error::Corrupt { .. })));
    assert_eq!(Manifest::recover(&SimDisk::new(), Path::new("/nowhere")).unwrap(), None);
}

/// The ends of tables are keys, and a key can be longer than a limit that suits most stores.
/// An earlier version reads the first edit, finds a field that it does not know, and says so.
#[test]
fn a_salt_is_in_the_first_edit_and_in_the_tags_of_the_others() {
    let (disk, directory) = (disk(), Path::new(DIRECTORY));
    let everything = Edit { salt: Some(7), ..edit(1) };
    let mut manifest = Manifest::create(&disk, directory, 1, &everything).unwrap();
    manifest.append(&edit(2)).unwrap();
    let file = disk.open(manifest.path()).unwrap();
    let mut found = Vec::new();
    let ended = read(&*file, 1, |record| {
        found.push(Edit::parse(record.payload));
        Ok::<_, ()>(())
    });
    assert!(matches!(ended, Ok(Ok(Ended::Here(_)))), "{ended:?}");
    assert_eq!(found, [Ok(everything.clone())]);
    let recovered = Manifest::recover(&disk, directory).unwrap().unwrap();
    assert_eq!(recovered.edits, [everything, edit(2)]);
}

#[test]
fn a_manifest_is_not_begun_anew_until_it_has_grown_by_what_it_began_with() {
    const LIMIT: u64 = 1_000;
    let long = |number: u64| {
        let mut edit = edit(number);
        edit.added[0].1.first_key = vec![b'k'; 600];
        edit
    };
    let everything =
        Edit { added: (0..20).flat_map(|number| long(number).added).collect(), ..Edit::default() };
    let mut manifest = Manifest::create(&disk(), Path::new(DIRECTORY), 1, &everything).unwrap();
    let whole = manifest.len();
    assert!(whole > 10 * LIMIT && !manifest.is_full(LIMIT));
    while !manifest.is_full(LIMIT) {
        manifest.append(&long(7)).unwrap();
    }
    assert!((2 * whole..2 * whole + LIMIT).contains(&manifest.len()), "{} of {whole}", manifest.len());
    // A short one is full at the limit.
    let mut manifest = Manifest::create(&disk(), Path::new(DIRECTORY), 1, &edit(1)).unwrap();
    while !manifest.is_full(LIMIT) {
        manifest.append(&edit(7)).unwrap();
    }
    assert!((LIMIT..LIMIT + 100).contains(&manifest.len()), "{}", manifest.len());
}
