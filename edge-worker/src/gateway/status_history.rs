//! The client of the status history, which one Durable Object keeps for the deployment. No tool call
//! waits for it.

use std::cell::RefCell;
use std::rc::Rc;

use shared::json;
use shared::problem::{Problem, codes};
use shared::status::incident::Incident;
use shared::status::message::{IncidentChange, IncidentReply, StatusMessage, StatusRecord};
use shared::time::UnixMillis;

use crate::context::RequestContext;
use crate::runtime::durable_rpc::{self, RpcError};
use crate::runtime::{clock, log};

/// The name of the only object.
const NAME: &str = "all";
/// Timeout of a request, in milliseconds.
const TIMEOUT_MS: u64 = 1_000;
/// Time for which what was read is served again, in milliseconds.
const MEMORY_MS: u64 = 5_000;

/// The record that was read, or the problem with which no record was.
type Known = Result<Rc<StatusRecord>, Problem>;

thread_local! {
    /// The last one, and until when it is served again.
    static KNOWN: RefCell<Option<(UnixMillis, Known)>> = const { RefCell::new(None) };
}

/// Returns the history and the incidents, as they were at most five seconds ago.
///
/// # Errors
/// `not-configured` or `status-unavailable`.
pub(crate) async fn read(context: &RequestContext<'_>) -> Known {
    let known = KNOWN.with_borrow(Clone::clone);
    if let Some((until, known)) = known
        && clock::now() < until
    {
        return known;
    }
    let record = call(context, &StatusMessage::Read).await.map(Rc::new);
    // A failure too, so that readers do not wait for a silent object one after another.
    KNOWN.set(Some((clock::now().plus(MEMORY_MS), record.clone())));
    record
}

/// Changes the incidents. Returns the one that was changed.
///
/// # Errors
/// `not-configured`, `status-unavailable`, or why it is not changed.
pub(crate) async fn change(
    context: &RequestContext<'_>,
    change: IncidentChange,
) -> Result<Incident, Problem> {
    let reply: IncidentReply = call(context, &StatusMessage::Change(change)).await?;
    // The administrator who made the change must see it at the next look.
    KNOWN.set(None);
    reply.map_err(Problem::from)
}

async fn call<T: serde::de::DeserializeOwned>(
    context: &RequestContext<'_>,
    message: &StatusMessage,
) -> Result<T, Problem> {
    let object = context.bindings.status_history()?;
    let reply = async {
        let text = durable_rpc::call(object, NAME, &json::to_string(message)?).await?;
        Ok(json::from_str(&text)?)
    };
    durable_rpc::timeout(TIMEOUT_MS, reply).await.map_err(|error: RpcError| {
        log::error(log::Event("status history call failed"), Some(context.request.id), &[("error", &error)]);
        let detail = "the status history does not respond; a change may have been made even so";
        Problem::new(codes::STATUS_UNAVAILABLE, detail).retry_after(1)
    })
}
