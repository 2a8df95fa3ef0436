//! The proof of domains: `TXT` records by DNS over HTTPS, and the objects that know who has a host.

use biolink::domains::{Check, DNS_TIMEOUT_MS, HostName, MAX_DNS_RESPONSE, Proof, txt_query, txt_values};
use biolink::fetch_url::{FetchPolicy, FetchUrl};
use biolink::page::Slug;
use biolink::pages_api::{SlugMessage, SlugReply, host_owner};
use shared::key::KeyId;
use shared::problem::Problem;
use worker::{Env, Result};

use crate::bindings;
use crate::biolink::guarded_fetch::{BodyLimit, GuardedRequest, send};
use crate::biolink::pages_client::object_call;
use crate::biolink::{page_store, pages_client};
use crate::context::RequestContext;
use crate::runtime::kv::KvStore;
use crate::runtime::log;

/// Makes a check: looks the record up, and claims the host if it is proved and not the account's yet. What
/// fails is [`Proof::Unknown`].
pub(crate) async fn check(env: &Env, account: KeyId, check: &Check) -> Proof {
    let outcome = prove(env, account, check).await;
    outcome.unwrap_or_else(|error| {
        log::error(log::Event("domain check failed"), None, &[("host", &check.host), ("error", &error)]);
        Proof::Unknown
    })
}

/// Returns which URLs of customers may be called, for the Durable Objects that call `url`.
pub(crate) async fn fetch_policy(env: &Env, url: &str) -> FetchPolicy {
    guard(bindings::fetch_policy(env), bindings::domain_store(env).as_ref(), url).await
}

/// Returns which URLs of customers may be called, for a request that stores `url`: none that leads to the host of
/// this request either.
pub(crate) async fn fetch_policy_of(context: &RequestContext<'_>, url: &str) -> FetchPolicy {
    // PUBLIC_URL may be unset, and then only the request says where the gateway is.
    let policy = context.bindings.fetch_policy.clone().with_host(context.address.base);
    let has_domains = context.bindings.domain_hosts().is_ok();
    let pages = context.biolink().ok().filter(|_| has_domains).map(|biolink| &biolink.pages);
    guard(policy, pages, url).await
}

/// Adds the host of a URL to those of the gateway if an account has it, whichever that is. `pages` is `None`
/// if accounts have no domains. If KV fails, nothing is added: deliveries must not stop with it, and no
/// visit with the gateway's own agent counts.
async fn guard(policy: FetchPolicy, pages: Option<&KvStore>, url: &str) -> FetchPolicy {
    // A URL that is refused already needs no look into KV.
    let (Some(pages), Ok(url)) = (pages, FetchUrl::parse(url, &policy)) else { return policy };
    let Some(host) = url.host() else { return policy };
    match page_store::find_domain(pages, &host).await {
        Ok(None) => policy,
        Ok(Some(_)) => policy.with_host(url.as_str()),
        Err(error) => {
            log::error(log::Event("domain read failed"), None, &[("host", &host), ("error", &error)]);
            policy
        }
    }
}

/// Takes the claim of a host back.
///
/// # Errors
/// If the object fails or does not respond in time.
pub(crate) async fn give_back(env: &Env, account: KeyId, host: &HostName, claim: u64) -> Result<()> {
    let message = SlugMessage::Cancel { owner: host_owner(account), claim };
    object_call(&bindings::slugs(env)?, &host.object_name(), message).await?;
    Ok(())
}

async fn prove(env: &Env, account: KeyId, check: &Check) -> Result<Proof> {
    let records = records(env, &check.host.record()).await?;
    // A host that is the account's already is not claimed again: its record alone is checked.
    let (Proof::Proved, Some(message)) = (check.proof(&records), check.claim_message(account)) else {
        return Ok(check.proof(&records));
    };
    match object_call(&bindings::slugs(env)?, &check.host.object_name(), message).await? {
        SlugReply::Granted => Ok(Proof::Proved),
        SlugReply::Taken => Ok(Proof::Taken),
        SlugReply::Noted | SlugReply::Owner(_) => Ok(Proof::Unknown),
    }
}

async fn records(env: &Env, name: &str) -> Result<Vec<String>> {
    let policy = bindings::fetch_policy(env);
    let url = FetchUrl::parse(&txt_query(&bindings::dns_url(env), name), &policy);
    let url = url.map_err(|error| format!("DNS_URL {error}"))?;
    // A resolver that hangs must not hold the account's call.
    let request = GuardedRequest {
        method: "GET",
        url: &url,
        headers: &[("accept", "application/dns-json")],
        body: None,
        timeout_ms: DNS_TIMEOUT_MS,
        limit: BodyLimit::AtMost(MAX_DNS_RESPONSE),
    };
    let response = send(&request).await.map_err(|error| error.to_string())?;
    txt_values(response.status, &response.body).map_err(|error| error.to_string().into())
}

/// Returns the slug of the page that a host shows; `None` if no account shows it. If KV fails, the account
/// is asked.
///
/// # Errors
/// `not-configured`, or `pages-unavailable`.
pub(crate) async fn find(context: &RequestContext<'_>, host: &HostName) -> Result<Option<Slug>, Problem> {
    let found = match page_store::find_domain(&context.biolink()?.pages, host).await {
        Ok(found) => found,
        Err(error) => {
            // The page of a customer must not disappear with KV.
            log::error(log::Event("domain read failed"), Some(context.request.id), &[("error", &error)]);
            pages_client::find_domain(context, host).await?
        }
    };
    Ok(found.and_then(|found| found.slug))
}
