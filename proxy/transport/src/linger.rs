//! The lingering close of a connection. Closing a connection with unread bytes resets it, and a
//! client that sends its whole body before it reads would not receive the response.
//!
//! Why: docs/decisions/proxy.md, "A refused upload ends in a lingering close".

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use crate::client::ClientStream;
use crate::drain::{Drain, Phase};

/// Number of bytes beyond the largest body that are discarded before the connection is closed.
const EXTRA_BYTES: u64 = 1 << 20;
/// Maximum time of a brief lingering close.
pub(crate) const BRIEF: Duration = Duration::from_secs(1);
/// Maximum time of a lingering close while the client is sending its body (nginx:
/// `lingering_time`).
const TIME: Duration = Duration::from_secs(30);
/// Maximum pause of such a client (nginx: `lingering_timeout`).
const PAUSE: Duration = Duration::from_secs(5);

/// The amount that is discarded after the last response of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LingeringClose {
    /// The bytes that are in transit.
    Brief,
    /// The rest of a body of at most this many bytes.
    Body(u64),
}

impl LingeringClose {
    /// Closes the sending half of a connection, and discards bytes from the client until the
    /// connection can be closed.
    pub(crate) async fn run(self, client: &mut ClientStream, drain: &Drain) {
        let (bytes, time, pause) = match self {
            Self::Brief => (EXTRA_BYTES, BRIEF, BRIEF),
            Self::Body(max) => (max.saturating_add(EXTRA_BYTES), TIME, PAUSE),
        };
        let drained = async {
            if AsyncWriteExt::shutdown(client).await.is_ok() {
                client.arm(pause);
                // The connection is closed in any case.
                let _discarded = client.discard_body(usize::try_from(bytes).unwrap_or(usize::MAX)).await;
            }
        };
        let mut phase = drain.phase();
        // A graceful shutdown does not wait for bytes that are discarded.
        let closing = async {
            drop(phase.wait_for(|phase| *phase == Phase::Closing).await);
            sleep(BRIEF).await;
        };
        tokio::select! { () = drained => (), () = sleep(time) => (), () = closing => () }
    }
}
