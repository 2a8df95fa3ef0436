//! The client of the reports of pages, which one Durable Object keeps.

use biolink::pages_api::{ReportsMessage, account_unavailable};
use shared::json;
use shared::problem::Problem;

use crate::context::RequestContext;
use crate::runtime::{durable_rpc, log};

/// The name of the only object.
const NAME: &str = "all";
/// Timeout of a request, in milliseconds.
const TIMEOUT_MS: u64 = 2_000;

/// Sends a message. Returns the reply as JSON.
///
/// # Errors
/// `pages-unavailable`. The object may have taken the message even so.
pub(crate) async fn call(context: &RequestContext<'_>, message: &ReportsMessage) -> Result<String, Problem> {
    let reports = &context.biolink()?.reports;
    let sent = async {
        let message = json::to_string(message)?;
        let reply = durable_rpc::call(reports, NAME, &message);
        durable_rpc::timeout(TIMEOUT_MS, reply).await
    };
    sent.await.map_err(|error| {
        log::error(log::Event("reports call failed"), Some(context.request.id), &[("error", &error)]);
        account_unavailable()
    })
}
