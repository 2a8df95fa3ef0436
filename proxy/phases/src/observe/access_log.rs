//! The access log: one line per request, JSON or in the format `combined`. Requests append to a buffer in memory and never
//! wait for the reader of the log. If it does not keep up, lines are dropped and counted.

mod buffer;
mod combined;
mod line;
mod output;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use parking_lot::Mutex;
use shared::problem::Code;

use config::{AccessDetail, AccessTarget, LogConfig, LogFields};
use transport::record::Aborted;

pub use line::Line;
pub use output::{LogFile, LogOutput};

/// The buffers of lines to write.
#[derive(Debug)]
pub struct AccessLog {
    /// One of the levels below, so that requests read it without a lock.
    level: AtomicU8,
    /// The bits of the fields of JSON lines, or [`COMBINED`].
    fields: AtomicU32,
    buffers: [Mutex<Buffer>; BUFFERS],
    dropped: AtomicU64,
    closed: AtomicBool,
    /// Whether the output is to be opened anew.
    reopen: AtomicBool,
    /// The writing thread, once it has started.
    writer: OnceLock<Thread>,
}

type Buffer = Vec<u8>;

const OFF: u8 = 0;
const FAILURES: u8 = 1;
const CALLS: u8 = 2;

/// In place of fields: lines have the format `combined`.
const COMBINED: u32 = 0;

/// Number of buffers. Threads append to different ones, so that they do not contend for one lock.
const BUFFERS: usize = 16;
/// Capacity of a buffer in bytes. Beyond it, lines are dropped.
const BUFFER_BYTES: usize = 1 << 20;
/// Size at which a buffer is written early, while it is still in the processor's cache.
const WRITE_AT: usize = 64 << 10;
/// Maximum time before a line is written.
pub const WRITE_EVERY: Duration = Duration::from_millis(50);

impl AccessLog {
    /// Returns an empty log. [`Self::write_until_closed`] writes it.
    pub fn new(config: LogConfig) -> Self {
        Self {
            level: AtomicU8::new(level(config)),
            fields: AtomicU32::new(fields(config)),
            buffers: std::array::from_fn(|_| Mutex::new(Vec::new())),
            dropped: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            reopen: AtomicBool::new(false),
            writer: OnceLock::new(),
        }
    }

    /// Applies a reloaded configuration.
    pub fn configure(&self, config: LogConfig) {
        self.level.store(level(config), Ordering::Relaxed);
        self.fields.store(fields(config), Ordering::Relaxed);
    }

    /// Returns true if a request with this outcome is logged. `status` is 0 if it had no response.
    pub fn wants(&self, status: u16, refusal: Option<Code>, aborted: Option<Aborted>) -> bool {
        match self.level.load(Ordering::Relaxed) {
            OFF => false,
            FAILURES => refusal.is_some() || aborted.is_some() || status == 0 || status >= 500,
            _ => true,
        }
    }

    /// Returns true if lines have the caller's trace id.
    pub fn has_callers_trace(&self) -> bool {
        self.fields().is_some_and(LogFields::has_callers_trace)
    }

    /// Returns true if lines say something of the client.
    pub fn has_client(&self) -> bool {
        self.fields().is_none_or(LogFields::has_client)
    }

    /// Returns the fields of JSON lines. `None` for the format `combined`.
    fn fields(&self) -> Option<LogFields> {
        LogFields::from_bits(self.fields.load(Ordering::Relaxed))
    }

    /// Appends a line. Drops and counts it if the buffer is full.
    pub fn add(&self, line: &Line<'_>) {
        let Some(buffer) = self.buffers.get(transport::thread::own() % BUFFERS) else { return };
        let mut buffer = buffer.lock();
        // Dropped and not waited for: a full disk must not stop calls.
        if buffer.len() >= BUFFER_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = buffer.len();
        match self.fields() {
            Some(fields) => line.write_json(&mut buffer, fields),
            None => line.write_combined(&mut buffer),
        }
        // Only by the line that crosses the mark. Each one after it would wake the writer again.
        let is_due = before < WRITE_AT && buffer.len() >= WRITE_AT;
        // Before the writer wakes up, which would wait for the lock at once.
        drop(buffer);
        if is_due {
            self.wake_writer();
        }
    }

    /// Returns the number of dropped lines.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Lets the writer open its file anew. Lines that were added before may be in either file.
    pub fn reopen(&self) {
        self.reopen.store(true, Ordering::Release);
        self.wake_writer();
    }

    /// Closes the log. Lines that were added before are still written.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake_writer();
    }

    /// Writes lines at least once per interval until the log is closed and empty. Blocks, so it
    /// needs its own thread.
    pub fn write_until_closed(&self, every: Duration, out: &mut impl LogOutput) {
        self.writer.get_or_init(thread::current);
        let (mut taken, mut is_torn) = (Vec::new(), false);
        loop {
            // Before the buffers are taken: a line that was added before the close is in this
            // round.
            let closed = self.closed.load(Ordering::Acquire);
            if self.reopen.swap(false, Ordering::AcqRel) {
                out.reopen();
            }
            for buffer in &self.buffers {
                // Swapped, so that calls wait for the lock as long as for three words, and not for
                // the disk.
                std::mem::swap(&mut *buffer.lock(), &mut taken);
                if !taken.is_empty() {
                    is_torn = !self.write(&taken, is_torn, out);
                }
                taken.clear();
            }
            if closed {
                return;
            }
            thread::park_timeout(every);
        }
    }

    /// Writes lines. If an earlier write tore a line, as a full disk does, it is ended first. Returns
    /// false if it fails, which cannot be reported anywhere: the lines count as dropped.
    fn write(&self, lines: &[u8], is_torn: bool, out: &mut impl LogOutput) -> bool {
        let end: &[u8] = if is_torn { b"\n" } else { b"" };
        let is_written = out.write_all(end).and_then(|()| out.write_all(lines)).is_ok();
        if !is_written {
            let count = lines.split_inclusive(|byte| *byte == b'\n').count();
            self.dropped.fetch_add(count as u64, Ordering::Relaxed);
        }
        is_written
    }

    fn wake_writer(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }
}

const fn level(config: LogConfig) -> u8 {
    match (config.access, config.detail) {
        (AccessTarget::Off, _) => OFF,
        (AccessTarget::Stdout, AccessDetail::Failures) => FAILURES,
        (AccessTarget::Stdout, AccessDetail::Calls | AccessDetail::Timings) => CALLS,
    }
}

const fn fields(config: LogConfig) -> u32 {
    match config.fields {
        Some(fields) => fields.bits(),
        None => COMBINED,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::mpsc;

    use shared::problem::codes;

    use super::*;

    fn config(detail: AccessDetail) -> LogConfig {
        let fields = Some(LogFields::of_detail(detail));
        LogConfig {
            access: AccessTarget::Stdout,
            detail,
            fields,
            level: log::LevelFilter::Off,
            diagnostics: config::DiagnosticFormat::Text,
        }
    }

    fn log(detail: AccessDetail) -> AccessLog {
        AccessLog::new(config(detail))
    }

    #[test]
    fn detail_decides_which_requests_are_logged() {
        let (failures, calls) = (log(AccessDetail::Failures), log(AccessDetail::Calls));
        let wanted = |log: &AccessLog| {
            [
                (200, None, None),
                (404, None, None),
                (200, None, Some(Aborted::ByUpstream)),
                (500, None, None),
                (0, None, None),
                (401, Some(codes::GRANT_INVALID), None),
            ]
            .map(|(status, refusal, aborted)| log.wants(status, refusal, aborted))
        };
        assert_eq!(wanted(&failures), [false, false, true, true, true, true]);
        assert_eq!(wanted(&calls), [true; 6]);
        failures.configure(LogConfig { access: AccessTarget::Off, ..config(AccessDetail::Calls) });
        assert_eq!(wanted(&failures), [false; 6]);
    }

    #[test]
    fn full_buffer_is_written_early() {
        struct Pipe(mpsc::Sender<usize>);
        impl LogOutput for Pipe {}
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
        log.add(&Line::timed_out(None));
        thread::scope(|scope| {
            scope.spawn(|| log.write_until_closed(Duration::from_secs(3_600), &mut Pipe(sender)));
            // The first line is written at once. From now on the writer waits for a wake-up, or an
            // hour.
            let length = receiver.recv().unwrap();
            (0..=WRITE_AT / length).for_each(|_| log.add(&Line::timed_out(None)));
            let woken = receiver.recv_timeout(Duration::from_secs(20));
            log.close();
            assert!(woken.is_ok(), "the writer was not woken");
        });
    }

    /// The disk takes a part of the first line. Then there is room again.
    #[test]
    fn lines_after_a_full_disk_are_whole() {
        struct Disk {
            room: usize,
            bytes: Vec<u8>,
        }
        impl LogOutput for Disk {}
        impl Write for Disk {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let taken = bytes.len().min(self.room);
                self.bytes.extend(&bytes[..taken]);
                self.room -= taken;
                if taken == 0 {
                    self.room = 1_000;
                    return Err(io::ErrorKind::StorageFull.into());
                }
                Ok(taken)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let log = log(AccessDetail::Calls);
        *log.buffers[0].lock() = b"first\nsecond\n".to_vec();
        *log.buffers[1].lock() = b"third\n".to_vec();
        log.close();
        let mut disk = Disk { room: 3, bytes: Vec::new() };
        log.write_until_closed(Duration::ZERO, &mut disk);
        assert_eq!((disk.bytes.as_slice(), log.dropped()), (b"fir\nthird\n".as_slice(), 2));
    }

    #[test]
    fn unread_log_drops_lines_instead_of_growing() {
        let log = log(AccessDetail::Calls);
        (0..20_000).for_each(|_| log.add(&Line::timed_out(None)));
        let held: usize = log.buffers.iter().map(|buffer| buffer.lock().len()).sum();
        assert!(held <= BUFFER_BYTES + 1_000 && log.dropped() > 0, "{held}");
    }
}
