//! Server-sent events: how late each one is behind a peer, and what an open stream takes.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use memchr::memmem;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::load::{Load, Protocol, open_streams};
use crate::message::{Credential, RequestShape};
use crate::peers::Peer;
use crate::table::{Measurement, Table};
use crate::upstream::{DIGITS, EVENT, SLOW_ACTION, TIMED_ACTION, TIMED_EVENTS, nanos};

/// The name of this work for `--works`.
pub(crate) const NAME: &str = "events";
/// Number of streams at a time whose events are timed.
const TIMED_STREAMS: usize = 16;
/// Number of open streams while memory is measured.
const SLOW_STREAMS: usize = 1_000;
/// Maximum time for what takes a second if nothing holds events back.
const PATIENCE: Duration = Duration::from_secs(10);
/// The row of events that reach the client without a peer.
const DIRECT: &str = "no proxy";

/// The table of the latency of events.
pub(crate) struct EventTable(Table);

impl EventTable {
    pub(crate) fn new() -> Self {
        Self(Table::new(format!("{NAME}: from sending an event until the client has it, µs")))
    }

    /// Adds a round: events that reach the client directly, and those through each peer.
    pub(crate) async fn measure(
        &mut self,
        upstream: SocketAddr,
        loads: &[(&'static str, Load)],
    ) -> io::Result<()> {
        let direct = Load {
            address: upstream,
            credential: Credential::None,
            shape: RequestShape { action: TIMED_ACTION, body: 0, close: false },
            expected: 200,
            connections: TIMED_STREAMS,
            protocol: Protocol::Http1,
        };
        let [_, base] = self.add(DIRECT, &latencies(&direct).await?.unwrap_or_default());
        for (peer, load) in loads {
            let shape = RequestShape { action: TIMED_ACTION, ..load.shape };
            let Some(sorted) = latencies(&Load { shape, ..load.clone() }).await? else { continue };
            let [_, late] = self.add(peer, &sorted);
            self.0.add(peer, "p99 added", Measurement::AtMost(late - base));
        }
        Ok(())
    }

    /// Adds the percentiles of sorted nanoseconds, and returns them in microseconds.
    fn add(&mut self, peer: &'static str, sorted: &[u64]) -> [f64; 2] {
        [("p50", 50), ("p99", 99)].map(|(column, percent)| {
            let nanos = sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default();
            let micros = nanos as f64 / 1e3;
            self.0.add(peer, column, Measurement::Micros(micros));
            micros
        })
    }

    pub(crate) fn into_table(self) -> Table {
        self.0
    }
}

/// Returns how late the events of several streams are, in nanoseconds, sorted. `None` if one is held back.
async fn latencies(load: &Load) -> io::Result<Option<Vec<u64>>> {
    let streams = open_streams(load, TIMED_STREAMS).await?;
    let read = |stream| tokio::spawn(timeout(PATIENCE, read_events(stream, TIMED_EVENTS)));
    let readers: Vec<_> = streams.into_iter().map(read).collect();
    let mut all = Vec::new();
    for reader in readers {
        let Ok(read) = reader.await.map_err(io::Error::other)? else { return Ok(None) };
        all.extend(read?.1);
    }
    all.sort_unstable();
    Ok(Some(all))
}

/// Reads so many events. Returns the stream, and how late each event was in nanoseconds.
async fn read_events(mut stream: TcpStream, count: usize) -> io::Result<(TcpStream, Vec<u64>)> {
    let (mut received, mut late) = (Vec::new(), Vec::with_capacity(count));
    while late.len() < count {
        if stream.read_buf(&mut received).await? == 0 {
            let text = String::from_utf8_lossy(&received);
            return Err(io::Error::other(format!("the stream ended after {} events: {text}", late.len())));
        }
        let now = nanos();
        while let Some((sent, end)) = next_event(&received) {
            late.push(now.saturating_sub(sent));
            received.drain(..end);
        }
    }
    Ok((stream, late))
}

/// Returns when the first event was sent, and where its number ends.
fn next_event(received: &[u8]) -> Option<(u64, usize)> {
    let start = memmem::find(received, EVENT)? + EVENT.len();
    let digits = received.get(start..start + DIGITS)?;
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, start + DIGITS))
}

/// Returns the KiB of memory that each of many open streams takes, beyond `before`. `None` if an event is
/// held back.
pub(crate) async fn memory_per_stream(peer: &Peer, load: &Load, before: u64) -> io::Result<Option<f64>> {
    let load = Load { shape: RequestShape { action: SLOW_ACTION, ..load.shape }, ..load.clone() };
    let mut open = Vec::with_capacity(SLOW_STREAMS);
    // One after the other: a thousand at once are more than the upstream's queue of connections takes.
    while open.len() < SLOW_STREAMS {
        for stream in open_streams(&load, 1).await? {
            let Ok(read) = timeout(PATIENCE, read_events(stream, 1)).await else { return Ok(None) };
            open.push(read?.0);
        }
    }
    let with_streams = peer.process.memory("VmRSS")?;
    Ok(Some(with_streams.saturating_sub(before) as f64 / SLOW_STREAMS as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_is_found_once_its_number_is_complete() {
        let text = b"1c\r\ndata: 00000000000000000042\n\n";
        assert_eq!(next_event(text), Some((42, 30)));
        assert_eq!(next_event(&text[..29]), None);
    }
}
