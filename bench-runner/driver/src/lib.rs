//! The protocol between `bench-runner` and a program that drives one embedded engine.
//!
//! A driver is an engine and a `main` that hands it to the main loop: it reads one workload, does its phases,
//! checks every value it reads, and writes what it counted. Nothing of the runner is in it, so a rival is linked
//! against its own engine alone.

pub mod protocol;
pub mod values;
