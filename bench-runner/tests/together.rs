//! Integration tests that may run beside each other, in one binary, so that the runner is linked once.
//! Tests that measure time are binaries of their own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that gives up fails the test that called it")]

mod claims;
mod compare;
mod concurrent;
mod documented;
mod documents;
mod drivers;
mod external;
mod external_others;
mod external_page;
mod faults;
mod found;
mod hostile_artifact;
mod interrupt;
mod json;
mod layering;
mod load;
mod records;
mod release;
mod reproduce;
mod resume;
mod stored;
mod tiny;
mod typed;
