//! The wait of a call for what is known outside of this process.

use std::pin::Pin;

use tokio::sync::oneshot;

use crate::call::RequestLog;
use crate::gateway::Gateway;
use direct::KeyDecision;
use direct::replay::StoredUse;
use transport::hooks::Wait;
use transport::record;

/// A call that waits until it can be decided on.
pub enum AdmissionWait {
    /// For its meter.
    Meter(oneshot::Receiver<KeyDecision>),
    /// For the store of used grants.
    Store(Pin<Box<dyn Future<Output = StoredUse> + Send>>),
}

impl Wait<Gateway> for AdmissionWait {
    async fn wait(self, record: &mut record::Record<RequestLog>) {
        match self {
            Self::Meter(decision) => record.log.decided = decision.await.ok(),
            Self::Store(stored) => record.log.stored_use = Some(stored.await),
        }
    }
}
