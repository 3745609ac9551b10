//! A bar for what takes over a second, on a terminal.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use triglyph::care::rebuild::{PhaseReport, RebuildProgress};

/// What ends sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error for each phase that takes its time.
#[derive(Default)]
pub(crate) struct Bars {
    what: String,
    begun: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl RebuildProgress for Bars {
    fn begin(&mut self, phase: &str, source: &str) {
        self.what = crate::table::plain(&format!("{phase} {source}"));
        self.begun = Some(Instant::now());
    }

    fn step(&mut self, done: u64, total: Option<u64>) -> ControlFlow<()> {
        if self.bar.is_none() && self.begun.is_some_and(|begun| begun.elapsed() >= PATIENCE) {
            // Draws on a terminal alone.
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(10));
            bar.set_style(style(total.is_some()));
            bar.set_message(self.what.clone());
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, _: &PhaseReport) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn style(bounded: bool) -> ProgressStyle {
    let template = if bounded {
        "{msg} {bar:30} {human_pos} of {human_len} ({per_sec}, {eta} left)"
    } else {
        "{msg} {spinner} {human_pos} ({per_sec})"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
