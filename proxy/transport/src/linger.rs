//! The lingering close of a connection: a client that sends its whole body before it reads would get a reset instead of
//! the response if the connection were closed on unread bytes.

use std::time::Duration;

use tokio::{io::AsyncWriteExt, time::sleep};

use crate::{
    client::ClientStream,
    drain::{Drain, Phase},
};

/// Beyond the largest body, so much is read and dropped before the connection is closed.
const EXTRA_BYTES: u64 = 1 << 20;
/// How long a brief lingering close takes at most.
pub(crate) const BRIEF: Duration = Duration::from_secs(1);
/// How long a lingering close takes at most for a client that is still sending its body (nginx: `lingering_time`).
const TIME: Duration = Duration::from_secs(30);
/// How long such a client may pause (nginx: `lingering_timeout`).
const PAUSE: Duration = Duration::from_secs(5);

/// How much is read and dropped after the last response of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LingeringClose {
    /// What is on its way.
    Brief,
    /// A body of at most this many bytes.
    Body(u64),
}

impl LingeringClose {
    /// Closes the sending half of a connection, reads and drops what the client still sends, and returns when the
    /// connection can be closed.
    pub(crate) async fn run(self, client: &mut ClientStream, drain: &Drain) {
        let (bytes, time, pause) = match self {
            Self::Brief => (EXTRA_BYTES, BRIEF, BRIEF),
            Self::Body(most) => (most.saturating_add(EXTRA_BYTES), TIME, PAUSE),
        };
        let drained = async {
            if AsyncWriteExt::shutdown(client).await.is_ok() {
                client.arm(pause);
                // Whatever it comes to, the connection ends.
                let _dropped = client.discard_body(usize::try_from(bytes).unwrap_or(usize::MAX)).await;
            }
        };
        let mut phase = drain.phase();
        // A graceful shutdown does not wait for clients that only send what is dropped.
        let ending = async {
            drop(phase.wait_for(|phase| *phase == Phase::Closing).await);
            sleep(BRIEF).await;
        };
        tokio::select! { () = drained => (), () = sleep(time) => (), () = ending => () }
    }
}
