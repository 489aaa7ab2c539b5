//! Does a log give back what was written, nothing else, and tell an end from damage?

use super::{Ended, LogWriter, Write, put_write, read, writes};
use crate::lsm::record::Kind;
use crate::lsm::vfs::{Fault, SimDisk, Survival, Vfs};
use std::io;
use std::path::Path;

const PATH: &str = "/d/log";

fn disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.make_dir(Path::new("/d"));
    disk
}

fn payload(number: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    let value = vec![number as u8; number as usize % 700];
    put_write(&mut payload, &Write { kind: Kind::Set, key: &number.to_be_bytes(), value: &value });
    payload
}

/// Writes records `from..to`, and syncs after each whose number is a multiple of `sync`.
fn fill(log: &mut LogWriter, from: u64, to: u64, sync: u64) -> io::Result<()> {
    for number in from..to {
        log.add(number, &payload(number));
        log.write()?;
        if number % sync == 0 {
            log.sync()?;
        }
    }
    Ok(())
}

fn found(disk: &SimDisk, log: u64) -> (Vec<u64>, Ended) {
    let mut numbers = Vec::new();
    let file = disk.open(Path::new(PATH)).unwrap();
    let ended = read(&*file, log, |record| {
        if record.payload.is_empty() {
            return Ok(());
        }
        assert_eq!(record.payload, payload(record.sequence));
        assert_eq!(writes(record.payload).filter(Result::is_ok).count(), 1);
        numbers.push(record.sequence);
        Ok::<_, ()>(())
    });
    (numbers, ended.unwrap().unwrap())
}

fn numbers(from: u64, to: u64) -> Vec<u64> {
    (from..to).collect()
}

#[test]
fn what_was_written_is_read_and_a_long_record_is_one() {
    let disk = disk();
    let mut log = LogWriter::new(disk.create(Path::new(PATH)).unwrap(), 1);
    fill(&mut log, 1, 2_000, 100).unwrap();
    let len = log.len();
    assert_eq!(found(&disk, 1), (numbers(1, 2_000), Ended::Here(len)));
    let long = vec![9; 3_000_000];
    log.add(2_000, &long);
    log.write().unwrap();
    let file = disk.open(Path::new(PATH)).unwrap();
    let mut last = 0;
    read(&*file, 1, |record| {
        last = record.payload.len();
        Ok::<_, ()>(())
    })
    .unwrap()
    .unwrap();
    assert_eq!(last, long.len());
}

#[test]
fn a_segment_that_is_used_again_gives_nothing_of_its_earlier_log() {
    let disk = disk();
    let mut log = LogWriter::new(disk.create(Path::new(PATH)).unwrap(), 1);
    fill(&mut log, 1, 100, 10).unwrap();
    for records in [0, 1, 7, 50] {
        let mut log = LogWriter::new(disk.reuse(Path::new(PATH)).unwrap(), 2 + records);
        fill(&mut log, 1, 1 + records, 1_000).unwrap();
        let len = log.len();
        assert_eq!(found(&disk, 2 + records), (numbers(1, 1 + records), Ended::Here(len)));
    }
}

#[test]
fn a_power_cut_at_every_operation_leaves_a_prefix_with_all_that_was_synced() {
    let total = {
        let disk = disk();
        let mut log = LogWriter::new(disk.create(Path::new(PATH)).unwrap(), 1);
        disk.sync_dir(Path::new("/d")).unwrap();
        fill(&mut log, 1, 40, 7).unwrap();
        disk.operations()
    };
    let mut cuts = 0;
    for cut in 2..total {
        for survival in
            [Survival::Nothing, Survival::Everything, Survival::Some(cut), Survival::Some(cut + 1_000)]
        {
            let disk = disk();
            let mut log = LogWriter::new(disk.create(Path::new(PATH)).unwrap(), 1);
            disk.sync_dir(Path::new("/d")).unwrap();
            disk.fail(cut, Fault::PowerCut);
            let mut synced = 0;
            for number in 1..40 {
                let done = fill(&mut log, number, number + 1, 7);
                if done.is_err() {
                    break;
                }
                if number % 7 == 0 {
                    synced = number;
                }
            }
            disk.restart(survival);
            let (found, ended) = found(&disk, 1);
            assert!(matches!(ended, Ended::Here(_)), "cut {cut}, {survival:?}: {ended:?}");
            assert_eq!(found, numbers(1, 1 + found.len() as u64), "cut {cut}, {survival:?}");
            assert!(found.len() as u64 >= synced, "cut {cut}, {survival:?}: {} of {synced}", found.len());
            cuts += 1;
        }
    }
    assert!(cuts > 100, "{cuts}");
}

#[test]
fn every_flipped_byte_of_a_closed_log_is_damage() {
    let disk = disk();
    let mut log = LogWriter::new(disk.create(Path::new(PATH)).unwrap(), 1);
    fill(&mut log, 1, 6, 2).unwrap();
    let len = log.len() as usize;
    log.end(6).unwrap();
    for at in 0..len {
        disk.flip(Path::new(PATH), at, 1 << (at % 8));
        let (found, ended) = found(&disk, 1);
        // Zeros between records mean nothing.
        let is_padding = found == numbers(1, 6) && matches!(ended, Ended::Here(_));
        assert!(is_padding || matches!(ended, Ended::Damaged(_)), "byte {at}: {found:?} {ended:?}");
        disk.flip(Path::new(PATH), at, 1 << (at % 8));
    }
    assert_eq!(found(&disk, 1).0, numbers(1, 6));
}

#[test]
fn after_a_failure_nothing_is_written_any_more() {
    for fault in [Fault::Error(io::ErrorKind::StorageFull), Fault::Error(io::ErrorKind::Other)] {
        let disk = disk();
        let mut log = LogWriter::new(disk.create(Path::new(PATH)).unwrap(), 1);
        fill(&mut log, 1, 5, 2).unwrap();
        disk.fail(disk.operations(), fault);
        assert!(fill(&mut log, 5, 6, 100).is_err());
        assert!(fill(&mut log, 6, 7, 100).is_err() && log.sync().is_err());
        assert_eq!(found(&disk, 1).0, numbers(1, 5));
    }
}

#[test]
fn a_short_write_is_continued() {
    let disk = disk();
    let mut log = LogWriter::new(disk.create(Path::new(PATH)).unwrap(), 1);
    disk.fail(disk.operations(), Fault::Short);
    fill(&mut log, 1, 3, 100).unwrap();
    assert_eq!(found(&disk, 1).0, numbers(1, 3));
}
