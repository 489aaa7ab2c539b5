//! What is there after the power went, at every single operation of a workload that rolls logs over, flushes, merges, and opens again?
//!
//! Each cut is tried with nothing, everything and random parts surviving of what was not synced. Then the store opens, holds the state after some number of
//! batches, and that number is not below what was acknowledged as synced.

use super::tree_test::{Model, content, open, small};
use super::{Batch, SyncMode, Tree, TreeOptions};
use crate::error::Error;
use crate::lsm::vfs::{Fault, SimDisk, Survival};
use std::io;

const BATCHES: u32 = 60;

/// What the batch with this number does to a model, and to a tree.
fn batch(number: u32, model: &mut Model) -> Batch {
    let mut batch = Batch::default();
    let mut random = fastrand::Rng::with_seed(u64::from(number));
    for _ in 0..random.u32(1..5) {
        let key = vec![b'k', random.u8(0..30)];
        if random.u8(0..4) == 0 {
            batch.delete(&key);
            model.remove(&key);
        } else {
            let value = vec![number as u8; random.usize(0..300)];
            batch.set(&key, &value);
            model.insert(key, value);
        }
    }
    batch
}

/// Runs the workload. `acknowledged` counts the batches that returned, `synced` those that a sync covered.
fn run(disk: &SimDisk, options: TreeOptions, acknowledged: &mut u32, synced: &mut u32) -> Result<(), Error> {
    let mut tree = open(disk, options)?;
    let mut model = Model::new();
    for number in 0..BATCHES {
        tree.write(&batch(number, &mut model))?;
        *acknowledged = number + 1;
        if options.sync == SyncMode::Always {
            *synced = *acknowledged;
        }
        match number {
            10 | 35 => tree.sync()?,
            20 | 45 => tree.flush()?,
            25 | 50 => {
                tree.flush()?;
                tree.settle()?;
            }
            30 => {
                tree.close()?;
                tree = open(disk, options)?;
            }
            40 => {
                drop(tree);
                tree = open(disk, options)?;
            }
            _ => continue,
        }
        // Each of these but the last makes everything last; a store that is merely dropped and opened is flushed.
        *synced = *acknowledged;
    }
    tree.close()?;
    *synced = *acknowledged;
    Ok(())
}

/// The state after each number of batches.
fn states() -> Vec<Model> {
    let mut model = Model::new();
    let mut states = vec![model.clone()];
    for number in 0..BATCHES {
        batch(number, &mut model);
        states.push(model.clone());
    }
    states
}

fn look(tree: &Tree, states: &[Model], least: u32, most: u32, what: &str) {
    let found = content(tree).unwrap_or_else(|error| panic!("{what}: {error}"));
    let is_state = (least..=most).any(|number| states[number as usize] == found);
    assert!(is_state, "{what}: not the state after any of {least} to {most} batches");
}

#[test]
fn a_power_cut_at_every_operation_loses_nothing_that_was_synced() {
    let states = states();
    let mut cuts = 0;
    for sync in [SyncMode::Always, SyncMode::OnCall, SyncMode::Never] {
        let options = small(sync);
        let whole = SimDisk::new();
        run(&whole, options, &mut 0, &mut 0).unwrap();
        for cut in 0..whole.operations() {
            for survival in [Survival::Nothing, Survival::Everything, Survival::Some(cut)] {
                let disk = SimDisk::new();
                let (mut acknowledged, mut synced) = (0, 0);
                disk.fail(cut, Fault::PowerCut);
                let _ = run(&disk, options, &mut acknowledged, &mut synced);
                disk.restart(survival);
                let what = format!("{sync:?}, cut at {cut}, {survival:?}");
                let tree = open(&disk, options).unwrap_or_else(|error| panic!("{what}: {error}"));
                look(&tree, &states, synced, (acknowledged + 1).min(BATCHES), &what);
                cuts += 1;
            }
        }
    }
    println!("{cuts} power cuts");
    assert!(cuts > 1_000, "{cuts}");
}

#[test]
fn an_error_at_every_operation_is_told_and_loses_nothing_that_was_acknowledged() {
    let states = states();
    let mut faults = 0;
    for fault in [Fault::Error(io::ErrorKind::StorageFull), Fault::Error(io::ErrorKind::Other), Fault::Short]
    {
        let options = small(SyncMode::OnCall);
        let whole = SimDisk::new();
        run(&whole, options, &mut 0, &mut 0).unwrap();
        for operation in 0..whole.operations() {
            let disk = SimDisk::new();
            let (mut acknowledged, mut synced) = (0, 0);
            disk.fail(operation, fault);
            let done = run(&disk, options, &mut acknowledged, &mut synced);
            let what = format!("{fault:?} at {operation}");
            assert!(fault != Fault::Short || done.is_ok(), "{what}: {done:?}");
            disk.fail(u64::MAX, Fault::Short);
            let tree = open(&disk, options).unwrap_or_else(|error| panic!("{what}: {error}"));
            look(&tree, &states, acknowledged, (acknowledged + 1).min(BATCHES), &what);
            faults += 1;
        }
    }
    println!("{faults} faults");
    assert!(faults > 500, "{faults}");
}
