//! What is to be measured: the text of a scenario, and what it means once checked. Pure: no files, no clock.

pub mod strict;
