//! A proxy process, tools for it, and a client that reads exactly what comes over the wire.

pub(crate) mod client;
pub(crate) mod edge;
pub(crate) mod grant;
pub(crate) mod h2;
pub(crate) mod h2_frames;
pub(crate) mod http2_tool;
pub(crate) mod load;
pub(crate) mod proxy;
pub(crate) mod tls;
pub(crate) mod tool;

use std::time::{Duration, Instant};

pub(crate) use client::{Answer, Client, Request};
pub(crate) use edge::FakeEdge;
pub(crate) use grant::Signer;
pub(crate) use tool::{FakeTool, Manner};

/// Nothing in these tests takes this long unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until `condition` holds; panics with `what` when it does not in time. How long it took.
pub(crate) async fn until<F: Future<Output = bool>>(
    what: &str,
    mut condition: impl FnMut() -> F,
) -> Duration {
    let begun = Instant::now();
    while !condition().await {
        assert!(begun.elapsed() < PATIENCE, "waited {PATIENCE:?} until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    begun.elapsed()
}
