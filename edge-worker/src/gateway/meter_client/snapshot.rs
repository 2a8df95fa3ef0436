//! The whole state of a key's meter, read at no charge.

use shared::key::{FreeCall, KeyError, KeyId, VerifiedKey};
use shared::keys_api::key_unknown;
use shared::lease_cache::LeaseCache;
use shared::meter::{CallFilter, Message, MeterRequest, MeterResponse, MeterSnapshot, Reply, Verdict};
use shared::problem::Problem;
use shared::quota::QuotaStatus;
use shared::response::Response;

use super::change::record_free_call;
use super::{exchange, rpc};
use crate::context::RequestContext;
use crate::gateway::{key_store, lease_caches};
use crate::runtime::clock;

/// The part of a snapshot that is stored beside the state.
#[derive(Clone, Copy)]
pub(crate) enum SnapshotPart<'a> {
    State,
    /// The hours that the meter has kept from `since` on.
    Hours {
        since: u64,
    },
    /// A page of the log of the last calls.
    Calls(&'a CallFilter),
    /// The last alerts.
    Alerts,
}

/// Returns the response with the rate-limit headers of a key, as its meter has given them.
pub(crate) fn with_quota(response: Response, meter: &MeterResponse) -> Response {
    response.with_headers(meter.quota.iter().flat_map(QuotaStatus::headers))
}

/// Reads the state of a key's meter for the key itself.
///
/// # Errors
/// Returns the problem of the key, `too-many-requests`, `meter-unavailable`, or
/// `key-store-unavailable`.
pub(crate) async fn read(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    part: SnapshotPart<'_>,
) -> Result<MeterSnapshot, Problem> {
    // Before the object: a client that reads its state in a loop costs nothing but memory here.
    record_free_call(&key.id, FreeCall::Read)?;
    let request = lease_caches::with(key, |cache, now| cache.read(key, now))?;
    let mut snapshot = ask(context, key, &request, part).await?;
    if LeaseCache::lacks_record(&request, &snapshot.response) {
        let read = exchange::learn_stored(context, key).await;
        let again = lease_caches::with(key, |cache, now| cache.read(key, now))?;
        // KV has been read. Marked as unread, the meter would ask for the record again.
        snapshot = ask(context, key, &MeterRequest { unread: false, ..again }, part).await?;
        let is_unknown = snapshot.response.verdict == Verdict::Refuse(KeyError::Invalid);
        exchange::check_stored(key, read, is_unknown)?;
    }
    match snapshot.response.verdict {
        Verdict::Refuse(fault) => Err(fault.into()),
        Verdict::Allow | Verdict::Deny(_) | Verdict::Noted => Ok(snapshot),
    }
}

async fn ask(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    request: &MeterRequest,
    part: SnapshotPart<'_>,
) -> Result<MeterSnapshot, Problem> {
    let sent = clock::now();
    let message = match part {
        SnapshotPart::State => Message::Read(request.clone()),
        SnapshotPart::Hours { since } => Message::History { request: request.clone(), since },
        SnapshotPart::Alerts => Message::ReadAlerts(request.clone()),
        SnapshotPart::Calls(filter) => Message::Calls { request: request.clone(), filter: filter.clone() },
    };
    let name = key.id.to_string();
    let reply = rpc::call(context, &name, &message).await;
    let Ok(Reply::Read(snapshot)) = reply else { return Err(rpc::unavailable(context, reply)) };
    // What is read for people serves calls too: a revocation that is seen here applies at once.
    lease_caches::with(key, |cache, now| cache.handle_response(request, sent, &snapshot.response, now))?;
    Ok(snapshot)
}

/// Reads the state of a key's meter for an administrator.
///
/// # Errors
/// `key-unknown`, `meter-unavailable`, or `key-store-unavailable` if the meter does not know the
/// key and KV fails.
pub(crate) async fn read_as_admin(
    context: &RequestContext<'_>,
    id: &KeyId,
) -> Result<MeterSnapshot, Problem> {
    let (record, found) = match key_store::find(&context.bindings.keys, id, context.request.id).await {
        Ok(record) => (record, Ok(())),
        Err(problem) => (None, Err(problem)),
    };
    match rpc::call(context, &id.to_string(), &Message::Show { record }).await {
        Ok(Reply::Show(Some(snapshot))) => Ok(snapshot),
        Ok(Reply::Show(None)) => found.and_then(|()| Err(key_unknown())),
        other => Err(rpc::unavailable(context, other)),
    }
}
