//! How far is a run, and how long will it still take? On stderr: a bar on a terminal, else a line now and then.
//!
//! Nothing ticks by itself: a thread that redraws would take CPU time from what is being measured. The bar
//! moves when a stage begins, which is before and after each measurement, not during it.

use crate::campaign::carry::Watch;
use crate::measure::Progress;
use crate::plan::{Step, mode_name};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// How often a line is written where stderr is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows progress on stderr.
pub enum Shown {
    /// Nothing at all: `--quiet`.
    Nothing,
    /// A bar that is redrawn in place.
    Bar(ProgressBar),
    /// Plain lines, for logs.
    Lines {
        /// When the last was written.
        last: Option<Instant>,
    },
}

impl Shown {
    /// What suits stderr.
    #[must_use]
    pub fn new(quiet: bool) -> Self {
        if quiet {
            return Self::Nothing;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines { last: None };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let template =
            if colour { "{bar:30.cyan} {pos}/{len} {wide_msg}" } else { "{bar:30} {pos}/{len} {wide_msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self::Bar(bar)
    }

    /// Takes the bar off the screen.
    pub fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Shown {
    fn step(&mut self, step: &Step, done: usize, total: usize, left: Duration) {
        let what = format!(
            "{} left · {} · {} {} · trial {}",
            words(left),
            step.scenario,
            step.target,
            mode_name(step.mode),
            step.trial + 1
        );
        match self {
            Self::Nothing => {}
            Self::Bar(bar) => {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
                bar.set_prefix(what.clone());
                bar.set_message(what);
            }
            Self::Lines { last } => {
                if last.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
                    eprintln!("{done}/{total} · {what}");
                    *last = Some(Instant::now());
                }
            }
        }
    }

    fn stage(&mut self, progress: &Progress) {
        if let Self::Bar(bar) = self {
            bar.set_message(format!("{} · {} {}", bar.prefix(), progress.stage.name(), progress.cell));
        }
    }

    fn note(&mut self, text: &str) {
        match self {
            Self::Nothing => {}
            Self::Bar(bar) => bar.println(format!("note: {text}")),
            Self::Lines { .. } => eprintln!("note: {text}"),
        }
    }
}

/// `7 m 30 s`, `2 h 05 m`.
#[must_use]
pub fn words(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} m {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        for (seconds, text) in
            [(0, "0 s"), (59, "59 s"), (61, "1 m 01 s"), (450, "7 m 30 s"), (7_500, "2 h 05 m")]
        {
            assert_eq!(words(Duration::from_secs(seconds)), text);
        }
    }
}
