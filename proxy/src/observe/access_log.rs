//! One JSON line for each request. Requests append to a buffer in memory and never wait for the reader of the log:
//! when it does not keep up, lines are dropped and counted.

mod line;

use std::{
    io::Write,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::Duration,
};

use parking_lot::Mutex;
use shared::problem::Code;

use crate::config::{AccessDetail, AccessTarget, LogConfig};

pub use line::{Line, RefusedCall, Timings};

/// Lines that wait to be written.
#[derive(Debug)]
pub struct AccessLog {
    /// How much is written: one of the numbers below, so that requests read it without a lock.
    written: AtomicU8,
    buffers: [Mutex<Buffer>; BUFFERS],
    dropped: AtomicU64,
    closed: AtomicBool,
    /// Who writes the lines, once there is somebody.
    writer: OnceLock<Thread>,
}

type Buffer = Vec<u8>;

const NOTHING: u8 = 0;
const FAILURES: u8 = 1;
const CALLS: u8 = 2;
const TIMINGS: u8 = 3;

/// Threads write to different buffers, so that they do not meet at one lock.
const BUFFERS: usize = 16;
/// What one buffer holds before lines are dropped.
const BUFFER_BYTES: usize = 1 << 20;
/// At so much a buffer is written before its time: what is written while it is in the processor's cache is in nobody's way.
const WRITE_AT: usize = 64 << 10;
/// How long a line waits at most before it is written.
pub const WRITE_EVERY: Duration = Duration::from_millis(50);

impl AccessLog {
    /// An empty log. Nothing is written before [`Self::write_until_closed`] runs.
    #[must_use]
    pub fn new(config: LogConfig) -> Self {
        Self {
            written: AtomicU8::new(written(config)),
            buffers: std::array::from_fn(|_| Mutex::new(Vec::new())),
            dropped: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            writer: OnceLock::new(),
        }
    }

    /// From now on this is written.
    pub fn set(&self, config: LogConfig) {
        self.written.store(written(config), Ordering::Relaxed);
    }

    /// Whether a request with this outcome gets a line; `status` 0 is no answer.
    #[must_use]
    pub fn wants(&self, status: u16, refusal: Option<Code>) -> bool {
        match self.written.load(Ordering::Relaxed) {
            NOTHING => false,
            FAILURES => refusal.is_some() || status == 0 || status >= 500,
            _ => true,
        }
    }

    /// Whether lines say where the time went.
    #[must_use]
    pub fn wants_timings(&self) -> bool {
        self.written.load(Ordering::Relaxed) == TIMINGS
    }

    /// Adds a line, or counts it as dropped.
    pub fn add(&self, line: &Line<'_>) {
        let Some(buffer) = self.buffers.get(transport::thread::own() % BUFFERS) else { return };
        let mut buffer = buffer.lock();
        if buffer.len() >= BUFFER_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = buffer.len();
        line.write(&mut buffer);
        let is_due = before < WRITE_AT && buffer.len() >= WRITE_AT;
        drop(buffer);
        if is_due {
            self.wake_writer();
        }
    }

    /// Lines that were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Ends the log: what is in it is written, nothing more is taken care of.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake_writer();
    }

    /// Writes lines, at the latest when they have waited for so long, until the log is closed and empty. Meant for a thread
    /// of its own.
    pub fn write_until_closed(&self, every: Duration, out: &mut impl Write) {
        self.writer.get_or_init(thread::current);
        let mut taken = Vec::new();
        loop {
            let closed = self.closed.load(Ordering::Acquire);
            for buffer in &self.buffers {
                std::mem::swap(&mut *buffer.lock(), &mut taken);
                // Nobody is left to be told that the output is gone; the lines are lost like those dropped.
                if !taken.is_empty() && out.write_all(&taken).is_err() {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
                taken.clear();
            }
            if closed {
                return;
            }
            thread::park_timeout(every);
        }
    }

    fn wake_writer(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }
}

const fn written(config: LogConfig) -> u8 {
    match (config.access, config.detail) {
        (AccessTarget::Off, _) => NOTHING,
        (AccessTarget::Stdout, AccessDetail::Failures) => FAILURES,
        (AccessTarget::Stdout, AccessDetail::Calls) => CALLS,
        (AccessTarget::Stdout, AccessDetail::Timings) => TIMINGS,
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::mpsc};

    use shared::{request_id::RequestId, time::UnixMillis};

    use super::*;

    fn line() -> Line<'static> {
        Line {
            time: UnixMillis(1),
            request_id: RequestId([7; 16]),
            call: None,
            refused: None,
            status: 503,
            refusal: Some(Code::ToolTimeout),
            upstream: Some("127.0.0.1:9100"),
            tries: 1,
            micros: 5,
            sent: 9,
            timings: None,
        }
    }

    fn config(detail: AccessDetail) -> LogConfig {
        LogConfig { access: AccessTarget::Stdout, detail, level: log::LevelFilter::Off }
    }

    fn log(detail: AccessDetail) -> AccessLog {
        AccessLog::new(config(detail))
    }

    #[test]
    fn the_level_of_detail_decides_who_gets_a_line() {
        let (failures, calls) = (log(AccessDetail::Failures), log(AccessDetail::Calls));
        let wanted = |log: &AccessLog| {
            [(200, None), (404, None), (500, None), (0, None), (401, Some(Code::GrantInvalid))]
                .map(|(status, refusal)| log.wants(status, refusal))
        };
        assert_eq!(wanted(&failures), [false, false, true, true, true]);
        assert_eq!(wanted(&calls), [true; 5]);
        failures.set(LogConfig { access: AccessTarget::Off, ..config(AccessDetail::Calls) });
        assert_eq!(wanted(&failures), [false; 5]);
    }

    #[test]
    fn what_comes_quickly_is_written_before_its_time() {
        struct Pipe(mpsc::Sender<usize>);
        impl Write for Pipe {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.send(bytes.len()).map_err(io::Error::other)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (log, (sender, receiver)) = (log(AccessDetail::Calls), mpsc::channel());
        log.add(&line());
        thread::scope(|scope| {
            scope.spawn(|| log.write_until_closed(Duration::from_secs(3_600), &mut Pipe(sender)));
            // What was there when it began is written; from now on it waits to be told, or for an hour.
            let length = receiver.recv().unwrap();
            (0..=WRITE_AT / length).for_each(|_| log.add(&line()));
            let told = receiver.recv_timeout(Duration::from_secs(20));
            log.close();
            assert!(told.is_ok(), "it waits");
        });
    }

    #[test]
    fn a_log_that_nobody_reads_drops_lines_instead_of_growing() {
        let log = log(AccessDetail::Calls);
        (0..20_000).for_each(|_| log.add(&line()));
        let held: usize = log.buffers.iter().map(|buffer| buffer.lock().len()).sum();
        assert!(held <= BUFFER_BYTES + 1_000 && log.dropped() > 0, "{held}");
    }
}
