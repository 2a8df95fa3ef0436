//! The queue of spans between calls and the exporter.

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::otlp::Span;
use transport::drain::InFlightGuard;

/// A bounded queue of the spans of calls. A call never waits for it.
#[derive(Debug)]
pub struct SpanQueue {
    sender: mpsc::Sender<CallSpans>,
    /// Taken when the exporter starts.
    receiver: Mutex<Option<mpsc::Receiver<CallSpans>>>,
}

/// The spans of one call.
#[derive(Debug)]
pub struct CallSpans {
    pub spans: Vec<Span>,
    /// Delays the exit until they were sent or given up.
    pub unsent: InFlightGuard,
}

/// Maximum number of calls whose spans wait. They take up to some 8 MB.
const CALLS: usize = 2_048;

impl SpanQueue {
    /// Adds the spans of a call, unless the queue is full.
    // Never a wait: a collector that is away must cost spans and no calls.
    pub fn add(&self, call: CallSpans) -> Result<(), QueueFull> {
        self.sender.try_send(call).map_err(|_| QueueFull)
    }

    /// Returns the exit of the queue, once.
    pub fn take_receiver(&self) -> Option<mpsc::Receiver<CallSpans>> {
        self.receiver.lock().take()
    }
}

/// The error of a full queue.
pub struct QueueFull;

impl Default for SpanQueue {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(CALLS);
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}
