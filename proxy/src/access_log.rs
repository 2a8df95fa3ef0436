//! One JSON line for each request. Requests append to a buffer in memory and never wait for the reader of the log:
//! when it does not keep up, lines are dropped and counted.

use std::{
    fmt::Write as _,
    io::Write as _,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use shared::{
    problem::{Code, Problem},
    request_id::RequestId,
};

use crate::{clock, config::AccessTarget, ctx::Call};

/// Lines that wait to be written.
#[derive(Debug)]
pub struct AccessLog {
    on: bool,
    buffers: [Mutex<Buffer>; BUFFERS],
    dropped: AtomicU64,
    closed: AtomicBool,
}

type Buffer = Vec<u8>;

/// Threads write to different buffers, so that they do not meet at one lock.
const BUFFERS: usize = 16;
/// What one buffer holds before lines are dropped.
const BUFFER_BYTES: usize = 1 << 20;
const WRITE_EVERY: Duration = Duration::from_millis(50);

/// What a line says. None of it can hold a quote or a control character: each field is a type that excludes them.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// When the answer was complete, in milliseconds since the epoch.
    pub at: u64,
    /// The request's id.
    pub request_id: RequestId,
    /// What the grant says, once it was verified.
    pub call: Option<&'a Call>,
    /// The status of the answer; 0 when there was none.
    pub status: u16,
    /// The problem, when the proxy refused the request itself.
    pub refusal: Option<Code>,
    /// Who answered.
    pub upstream: Option<&'a str>,
    /// Connections that were tried.
    pub tries: u32,
    /// From the end of the request's headers to the end of the answer.
    pub micros: u128,
    /// Bytes of the answer's body.
    pub sent: usize,
}

impl AccessLog {
    /// A log for a target. Nothing is written before [`Self::write_until_closed`] runs.
    #[must_use]
    pub fn new(target: AccessTarget) -> Self {
        Self {
            on: target == AccessTarget::Stdout,
            buffers: std::array::from_fn(|_| Mutex::new(Vec::new())),
            dropped: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Whether lines are wanted at all.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// Adds a line, or counts it as dropped.
    pub fn add(&self, line: &Line<'_>) {
        let Some(buffer) = self.buffers.get(own_buffer()) else { return };
        let mut buffer = buffer.lock();
        if buffer.len() >= BUFFER_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        line.write(&mut buffer);
    }

    /// Adds the line of a request that was refused before it could be read.
    pub fn unread(&self, request_id: RequestId, problem: &Problem) {
        if self.on {
            self.add(&Line {
                at: clock::now().0,
                request_id,
                call: None,
                status: problem.status(),
                refusal: Some(problem.code()),
                upstream: None,
                tries: 0,
                micros: 0,
                sent: 0,
            });
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
    }

    /// Writes lines to standard output until the log is closed and empty. Meant for a thread of its own.
    pub fn write_until_closed(&self) {
        let mut taken = Vec::new();
        loop {
            let closed = self.closed.load(Ordering::Acquire);
            for buffer in &self.buffers {
                std::mem::swap(&mut *buffer.lock(), &mut taken);
                // Nobody is left to be told that standard output is gone; the lines are lost like those dropped.
                if !taken.is_empty() && std::io::stdout().write_all(&taken).is_err() {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
                taken.clear();
            }
            if closed {
                return;
            }
            thread::sleep(WRITE_EVERY);
        }
    }
}

impl Line<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let mut text = String::with_capacity(320);
        // Writing to a string cannot fail.
        let _written = self.write_to(&mut text);
        out.extend_from_slice(text.as_bytes());
    }

    fn write_to(&self, out: &mut String) -> std::fmt::Result {
        write!(out, r#"{{"at":{},"request_id":"{}""#, self.at, self.request_id)?;
        if let Some(call) = self.call {
            let method = call.method.method();
            write!(
                out,
                r#","key_id":"{}","tier":"{}","tool":"{}","action":"{}","method":"{method}""#,
                call.key_id, call.tier, call.tool, call.action
            )?;
        }
        write!(out, r#","status":{}"#, self.status)?;
        if let Some(code) = self.refusal {
            write!(out, r#","refusal":"{}""#, code.as_str())?;
        }
        if let Some(upstream) = self.upstream {
            write!(out, r#","upstream":"{upstream}","tries":{}"#, self.tries)?;
        }
        let (whole, thousandths) = (self.micros / 1_000, self.micros % 1_000);
        writeln!(out, r#","ms":{whole}.{thousandths:03},"bytes":{}}}"#, self.sent)
    }
}

/// The buffer of this thread.
fn own_buffer() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % BUFFERS;
    }
    OWN.with(|own| *own)
}

#[cfg(test)]
mod tests {
    use shared::{
        key::KeyId, problem::Code, request_id::RequestId, route::CallMethod, tier::Tier, tool::Tool,
    };

    use super::*;

    fn line(call: Option<&Call>) -> Line<'_> {
        Line {
            at: 1,
            request_id: RequestId([7; 16]),
            call,
            status: 503,
            refusal: Some(Code::ToolTimeout),
            upstream: Some("127.0.0.1:9100"),
            tries: 1,
            micros: 1_234_005,
            sent: 9,
        }
    }

    #[test]
    fn a_line_is_one_json_object() {
        let call = Call {
            method: CallMethod::Post,
            tool: Tool::Qr,
            action: "generate".into(),
            key_id: KeyId::new([3; 12]),
            tier: Tier::Pro,
        };
        for call in [None, Some(&call)] {
            let mut text = Vec::new();
            line(call).write(&mut text);
            assert_eq!(text.iter().filter(|&&b| b == b'\n').count(), 1);
            let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(json["ms"], 1234.005);
            assert_eq!(json["refusal"], "tool-timeout");
            assert_eq!(json["tool"].as_str(), call.map(|_| "qr"));
        }
    }

    #[test]
    fn a_log_that_nobody_reads_drops_lines_instead_of_growing() {
        let log = AccessLog::new(AccessTarget::Stdout);
        (0..20_000).for_each(|_| log.add(&line(None)));
        let held: usize = log.buffers.iter().map(|buffer| buffer.lock().len()).sum();
        assert!(held <= BUFFER_BYTES + 1_000 && log.dropped() > 0, "{held}");
    }
}
