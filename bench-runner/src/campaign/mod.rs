//! A campaign: one sitting on one machine, from what is to be measured to the files that are left.
//!
//! [`catalogue`] reads what there is, [`begin`] looks at the machine and plans, [`carry`] carries out the steps
//! one by one into a [`journal`], [`finish`] makes the record of it. [`reproduce`] says how to make it again. [`gate`] compares two programs.

pub mod begin;
mod bench;
pub mod carry;
pub mod catalogue;
pub mod finish;
pub mod gate;
pub mod journal;
pub mod reproduce;

#[cfg(test)]
mod carry_test;
