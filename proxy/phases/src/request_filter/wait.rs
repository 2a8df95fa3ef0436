//! The wait of a call for what is known outside of this process.

use std::pin::Pin;

use shared::grant::Grant;
use shared::key::VerifiedKey;
use shared::prices::Price;
use shared::proof::Proof;
use shared::route::{Target, ToolCall};
use tokio::sync::oneshot;

use direct::KeyDecision;
use direct::replay::StoredUse;
use transport::hooks::Wait;

/// A call whose key or grant is verified, and that waits until it can be decided on.
pub struct AdmissionWait<'a> {
    pub(super) called: ToolCall<'a>,
    pub(super) target: Target<'a>,
    pub(super) awaited: Awaited,
}

/// A valid grant, and the proof for the edge that belongs to it.
pub(super) type VerifiedGrant = (Grant, Proof);

/// What a call waits for.
pub(super) enum Awaited {
    /// The meter of its key, for a call that costs so much.
    Meter(VerifiedKey, Price, oneshot::Receiver<KeyDecision>),
    /// The store of used grants.
    Store(VerifiedGrant, Pin<Box<dyn Future<Output = StoredUse> + Send>>),
}

/// A call that has waited.
pub struct Waited<'a> {
    pub(super) called: ToolCall<'a>,
    pub(super) target: Target<'a>,
    pub(super) verdict: Verdict,
}

/// What a call is decided with.
pub(super) enum Verdict {
    /// The decision of its meter, which is `None` while the process exits.
    Meter(VerifiedKey, Price, Option<KeyDecision>),
    /// What the store knew of its grant.
    Store(VerifiedGrant, StoredUse),
}

impl<'a> Wait for AdmissionWait<'a> {
    type Outcome = Waited<'a>;

    async fn wait(self) -> Waited<'a> {
        let Self { called, target, awaited } = self;
        let verdict = match awaited {
            Awaited::Meter(key, price, decision) => Verdict::Meter(key, price, decision.await.ok()),
            Awaited::Store(grant, stored) => Verdict::Store(grant, stored.await),
        };
        Waited { called, target, verdict }
    }
}
