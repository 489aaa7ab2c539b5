//! How far is a tool? On stderr: a bar on a terminal, else a line now and then.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a line is written where stderr is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows progress on stderr.
pub(super) struct Progress {
    shown: Shown,
    what: &'static str,
}

enum Shown {
    Nothing,
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl Progress {
    /// Begins to count `what`, of which there are about so many, if anybody knows.
    pub(super) fn begin(what: &'static str, total: Option<u64>, is_quiet: bool) -> Self {
        let shown = match (is_quiet, std::io::stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, false) => Shown::Lines { last: Instant::now() },
            (false, true) => Shown::Bar(bar(total)),
        };
        if let Shown::Bar(bar) = &shown {
            bar.set_message(what);
        }
        Self { shown, what }
    }

    /// So many are done.
    pub(super) fn at(&mut self, done: u64) {
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => bar.set_position(done),
            Shown::Lines { last } => {
                if last.elapsed() >= LINE_EVERY {
                    crate::log::line(format_args!("{done} {}", self.what));
                    *last = Instant::now();
                }
            }
        }
    }
}

impl Drop for Progress {
    /// Takes the bar off the screen.
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let template = match (total.is_some(), has_colour) {
        (true, true) => "{bar:30.cyan} {human_pos} of about {human_len} {msg}, {elapsed}",
        (true, false) => "{bar:30} {human_pos} of about {human_len} {msg}, {elapsed}",
        (false, _) => "{spinner} {human_pos} {msg}, {elapsed}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
