//! The display of progress on the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::driver::LiveCounts;

/// Shows progress until it is cancelled. Nothing is shown unless standard error is a terminal.
pub(super) async fn show(counts: Arc<LiveCounts>, start: Instant, length: Duration, quiet: bool) {
    if quiet {
        // The caller ends this future with the run. Returned early, it would not look different.
        return std::future::pending().await;
    }
    let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let bar = ProgressBar::with_draw_target(Some(millis), ProgressDrawTarget::stderr_with_hz(5));
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {msg}") {
        bar.set_style(style);
    }
    let mut interval = tokio::time::interval(Duration::from_millis(200));
    let mut last = (start.elapsed(), 0);
    let mut rate = 0.0;
    loop {
        interval.tick().await;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let (good, limited, other) = (load(&counts.success), load(&counts.limited), load(&counts.other));
        let (now, all) = (start.elapsed(), good + limited + other);
        // The bar moves five times a second, in which a rate would jump with each batch of records.
        if now.saturating_sub(last.0) >= Duration::from_secs(1) {
            rate = (all - last.1) as f64 / (now - last.0).as_secs_f64();
            last = (now, all);
        }
        let p99 = load(&counts.p99_micros) as f64 / 1000.0;
        bar.set_position(u64::try_from(now.as_millis()).unwrap_or(u64::MAX).min(millis));
        bar.set_message(format!(
            "{rate:.0}/s  p99 {p99:.1} ms  {good} good  {limited} limited  {other} other"
        ));
    }
}

/// Says what happens, unless `quiet`. Nothing is shown unless standard error is a terminal.
pub(super) fn note(text: &str, quiet: bool) {
    let is_shown = !quiet && io::stderr().is_terminal();
    if is_shown {
        // There is nowhere left to say that it fails.
        let _written = writeln!(io::stderr(), "loadtest: {text}");
    }
}
