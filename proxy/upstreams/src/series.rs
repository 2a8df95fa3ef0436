//! The metric series of one server. It holds them itself, so that a call needs no lookup by label.

use std::sync::OnceLock;
use std::time::Duration;

use prometheus::{Histogram, IntCounter};
use strum::VariantArray as _;
use transport::record::Aborted;

/// The classes of response statuses, indexed by the first digit. Index 0 is for requests without a
/// response.
pub const STATUS_CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The metrics of the requests to one server.
#[derive(Debug)]
pub struct Series {
    /// Seconds from sending a request to the start of its response.
    pub seconds: Histogram,
    /// Requests by the class of the response.
    pub requests: [IntCounter; STATUS_CLASSES.len()],
    /// Aborted responses by the side that aborted them.
    pub aborted: [IntCounter; Aborted::VARIANTS.len()],
}

/// The series of a server. Empty until its metrics are registered.
#[derive(Debug, Default)]
pub(super) struct SeriesSlot(OnceLock<Series>);

impl SeriesSlot {
    /// Sets the series, unless they are set.
    pub(super) fn set(&self, make: impl FnOnce() -> Series) {
        self.0.get_or_init(make);
    }

    /// Counts a response with this status, whose head was complete after `took`.
    pub(super) fn record_response(&self, status: u16, took: Duration) {
        if let Some(series) = self.0.get() {
            series.seconds.observe(took.as_secs_f64());
            series.count(usize::from(status / 100));
        }
    }

    /// Counts a response that was aborted.
    pub(super) fn record_abort(&self, by: Aborted) {
        let counter = self.0.get().and_then(|series| series.aborted.get(by as usize));
        counter.into_iter().for_each(IntCounter::inc);
    }

    /// Counts a request that failed without a response.
    pub(super) fn record_failure(&self) {
        if let Some(series) = self.0.get() {
            series.count(0);
        }
    }
}

impl Series {
    fn count(&self, class: usize) {
        if let Some(counter) = self.requests.get(class.min(STATUS_CLASSES.len() - 1)) {
            counter.inc();
        }
    }
}
