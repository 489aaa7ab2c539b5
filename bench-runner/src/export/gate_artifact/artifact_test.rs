//! Does each limit hold at its edge, and no sooner?

use super::*;
use crate::output::gate::{json, testing};
use std::io::{Cursor, Write as _};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const OF_AN_ENTRY: usize = ENTRY_BYTES_MAX as usize;
const OF_AN_ARCHIVE: usize = ARCHIVE_BYTES_MAX as usize;

/// The made-up gate as JSON, filled up with blanks to so many bytes.
fn text(length: usize) -> Vec<u8> {
    let mut text = json(&testing::gate()).unwrap().into_bytes();
    text.resize(length.max(text.len()), b' ');
    text
}

fn archive(method: CompressionMethod, entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn deflated(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    archive(CompressionMethod::Deflated, entries)
}

fn read(name: &str, bytes: &[u8]) -> Result<Gate, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let before: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().path()).collect();
    let read = read_gate(&path, None).map_err(|error| error.to_string());
    let after: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().path()).collect();
    assert_eq!(before, after, "something was unpacked");
    read
}

/// Overwrites bytes of the central directory's only entry, counted from its signature.
fn patched(mut archive: Vec<u8>, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let at = archive.windows(4).rposition(|one| one == b"PK\x01\x02").unwrap() + offset;
    archive[at..at + bytes.len()].copy_from_slice(bytes);
    archive
}

#[test]
fn archive_folder_and_file_hold_the_same_gate() {
    let gate = testing::gate();
    let both = [("gate.json", text(0)), ("raw/trials.json", b"[]".to_vec())];
    assert_eq!(read("artifact.zip", &deflated(&both)).unwrap(), gate);
    assert_eq!(read("artifact.zip", &archive(CompressionMethod::Stored, &both)).unwrap(), gate);
    assert_eq!(read("without-extension", &deflated(&both)).unwrap(), gate);
    assert_eq!(read("gate.json", &text(0)).unwrap(), gate);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gate.json"), text(0)).unwrap();
    std::fs::create_dir(folder.path().join("raw")).unwrap();
    assert_eq!(read_gate(folder.path(), None).unwrap(), gate);
}

#[test]
fn an_entry_has_four_mebibytes_at_most() {
    let at_the_edge = text(OF_AN_ENTRY);
    let mut above = at_the_edge.clone();
    above.push(b' ');
    let expected = "larger than 4194304 bytes uncompressed";
    for (name, fine, refused) in [
        ("a.zip", deflated(&[("gate.json", at_the_edge.clone())]), deflated(&[("gate.json", above.clone())])),
        (
            "a.zip",
            deflated(&[("gate.json", text(0)), ("other", at_the_edge.clone())]),
            deflated(&[("gate.json", text(0)), ("other", above.clone())]),
        ),
        ("gate.json", at_the_edge.clone(), above.clone()),
    ] {
        assert!(read(name, &fine).is_ok(), "{:?}", read(name, &fine));
        assert!(read(name, &refused).unwrap_err().contains(expected), "{:?}", read(name, &refused));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gate.json"), &at_the_edge).unwrap();
    assert!(read_gate(folder.path(), None).is_ok());
    std::fs::write(folder.path().join("gate.json"), &above).unwrap();
    assert!(read_gate(folder.path(), None).unwrap_err().to_string().contains(expected));
}

#[test]
fn a_size_that_the_header_lies_about_is_not_believed() {
    // Bytes 24 to 28 of a directory entry are the uncompressed size.
    let bomb = deflated(&[("gate.json", text(64 * 1024 * 1024))]);
    assert!(bomb.len() < 256 * 1024, "a bomb of {} bytes", bomb.len());
    assert!(read("a.zip", &bomb).unwrap_err().contains("larger than 4194304 bytes"));
    for size in [1_u32, 4_194_304] {
        let lying = patched(bomb.clone(), 24, &size.to_le_bytes());
        assert!(read("a.zip", &lying).is_err(), "a size of {size} was believed");
    }
}

#[test]
fn an_archive_has_eight_mebibytes_at_most() {
    // Two blank entries of which the second is as long as it takes.
    let of = |second: usize| {
        let half = OF_AN_ENTRY - 64 * 1024;
        let blank = |length| vec![b' '; length];
        archive(
            CompressionMethod::Stored,
            &[("gate.json", text(0)), ("a", blank(half)), ("b", blank(second)), ("c", blank(64 * 1024))],
        )
    };
    let rest = OF_AN_ARCHIVE - of(0).len();
    assert_eq!(of(rest).len(), OF_AN_ARCHIVE);
    assert!(read("a.zip", &of(rest)).is_ok(), "{:?}", read("a.zip", &of(rest)));
    let refused = read("a.zip", &of(rest + 1)).unwrap_err();
    assert_eq!(refused, "\"a.zip\" is larger than 8388608 bytes, the most that is read of an artifact");
}

#[test]
fn there_are_sixteen_entries_at_most() {
    let of = |count: usize| {
        let mut entries = vec![("gate.json".to_owned(), text(0))];
        entries.extend((1..count).map(|number| (format!("{number}"), Vec::new())));
        let entries: Vec<_> = entries.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        deflated(&entries)
    };
    assert!(read("a.zip", &of(16)).is_ok());
    assert_eq!(read("a.zip", &of(17)).unwrap_err(), "17 entries, and no more than 16 are allowed");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gate.json"), text(0)).unwrap();
    (1..16).for_each(|number| std::fs::write(folder.path().join(number.to_string()), b"").unwrap());
    assert!(read_gate(folder.path(), None).is_ok());
    std::fs::write(folder.path().join("16"), b"").unwrap();
    assert!(read_gate(folder.path(), None).unwrap_err().to_string().contains("17 entries"));
}

#[test]
fn encrypted_entries_links_and_devices_are_refused() {
    let plain = deflated(&[("gate.json", text(0))]);
    assert!(read("a.zip", &plain).is_ok());
    // Bytes 8 to 10 are the flags, of which the first says encrypted; 38 to 42 the attributes; 5 the system.
    let encrypted = patched(plain.clone(), 8, &[1]);
    assert!(read("a.zip", &encrypted).unwrap_err().contains("\"gate.json\" is encrypted"));
    for (mode, expected) in [
        (0o120_777_u32, "is a symbolic link"),
        (0o020_666, "is a device or pipe"),
        (0o010_666, "is a device or pipe"),
        (0o140_777, "is a device or pipe"),
    ] {
        for system in [0_u8, 3, 19] {
            let linked = patched(patched(plain.clone(), 38, &(mode << 16).to_le_bytes()), 5, &[system]);
            assert!(read("a.zip", &linked).unwrap_err().contains(expected), "{mode:o} {system}");
        }
    }
}

#[test]
fn what_is_no_archive_or_holds_no_gate_is_refused() {
    let plain = deflated(&[("gate.json", text(0))]);
    assert!(read("a.zip", &text(0)).unwrap_err().starts_with("no zip archive that can be read"));
    assert!(
        read("a.zip", &plain[..plain.len() / 2]).unwrap_err().starts_with("no zip archive that can be read")
    );
    let mut behind = b"#!/bin/sh\n".to_vec();
    behind.extend(&plain);
    assert!(read("a.zip", &behind).is_err(), "an archive behind something else");
    for name in ["Gate.json", "gate.json/", "a/gate.json", "gate.json "] {
        let refused = read("a.zip", &deflated(&[(name, text(0))])).unwrap_err();
        assert!(refused.starts_with("there is no gate.json in it"), "{name}: {refused}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read_gate(folder.path(), None), Err(ArtifactError::Missing)));
    std::fs::create_dir(folder.path().join("gate.json")).unwrap();
    assert!(read_gate(folder.path(), None).unwrap_err().to_string().contains("is a folder"));
    assert!(matches!(read_gate(&folder.path().join("nothing"), None), Err(ArtifactError::File { .. })));
}

#[test]
fn two_entries_of_one_name_are_refused() {
    let twice = deflated(&[("gate.json", text(0)), ("gate.jsoN", text(0))]);
    let at = twice.windows(9).rposition(|one| one == b"gate.jsoN").unwrap();
    let mut twice = twice;
    twice[at..at + 9].copy_from_slice(b"gate.json");
    assert!(read("a.zip", &twice).unwrap_err().contains("two entries have the same name"));
}

#[test]
fn the_gate_is_of_the_head_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gate.json");
    std::fs::write(&path, text(0)).unwrap();
    let own = testing::gate().head.commit;
    assert!(read_gate(&path, Some(&own)).is_ok());
    for other in [testing::gate().base.commit.as_str(), &own[..12], ""] {
        let refused = read_gate(&path, Some(other)).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("is of head commit \"{own}\", and was asked for as that of {other}")),
            "{refused}"
        );
    }
}

#[test]
fn names_of_others_are_quoted_short_and_on_one_line() {
    assert_eq!(quoted("a\n\u{1b}[2J\u{202e}"), "\"a\\n\\u{1b}[2J\\u{202e}\"");
    assert_eq!(quoted(&"x".repeat(80)).len(), 82);
    assert_eq!(quoted(&"x".repeat(81)), format!("\"{}\"…", "x".repeat(80)));
}
