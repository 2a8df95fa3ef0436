//! Bindings alone, for Durable Objects, for the consumer of the queue, and for requests that are refused before all of them are
//! read.

#[cfg(feature = "pages")]
use biolink::fetch_url::FetchPolicy;
#[cfg(feature = "pages")]
use biolink::webhooks::EncryptionKeys;
use shared::request::MAX_BODY_BYTES;
use worker::{Env, ObjectNamespace};

#[cfg(feature = "pages")]
use super::reader::{
    ACCOUNT, DNS_URL, DOMAINS_TARGET, ENCRYPTION, IMAGES, ORIGIN_URLS, PAGES, PAGES_HOST, PRODUCT_SOURCE,
    PUBLIC_URL, SLUG, STATS,
};
use super::reader::{ALLOW_PRIVATE_FETCH, KEY_CHANGES, KEYS, MAX_BODY, WEBHOOKS, variable};
#[cfg(feature = "pages")]
use crate::runtime::bucket::Bucket;
use crate::runtime::kv::KvStore;

/// Returns the KV namespace alone, for the Durable Objects.
///
/// # Errors
/// If it is not bound.
pub(crate) fn key_store(env: &Env) -> worker::Result<KvStore> {
    KvStore::bound(env, KEYS)
}

/// Returns the key-change feed alone, for the Durable Objects.
///
/// # Errors
/// If it is not bound.
pub(crate) fn key_changes(env: &Env) -> worker::Result<ObjectNamespace> {
    env.durable_object(KEY_CHANGES)
}

/// Returns the KV namespace of pages alone, for the Durable Objects.
///
/// # Errors
/// If it is not bound.
#[cfg(feature = "pages")]
pub(crate) fn pages(env: &Env) -> worker::Result<KvStore> {
    KvStore::bound(env, PAGES)
}

/// Returns the slugs alone, for the Durable Objects.
///
/// # Errors
/// If they are not bound.
#[cfg(feature = "pages")]
pub(crate) fn slugs(env: &Env) -> worker::Result<ObjectNamespace> {
    env.durable_object(SLUG)
}

/// Returns the stores of events alone, for the consumer of the queue and the Durable Objects.
///
/// # Errors
/// If they are not bound.
#[cfg(feature = "pages")]
pub(crate) fn stats(env: &Env) -> worker::Result<ObjectNamespace> {
    env.durable_object(STATS)
}

/// Returns the accounts alone, for the Durable Objects.
///
/// # Errors
/// If they are not bound.
#[cfg(feature = "pages")]
pub(crate) fn accounts(env: &Env) -> worker::Result<ObjectNamespace> {
    env.durable_object(ACCOUNT)
}

/// Returns the keys that encrypt the secrets of webhooks, for the Durable Objects: the secret
/// `WEBHOOK_ENCRYPTION_SECRET`.
///
/// # Errors
/// If it is not set, or too short.
#[cfg(feature = "pages")]
pub(crate) fn webhook_encryption(env: &Env) -> worker::Result<EncryptionKeys> {
    let text = env.secret(ENCRYPTION)?.to_string();
    EncryptionKeys::parse(&text).map_err(|reason| format!("{ENCRYPTION} {reason}").into())
}

/// Returns the product sources alone, for the Durable Objects.
///
/// # Errors
/// If they are not bound.
#[cfg(feature = "pages")]
pub(crate) fn product_sources(env: &Env) -> worker::Result<ObjectNamespace> {
    env.durable_object(PRODUCT_SOURCE)
}

/// Returns the bucket of images alone, for the Durable Objects.
///
/// # Errors
/// If it is not bound.
#[cfg(feature = "pages")]
pub(crate) fn images(env: &Env) -> worker::Result<Bucket> {
    Bucket::bound(env, IMAGES)
}

/// Returns the webhooks alone, for the Durable Objects.
///
/// # Errors
/// If they are not bound.
pub(crate) fn webhooks(env: &Env) -> worker::Result<ObjectNamespace> {
    env.durable_object(WEBHOOKS)
}

/// Returns the body limit alone, for requests that are refused before the other bindings are read.
pub(crate) fn max_body(env: &Env) -> u64 {
    let text = env.var(MAX_BODY).ok().map(|value| value.to_string());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(MAX_BODY_BYTES)
}

/// Returns which URLs of customers may be called, for the Durable Objects: none of the gateway's own hosts.
#[cfg(feature = "pages")]
pub(crate) fn fetch_policy(env: &Env) -> FetchPolicy {
    let (own, target) = (own_hosts(env), [variable(env, DOMAINS_TARGET)]);
    FetchPolicy::new(hosts_of(&own).chain(hosts_of(&target)), is_private_fetch_allowed(env))
}

/// Returns the store that says which hosts accounts have; `None` if accounts have no domains.
#[cfg(feature = "pages")]
pub(crate) fn domain_store(env: &Env) -> Option<KvStore> {
    // Without domains, a read of KV for each URL of a customer would find nothing.
    variable(env, DOMAINS_TARGET).and_then(|_| pages(env).ok())
}

/// Returns the resolver that looks up the proof of domains.
#[cfg(feature = "pages")]
pub(crate) fn dns_url(env: &Env) -> String {
    variable(env, DNS_URL).unwrap_or_else(|| biolink::domains::DNS_URL.to_owned())
}

/// Returns the variables that have hosts of the service itself.
#[cfg(feature = "pages")]
pub(super) fn own_hosts(env: &Env) -> [Option<String>; 3] {
    [PUBLIC_URL, PAGES_HOST, ORIGIN_URLS].map(|name| variable(env, name))
}

/// Returns the hosts in these variables, each as a host or a URL.
#[cfg(feature = "pages")]
pub(super) fn hosts_of(variables: &[Option<String>]) -> impl Iterator<Item = &str> {
    let hosts = variables.iter().flatten().flat_map(|hosts| hosts.split(','));
    // An origin may have a name: `a=https://…`.
    hosts.map(|host| host.split_once('=').map_or(host, |(_, url)| url).trim())
}

pub(super) fn is_private_fetch_allowed(env: &Env) -> bool {
    variable(env, ALLOW_PRIVATE_FETCH).is_some_and(|value| value.trim() == "1")
}
