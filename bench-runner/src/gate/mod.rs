//! Does a change make a server slower? The rule that judges it, and how often that rule errs. Pure: figures in, one of five
//! outcomes out.
//!
//! A block is a few trials of base and head in turns; a coin decides which side begins. Its figure is a log ratio, turned so
//! that above zero is worse. Words and reasons: `bench-runner/docs/statistics.md`.

mod calibration;
mod counted;
mod noise;
mod power;
mod red;
mod rule;
mod series;
mod verdicts;

pub use calibration::{noise, rates, share_interval};
pub use counted::{Counted, counted_verdict, excuse_faster, uncounted_verdict};
pub use noise::Noise;
pub use power::{Case, Power, Shape, simulate};
pub use red::Red;
pub use rule::{Evidence, Judged, Limits, Rules};
pub use series::{Collected, Figures, Series, TAIL, metrics};
pub use verdicts::{dependent, overall, verdicts};
