//! Trials in, committed JSON out: what a run's record holds, how it is written, and how it is read back.

pub mod canonical;
pub mod contracts;
