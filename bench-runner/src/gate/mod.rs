//! Does a change make a server slower? The rule that judges it, and how often that rule errs. Pure: trials in, one of five
//! outcomes out.
//!
//! A block is a quartet of trials in the order base, head, head, base; its figure is a log ratio, turned so that above zero is
//! worse. Words and reasons: `bench-runner/docs/statistics.md`.

mod calibration;
mod counted;
mod noise;
mod power;
mod rule;
mod series;
mod verdicts;

pub use calibration::{noise, rates, share_interval};
pub use counted::{Counted, counted_verdict, excuse_faster, uncounted_verdict};
pub use noise::Noise;
pub use power::{Case, Power, simulate};
pub use rule::{Confirmed, Judged, Rules, goes_on, judge};
pub use series::{Collected, Point, Series, is_saturated, metrics};
pub use verdicts::{SCREEN_BLOCKS, Stored, block_sd, overall, verdicts};
