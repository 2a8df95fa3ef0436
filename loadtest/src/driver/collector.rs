//! The collector: a thread that adds records to the summary and to the raw log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::StopFlag;
use crate::live_metrics::LiveMetrics;
use crate::record::{CallRecord, LogError, LogWriter};
use crate::summary::{Summary, SummaryBuilder};
use crate::timeline::{LiveTimeline, Timeline};

/// Counts for the display of progress.
#[derive(Debug, Default)]
pub(crate) struct LiveCounts {
    pub(crate) success: AtomicU64,
    pub(crate) limited: AtomicU64,
    pub(crate) other: AtomicU64,
    /// The 99th percentile of the latencies of the last second in microseconds.
    pub(crate) p99_micros: AtomicU64,
}

/// A running collector.
pub(crate) struct Collector {
    thread: JoinHandle<Collected>,
}

/// The result of a run.
pub(crate) struct Collected {
    pub(crate) summary: Summary,
    pub(crate) timeline: Timeline,
    /// The raw log, which waits for its trailer.
    pub(crate) log: Option<LogWriter>,
    /// The reason why the raw log ended early.
    pub(crate) log_error: Option<LogError>,
    /// The check that ended the run early, because it could no longer pass.
    pub(crate) lost_check: Option<String>,
}

/// The facts of a run that its collector needs.
pub(crate) struct CollectorOptions<'a, T> {
    /// The file of the raw log, and its header.
    pub(crate) log: Option<(&'a Path, &'a T)>,
    /// The time during which calls become due.
    pub(crate) length: Duration,
    /// The timeout of a call.
    pub(crate) timeout: Duration,
    /// Ends the run as soon as a check can no longer pass.
    pub(crate) find_lost_check: Option<FindLostCheck>,
    /// Metrics that are read while the run is under way.
    pub(crate) live: Option<LiveMetrics>,
}

/// Returns the check that can no longer pass, if there is one.
pub(crate) type FindLostCheck = Box<dyn Fn(&Summary, &Timeline) -> Option<String> + Send>;

struct State {
    summary: SummaryBuilder,
    timeline: LiveTimeline,
    log: Option<LogWriter>,
    log_error: Option<LogError>,
    counts: Arc<LiveCounts>,
    live: Option<LiveMetrics>,
    recent: Vec<u64>,
    find_lost_check: Option<FindLostCheck>,
    lost_check: Option<String>,
    stop: StopFlag,
}

impl Collector {
    /// Starts the thread. Returns the channel for records. Sets `stop` if the raw log cannot be
    /// written, or if a check can no longer pass and ends the run.
    pub(crate) fn start(
        options: CollectorOptions<'_, impl Serialize>,
        timeline: LiveTimeline,
        start: Instant,
        stop: StopFlag,
        counts: Arc<LiveCounts>,
    ) -> Result<(mpsc::Sender<Vec<CallRecord>>, Self), LogError> {
        let CollectorOptions { log, length, timeout, find_lost_check, live } = options;
        let log = log.map(|(path, header)| LogWriter::create(path, header)).transpose()?;
        let (sender, records) = mpsc::channel();
        let state = State {
            summary: SummaryBuilder::new(length, timeout),
            timeline,
            log,
            log_error: None,
            counts,
            live,
            recent: Vec::new(),
            find_lost_check,
            lost_check: None,
            stop,
        };
        let thread = thread::spawn(move || state.collect(&records, start));
        Ok((sender, Self { thread }))
    }

    /// Waits until all senders are dropped. Returns `None` if the thread panicked.
    pub(crate) fn finish(self) -> Option<Collected> {
        self.thread.join().ok()
    }
}

impl State {
    fn collect(mut self, records: &mpsc::Receiver<Vec<CallRecord>>, start: Instant) -> Collected {
        const TICK: Duration = Duration::from_secs(1);
        let mut tick = TICK;
        loop {
            match records.recv_timeout(tick.saturating_sub(start.elapsed())) {
                Ok(batch) => self.add(&batch),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if start.elapsed() >= tick {
                // The driver's own memory is in the report, because a driver that swaps measures
                // itself.
                self.summary.record_memory(tick.as_secs() - 1, resident_memory());
                self.publish_latency();
                // Every second, so that a run that is killed leaves its calls.
                self.write_log(LogWriter::flush);
                self.abort_if_lost();
                // From the last tick and not from now, or the seconds would drift against those of
                // the series.
                tick += TICK;
            }
        }
        let timeline = self.timeline.snapshot();
        let Self { log, log_error, lost_check, .. } = self;
        Collected { summary: self.summary.finish(), timeline, log, log_error, lost_check }
    }

    /// Ends the run if a check can no longer pass. A run that was stopped otherwise is left alone.
    fn abort_if_lost(&mut self) {
        let Some(find) = self.find_lost_check.as_ref().filter(|_| !self.stop.is_set()) else { return };
        self.lost_check = find(self.summary.so_far(), &self.timeline.snapshot());
        if self.lost_check.is_some() {
            self.stop.set();
        }
    }

    /// Writes to the raw log. If that fails, the run ends, and its calls are still summed up.
    fn write_log(&mut self, write: impl FnOnce(&mut LogWriter) -> Result<(), LogError>) {
        let Some(Err(error)) = self.log.as_mut().map(write) else { return };
        // The log is given up at its first error: what followed a torn frame could not be read.
        (self.log, self.log_error) = (None, Some(error));
        self.stop.set();
    }

    fn add(&mut self, batch: &[CallRecord]) {
        let timeline = self.timeline.snapshot();
        for record in batch {
            self.summary.record(record, &timeline);
            if let Some(live) = &self.live {
                live.observe(record);
            }
            let count = match record.status() {
                // Before the status: a 200 whose body fails its check is no success.
                _ if record.is_success() => &self.counts.success,
                Some(429) => &self.counts.limited,
                _ => &self.counts.other,
            };
            count.fetch_add(1, Ordering::Relaxed);
            self.recent.push(u64::try_from(record.latency().as_micros()).unwrap_or(u64::MAX));
        }
        self.write_log(|log| log.write(batch));
    }

    fn publish_latency(&mut self) {
        let at = self.recent.len() * 99 / 100;
        // A second without calls keeps the last value, rather than one of an empty list.
        if at < self.recent.len() {
            let (_, p99, _) = self.recent.select_nth_unstable(at);
            self.counts.p99_micros.store(*p99, Ordering::Relaxed);
        }
        self.recent.clear();
    }
}

/// Returns the resident memory of this process in bytes, or 0 where `/proc` is missing.
fn resident_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
