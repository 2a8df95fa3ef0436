//! The times of server-sent events, as they come.

use std::time::{Duration, Instant};

use hyper::header::{CONTENT_TYPE, HeaderMap};

use crate::record::StreamTiming;

/// The field that makes a block of lines an event (HTML, 9.2.6).
const DATA: &[u8] = b"data";

/// A clock of the events of a response.
pub(super) struct EventClock {
    sent: Instant,
    /// The beginning of the current line.
    line: Vec<u8>,
    has_data: bool,
    after_return: bool,
    last: Option<Duration>,
    timing: StreamTiming,
}

impl EventClock {
    /// Returns a clock for a response that is a stream of events, to a request that was sent at `sent`.
    pub(super) fn for_stream(headers: &HeaderMap, sent: Instant) -> Option<Self> {
        let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let is_stream = kind.split(';').next()?.trim().eq_ignore_ascii_case("text/event-stream");
        is_stream.then(|| Self {
            sent,
            line: Vec::new(),
            has_data: false,
            after_return: false,
            last: None,
            timing: StreamTiming::default(),
        })
    }

    /// Adds bytes that have come.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        let now = self.sent.elapsed();
        for &byte in bytes {
            // CR LF is one line end. Taken for two, each would end an event that has not come yet.
            let is_rest_of_line_end = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match byte {
                _ if is_rest_of_line_end => {}
                b'\r' | b'\n' => self.end_line(now),
                // The name of a field is enough. A stream of one endless line must not fill the
                // memory.
                _ if self.line.len() <= DATA.len() => self.line.push(byte),
                _ => {}
            }
        }
    }

    fn end_line(&mut self, now: Duration) {
        if self.line.is_empty() {
            // A comment or a lone `id` between empty lines is no event (HTML, section 9.2.6).
            if std::mem::take(&mut self.has_data) {
                self.event(now);
            }
            return;
        }
        let name = self.line.split(|&byte| byte == b':').next();
        self.has_data |= name == Some(DATA);
        self.line.clear();
    }

    fn event(&mut self, now: Duration) {
        let timing = &mut self.timing;
        timing.events = timing.events.saturating_add(1);
        match self.last.replace(now) {
            None => timing.first = now,
            Some(last) => timing.gap = timing.gap.max(now.saturating_sub(last)),
        }
    }

    /// Returns the times of all events.
    pub(super) const fn timing(&self) -> StreamTiming {
        self.timing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&str]) -> u32 {
        let headers = HeaderMap::from_iter([(
            CONTENT_TYPE,
            hyper::header::HeaderValue::from_static("text/event-stream; charset=utf-8"),
        )]);
        let mut clock = EventClock::for_stream(&headers, Instant::now()).unwrap();
        chunks.iter().for_each(|chunk| clock.update(chunk.as_bytes()));
        clock.timing().events
    }

    #[test]
    fn events_are_blocks_with_data_however_they_are_cut() {
        assert_eq!(events(&["id: 1\ndata: a\n\ndata: b\n\n"]), 2);
        assert_eq!(events(&["da", "ta: a\n", "\nda", "ta\n\n"]), 2);
        assert_eq!(events(&["data: a\r\n\r", "\ndata: b\r\r"]), 2);
        // Comments that keep a connection open, and an event that is not complete.
        assert_eq!(events(&[": ping\n\n\n", "database: x\n\n", "data: a\n"]), 0);
        assert!(EventClock::for_stream(&HeaderMap::new(), Instant::now()).is_none());
    }
}
