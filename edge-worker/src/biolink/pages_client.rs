//! The client of accounts and slugs, which are Durable Objects.

use biolink::analytics::Labels;
use biolink::domains::{DomainSnapshot, HostName};
use biolink::page::{ImageId, PageId, Slug};
use biolink::pages_api::{
    AccountMessage, Call, Decision, Owner, SlugMessage, SlugReply, Snapshot, SuspendedPages,
    account_unavailable,
};
use shared::json;
use shared::key::KeyId;
use shared::problem::Problem;
use worker::ObjectNamespace;

use crate::context::RequestContext;
use crate::runtime::durable_rpc::{self, RpcError};
use crate::runtime::log;

/// Timeout of a call of an account, in milliseconds: it may wait for several slugs.
const ACCOUNT_TIMEOUT_MS: u64 = 10_000;
/// Timeout of a message to a slug, in milliseconds.
const SLUG_TIMEOUT_MS: u64 = 2_000;
/// Timeout of the question which pages are suspended, in milliseconds. A visitor waits for it.
const SUSPENDED_TIMEOUT_MS: u64 = 300;

/// Sends a call to its account. Returns the account's decision.
///
/// # Errors
/// `pages-unavailable`. The account may have handled the call even so.
pub(crate) async fn call(
    context: &RequestContext<'_>,
    account: KeyId,
    call: Call,
) -> Result<Decision, Problem> {
    let message = AccountMessage::Call(call);
    let decision = account_call(&context.biolink()?.accounts, account, &message).await;
    let decision = decision.and_then(|decision| Ok(json::from_str(&decision)?));
    decision.map_err(|error| unavailable(log::Event("account call failed"), &error, context))
}

/// Returns what an account has published at a slug that KV shows nothing for; `None` if no account
/// has the slug.
///
/// # Errors
/// `pages-unavailable`.
pub(crate) async fn find(context: &RequestContext<'_>, slug: &Slug) -> Result<Option<Snapshot>, Problem> {
    let biolink = context.biolink()?;
    let found = async {
        // The slug's object first: it alone knows which account to ask.
        let Some(owner) = locate(&biolink.slugs, slug).await? else { return Ok(None) };
        let message = AccountMessage::Serve { account: owner.account, slug: slug.clone() };
        let snapshot = account_call(&biolink.accounts, owner.account, &message).await?;
        Ok(json::from_str(&snapshot)?)
    };
    found.await.map_err(|error| unavailable(log::Event("page lookup failed"), &error, context))
}

/// Returns the page that has a slug, or had it last while it is reserved.
///
/// # Errors
/// `pages-unavailable`.
pub(crate) async fn owner(context: &RequestContext<'_>, slug: &Slug) -> Result<Option<Owner>, Problem> {
    let found = locate(&context.biolink()?.slugs, slug).await;
    found.map_err(|error| unavailable(log::Event("slug lookup failed"), &error, context))
}

/// Returns what visitors of a host see, from its account; `None` if no account shows it. For when KV fails.
///
/// # Errors
/// `pages-unavailable`.
pub(crate) async fn find_domain(
    context: &RequestContext<'_>,
    host: &HostName,
) -> Result<Option<DomainSnapshot>, Problem> {
    let biolink = context.biolink()?;
    let found = async {
        let located = object_call(&biolink.slugs, &host.object_name(), SlugMessage::Locate).await?;
        // Anything else says that no account shows the host.
        let SlugReply::Owner(Some(Owner { account, .. })) = located else { return Ok(None) };
        let message = AccountMessage::ServeDomain { account, host: host.clone() };
        Ok(json::from_str(&account_call(&biolink.accounts, account, &message).await?)?)
    };
    found.await.map_err(|error| unavailable(log::Event("domain lookup failed"), &error, context))
}

async fn locate(slugs: &ObjectNamespace, slug: &Slug) -> Result<Option<Owner>, RpcError> {
    match slug_call(slugs, slug, SlugMessage::Locate).await? {
        SlugReply::Owner(owner) => Ok(owner),
        SlugReply::Granted | SlugReply::Taken | SlugReply::Noted => Err(RpcError::UnexpectedReply),
    }
}

/// Returns which pages of an account are suspended, for a visitor who waits.
///
/// # Errors
/// If the account fails or does not respond in time.
pub(crate) async fn suspended(
    accounts: &ObjectNamespace,
    account: KeyId,
) -> Result<SuspendedPages, RpcError> {
    let (name, message) = (account.to_string(), json::to_string(&AccountMessage::Suspended)?);
    let reply = durable_rpc::call(accounts, &name, &message);
    Ok(SuspendedPages::from_text(durable_rpc::timeout(SUSPENDED_TIMEOUT_MS, reply).await?))
}

/// Returns what an account's pages, their links and their products are called.
///
/// # Errors
/// `pages-unavailable`.
pub(crate) async fn names(context: &RequestContext<'_>, account: KeyId) -> Result<Labels, Problem> {
    let names = account_call(&context.biolink()?.accounts, account, &AccountMessage::Names).await;
    let names = names.and_then(|names| Ok(json::from_str(&names)?));
    names.map_err(|error| unavailable(log::Event("account call failed"), &error, context))
}

/// Tells an account that the file of an image is stored. Returns false if the image was deleted meanwhile.
///
/// # Errors
/// `pages-unavailable`.
pub(crate) async fn image_stored(
    context: &RequestContext<'_>,
    account: KeyId,
    image: &ImageId,
) -> Result<bool, Problem> {
    let message = AccountMessage::ImageStored(*image);
    let reply = account_call(&context.biolink()?.accounts, account, &message).await;
    reply
        .map(|reply| reply == "true")
        .map_err(|error| unavailable(log::Event("account call failed"), &error, context))
}

/// Returns the lines of the export after a page, and the page that they are of; `None` at its end.
///
/// # Errors
/// If the account fails or does not respond in time.
pub(crate) async fn export(
    accounts: &ObjectNamespace,
    account: KeyId,
    after: Option<PageId>,
    base: &str,
) -> Result<Option<(PageId, String)>, RpcError> {
    let message = AccountMessage::Export { after, base: base.to_owned() };
    Ok(json::from_str(&account_call(accounts, account, &message).await?)?)
}

/// Sends a message to a slug.
///
/// # Errors
/// If the object fails or does not respond in time. It may have taken the message even so.
pub(crate) async fn slug_call(
    slugs: &ObjectNamespace,
    slug: &Slug,
    message: SlugMessage,
) -> Result<SlugReply, RpcError> {
    object_call(slugs, slug.as_str(), message).await
}

/// Sends a message to the object that knows who has a slug, or a host, by its name.
///
/// # Errors
/// As [`slug_call`].
pub(crate) async fn object_call(
    slugs: &ObjectNamespace,
    name: &str,
    message: SlugMessage,
) -> Result<SlugReply, RpcError> {
    let message = json::to_string(&message)?;
    let reply = durable_rpc::call(slugs, name, &message);
    Ok(json::from_str(&durable_rpc::timeout(SLUG_TIMEOUT_MS, reply).await?)?)
}

async fn account_call(
    accounts: &ObjectNamespace,
    account: KeyId,
    message: &AccountMessage,
) -> Result<String, RpcError> {
    let (name, message) = (account.to_string(), json::to_string(message)?);
    durable_rpc::timeout(ACCOUNT_TIMEOUT_MS, durable_rpc::call(accounts, &name, &message)).await
}

fn unavailable(event: log::Event, error: &RpcError, context: &RequestContext<'_>) -> Problem {
    log::error(event, Some(context.request.id), &[("error", error)]);
    account_unavailable()
}
