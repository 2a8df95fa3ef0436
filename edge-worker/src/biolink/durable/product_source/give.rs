//! Gives products to the account, as an edit of the page.

use biolink::pages_api::{AccountMessage, Call, Operation, SourceCall};
use biolink::product_sync::{EditOutcome, ProductEdit};
use shared::json;
use worker::Result;

use super::{Parts, ProductSource};
use crate::bindings;
use crate::runtime::{clock, durable_rpc, entropy, log};

/// Timeout of the edit, in milliseconds.
const ACCOUNT_TIMEOUT_MS: u64 = 10_000;

impl ProductSource {
    /// Gives the account the products that it is to get now. One that has no such source any more
    /// ends this object.
    pub(super) async fn give(&self) -> Result<()> {
        let due = self.change(|Parts { state, catalog }| state.edit(catalog, clock::now()))?;
        let Some(edit) = due else { return Ok(()) };
        // The account may have taken the edit. The same products again change nothing.
        let outcome = self.send(&edit).await.unwrap_or_else(|error| {
            log::error(log::Event("product edit failed"), None, &[("error", &error)]);
            EditOutcome::Failed("the account did not respond".to_owned())
        });
        if outcome == EditOutcome::SourceGone {
            // Otherwise the object would fetch a feed for ever that no page shows.
            return self.erase().await;
        }
        self.change(|parts| parts.state.settle(&edit, outcome, clock::now()))
    }

    async fn send(&self, edit: &ProductEdit) -> Result<EditOutcome> {
        let call = Call {
            account: edit.account,
            request_id: entropy::random()?,
            at: clock::now(),
            seed: entropy::random()?,
            base: String::new(),
            locale: None,
            secret: None,
            operation: Operation::Sources(edit.page, SourceCall::sync(edit)),
            dry_run: false,
            if_match: None,
            once: None,
            claim: None,
            proof: None,
        };
        let message = json::to_string(&AccountMessage::Call(call))?;
        let (accounts, name) = (bindings::accounts(&self.env)?, edit.account.to_string());
        let reply = durable_rpc::call(&accounts, &name, &message);
        let reply = durable_rpc::timeout(ACCOUNT_TIMEOUT_MS, reply).await?;
        Ok(SourceCall::outcome(json::from_str(&reply).map_err(|error| error.to_string())?))
    }
}
