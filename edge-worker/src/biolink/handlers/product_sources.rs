//! Product sources in the REST API: what the account does not know of them.

use std::collections::HashMap;

use biolink::fetch_url::url_member;
use biolink::page::SourceId;
use biolink::pages_api::{account_unavailable, refresh_too_early};
use biolink::product_sync::{RefreshReply, SourceMessage, SourceWrite, complete};
use biolink::route::{PagesCall, PagesEndpoint, PagesTarget};
use biolink::webhooks::{SealedSecret, WebhookSecret};
use futures_util::future::join_all;
use serde_json::Value;
use shared::json;
use shared::key::KeyId;
use shared::problem::Problem;
use shared::response::Response;

use crate::bindings::BiolinkBindings;
use crate::biolink::{domains, product_sources};
use crate::context::RequestContext;
use crate::runtime::durable_rpc::RpcError;
use crate::runtime::{entropy, log};

/// Prepares the body of a call that writes a source: checks its URL, and encrypts its secret.
///
/// # Errors
/// `internal` if the runtime has no randomness.
pub(super) async fn prepare(
    context: &RequestContext<'_>,
    account: KeyId,
    body: Vec<u8>,
) -> Result<Vec<u8>, Problem> {
    let failed = |error| entropy::unavailable(&error, Some(context.request.id));
    // A body that is not UTF-8 is for the account to refuse.
    let Ok(text) = std::str::from_utf8(&body) else { return Ok(body) };
    let drawn = WebhookSecret::generate(entropy::random().map_err(failed)?);
    let nonces: [[u8; 24]; 2] = [entropy::random().map_err(failed)?, entropy::random().map_err(failed)?];
    let owner = account.to_string();
    let keys = &context.biolink()?.webhook_encryption;
    // The secret that is generated and the one that the client brings each have their own nonce.
    let used = std::cell::Cell::new(0);
    let seal = |secret: &[u8]| {
        let nonce = nonces.get(used.replace(1)).unwrap_or(&nonces[0]);
        keys.seal_bytes(secret, &owner, nonce)
    };
    let policy = domains::fetch_policy_of(context, &url_member(text).unwrap_or_default()).await;
    let write = SourceWrite::prepare(text, &policy, &drawn, seal);
    serde_json::to_vec(&write).map_err(|_| account_unavailable())
}

/// Completes the response of an account to a call about sources.
///
/// # Errors
/// `refresh-too-early`, or `pages-unavailable` if a source does not respond.
pub(super) async fn finish(
    context: &RequestContext<'_>,
    called: &PagesCall,
    account: KeyId,
    dry_run: bool,
    response: Response,
) -> Result<Response, Problem> {
    let sources = Sources { context, biolink: context.biolink()?, account };
    match (called.endpoint, called.target) {
        (PagesEndpoint::SourceRuns, PagesTarget::Source(_, id)) => {
            let body = sources.call(&id, &SourceMessage::Runs).await?;
            Ok(Response { body, ..response })
        }
        (PagesEndpoint::RefreshSource, PagesTarget::Source(_, id)) => {
            if !dry_run {
                let reply = sources.call(&id, &SourceMessage::Refresh).await?;
                match json::from_str(&reply) {
                    Ok(RefreshReply::Accepted) => {}
                    Ok(RefreshReply::TooEarly(seconds)) => return Err(refresh_too_early(seconds)),
                    Err(error) => return Err(sources.unavailable(&error.into())),
                }
            }
            let response = sources.complete(response, &[id]).await?;
            Ok(Response { status: 202, ..response })
        }
        (PagesEndpoint::ListSources, _) => {
            let ids = ids(&response.body);
            sources.complete(response, &ids).await
        }
        (PagesEndpoint::ReadSource | PagesEndpoint::PatchSource, PagesTarget::Source(_, id)) => {
            sources.complete(response, &[id]).await
        }
        (PagesEndpoint::CreateSource, _) => sources.complete(response, &[]).await,
        _ => Ok(response),
    }
}

/// The sources of an account.
struct Sources<'a> {
    context: &'a RequestContext<'a>,
    biolink: &'a BiolinkBindings,
    account: KeyId,
}

impl Sources<'_> {
    /// Completes a response, with how these sources are.
    async fn complete(&self, response: Response, ids: &[SourceId]) -> Result<Response, Problem> {
        let asked = ids.iter().map(|id| async move {
            let status = self.call(id, &SourceMessage::Status).await?;
            Ok((id.to_string(), serde_json::from_str::<Value>(&status).ok()))
        });
        let found: Result<HashMap<_, _>, Problem> = join_all(asked).await.into_iter().collect();
        let found = found?;
        let mut body: Value = serde_json::from_str(&response.body).unwrap_or_default();
        complete(
            &mut body,
            self.context.public_url(),
            |sealed| self.reveal(sealed),
            |id| found.get(id).cloned().flatten().filter(|status| !status.is_null()),
        );
        Ok(Response { body: body.to_string(), ..response })
    }

    fn reveal(&self, sealed: &SealedSecret) -> Option<String> {
        let secret = self.biolink.webhook_encryption.unseal_bytes(sealed, &self.account.to_string());
        let secret = secret.map_err(|error| {
            log::error(
                log::Event("secret not decrypted"),
                Some(self.context.request.id),
                &[("error", &error)],
            );
        });
        String::from_utf8(secret.ok()?).ok()
    }

    async fn call(&self, id: &SourceId, message: &SourceMessage) -> Result<String, Problem> {
        let reply = product_sources::call(&self.biolink.product_sources, id, message).await;
        reply.map_err(|error| self.unavailable(&error))
    }

    fn unavailable(&self, error: &RpcError) -> Problem {
        log::error(
            log::Event("product source call failed"),
            Some(self.context.request.id),
            &[("error", error)],
        );
        account_unavailable()
    }
}

/// Returns the ids of a list of sources.
fn ids(body: &str) -> Vec<SourceId> {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let data = body.get("data").and_then(Value::as_array).into_iter().flatten();
    data.filter_map(|source| SourceId::parse(source.get("id")?.as_str()?)).collect()
}
