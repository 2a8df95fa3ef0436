//! A world that is played, and what was seen of it from outside.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::rng::Rng;
use super::wire::Tape;
use super::world::World;
use crate::hooks::Limit;
use crate::http2::CloseReason;
use crate::record::Aborted;

/// A world that is played.
pub(super) struct State {
    pub(super) world: World,
    pub(super) seen: Mutex<Seen>,
    rng: Mutex<Rng>,
}

/// What was seen from outside.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) requests: Vec<SeenRequest>,
    pub(super) upstreams: Vec<SeenUpstream>,
    pub(super) log: Vec<LogLine>,
    pub(super) limits: Vec<Limit>,
    /// Why HTTP/2 connections were closed.
    pub(super) closed: Vec<CloseReason>,
    pub(super) violations: Vec<String>,
    /// The calls and the numbers of the replies of which an upstream has sent everything.
    pub(super) whole: Vec<(usize, usize)>,
    /// When the client has left: with its connection, or with the stream of one call.
    pub(super) left: Vec<(Option<usize>, Instant)>,
    /// When a party first fell silent.
    pub(super) silent_since: Option<Instant>,
}

/// A request that an upstream has received.
#[derive(Clone, Debug)]
pub(super) struct SeenRequest {
    pub(super) id: usize,
    pub(super) body: Vec<u8>,
    pub(super) is_complete: bool,
}

/// A connection to an upstream.
pub(super) struct SeenUpstream {
    pub(super) tape: Tape,
    /// Whether the upstream waits for a request and has sent the whole response before it.
    pub(super) is_at_boundary: Arc<Mutex<bool>>,
}

/// What the log has of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogLine {
    pub(super) id: Option<usize>,
    pub(super) status: u16,
    /// Bytes of the response's body.
    pub(super) sent: usize,
    /// Bytes of the request's body.
    pub(super) received: u64,
    pub(super) aborted: Option<Aborted>,
    pub(super) at: Instant,
}

impl State {
    pub(super) fn new(world: World, rng: Rng) -> Arc<Self> {
        Arc::new(Self { world, seen: Mutex::default(), rng: Mutex::new(rng) })
    }

    pub(super) fn fork(&self) -> Rng {
        self.rng.lock().fork()
    }

    pub(super) fn violate(&self, violation: String) {
        self.seen.lock().violations.push(violation);
    }

    /// Records that the client leaves, with its connection or with the stream of one call.
    pub(super) fn leave(&self, stream: Option<usize>) {
        self.seen.lock().left.push((stream, Instant::now()));
    }

    pub(super) fn fall_silent(&self) {
        self.seen.lock().silent_since.get_or_insert_with(Instant::now);
    }
}

/// Returns the number of a call from its target.
pub(super) fn id_of(target: &str) -> Option<usize> {
    target.rsplit('/').next()?.parse().ok()
}
