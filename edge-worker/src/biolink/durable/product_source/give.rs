//! Gives products to the account, as an edit of the page.

use biolink::codes;
use biolink::{
    pages_api::{AccountMessage, Call, Decision, Operation, SourceCall},
    product_feed::FeedProduct,
    product_sync::{EditOutcome, Source},
};
use shared::{json, key::KeyId};
use worker::Result;

use super::{Parts, ProductSource};
use crate::{
    bindings,
    runtime::{clock, durable_rpc, entropy, log},
};

/// Timeout of the edit, in milliseconds.
const ACCOUNT_TIMEOUT_MS: u64 = 10_000;

impl ProductSource {
    /// Gives the account the products that it is to get now. One that has no such source any more
    /// ends this object.
    pub(super) async fn give(&self) -> Result<()> {
        let due = self.change(|Parts { state, catalogue }| {
            let products = state.edit(catalogue, clock::now())?;
            let (account, source) = state.source()?;
            Some((account, source.clone(), products))
        })?;
        let Some((account, source, products)) = due else { return Ok(()) };
        let outcome = match self.edit(account, &source, &products).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return self.erase().await,
            Err(error) => {
                log::error("product edit failed", None, &[("error", &error)]);
                EditOutcome::Failed("the account did not respond".to_owned())
            }
        };
        self.change(|parts| parts.state.settle(&products, outcome, clock::now()))
    }

    /// Sends the edit. Returns `None` if the source is gone.
    async fn edit(
        &self,
        account: KeyId,
        source: &Source,
        products: &[FeedProduct],
    ) -> Result<Option<EditOutcome>> {
        let call = Call {
            account,
            request_id: entropy::random()?,
            at: clock::now(),
            seed: entropy::random()?,
            base: String::new(),
            operation: Operation::Sources(source.page, SourceCall::Sync(source.id, products.to_vec())),
            dry_run: false,
            if_match: None,
            once: None,
            claim: None,
        };
        let message = serde_json::to_string(&AccountMessage::Call(call))?;
        let (accounts, name) = (bindings::accounts(&self.env)?, account.to_string());
        let reply = durable_rpc::call(&accounts, &name, &message);
        let reply = durable_rpc::timeout(ACCOUNT_TIMEOUT_MS, reply).await?;
        let reply = match json::from_str(&reply).map_err(|error| error.to_string())? {
            Decision::Reply(reply) => reply,
            Decision::Admit(_) => return Err(durable_rpc::RpcError::UnexpectedReply.to_string().into()),
        };
        let code = reply.problem().map(str::to_owned);
        let response = reply.into_response();
        let is_gone = |code: &String| {
            [codes::PAGE_UNKNOWN, codes::SOURCE_UNKNOWN].iter().any(|gone| gone.as_str() == code)
        };
        Ok(match code {
            Some(code) if is_gone(&code) => None,
            Some(code) => Some(EditOutcome::Failed(format!("the account refused the products: {code}"))),
            None => {
                let applied = json::from_str(&response.body).map_err(|error| error.to_string())?;
                Some(EditOutcome::Applied(applied))
            }
        })
    }
}
