//! The bindings of bio-link pages, and the variables that they share with the reference.

use biolink::domains::DomainHosts;
use biolink::route::PagesHost;
use biolink::webhooks::EncryptionKeys;
use shared::url::Address;
use worker::{Env, ObjectNamespace, Queue};

use super::alone::{accounts, hosts_of, own_hosts, pages, product_sources, slugs, stats, webhooks};
use super::reader::{
    ACCOUNT, DNS_URL, DOMAINS_TARGET, ENCRYPTION, EVENTS, PAGES, PAGES_HOST, PRODUCT_SOURCE, PUBLIC_URL,
    PUBLIC_URL_FORM, REPORTS, Reader, SALT, SLUG, STATS, WEBHOOKS, read_public_url,
};
use crate::runtime::kv::KvStore;

/// The bindings of bio-link pages.
pub(crate) struct BiolinkBindings {
    /// KV namespace `PAGES`: published snapshots of pages.
    pub(crate) pages: KvStore,
    /// Durable Objects `ACCOUNT`, one per bio-link account, named by its id.
    pub(crate) accounts: ObjectNamespace,
    /// Durable Objects `SLUG`, one per slug, named by it.
    pub(crate) slugs: ObjectNamespace,
    /// Durable Object `REPORTS`, one for all pages: reports of abuse.
    pub(crate) reports: ObjectNamespace,
    /// Durable Objects `STATS`, one per page, named by its id: events.
    pub(crate) stats: ObjectNamespace,
    /// Durable Object `SALT`, one for all pages: the salt of visitors' numbers.
    pub(crate) salt: ObjectNamespace,
    /// Durable Objects `PRODUCT_SOURCE`, one per product source, named by its id.
    pub(crate) product_sources: ObjectNamespace,
    /// Durable Objects `WEBHOOKS`, one per bio-link account, named by its id: endpoints, events and
    /// deliveries.
    pub(crate) webhooks: ObjectNamespace,
    /// Secret `WEBHOOK_ENCRYPTION_SECRET`: encrypts the secrets of customers.
    pub(crate) webhook_encryption: EncryptionKeys,
    /// Queue `EVENTS`: batches of events.
    pub(crate) events: Queue,
}

/// The bindings of pages, and the base URL that they share with the reference.
pub(super) struct PagesBindings {
    pub(super) public_url: Option<String>,
    pub(super) pages_host: Option<PagesHost>,
    pub(super) domain_hosts: Option<DomainHosts>,
    pub(super) biolink: Option<BiolinkBindings>,
}

impl PagesBindings {
    pub(super) fn read(env: &Env) -> Self {
        let mut reader = Reader::of_pages(env);
        let public_url = reader.optional(PUBLIC_URL, PUBLIC_URL_FORM, read_public_url);
        let host = "a host name such as pages.example, and not that of PUBLIC_URL";
        let pages_host =
            reader.optional(PAGES_HOST, host, |text| PagesHost::parse(text, public_url.as_deref()));
        let domain_hosts = read_domain_hosts(&mut reader, env);
        let biolink = BiolinkBindings::read(&mut reader);
        let is_complete = reader.finish();
        // A bad variable turns pages off too: with a wrong host they would be shown where nobody
        // expects them.
        Self { public_url, pages_host, domain_hosts, biolink: biolink.filter(|_| is_complete) }
    }
}

impl BiolinkBindings {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let pages = reader.binding(PAGES, pages);
        let accounts = reader.binding(ACCOUNT, accounts);
        let slugs = reader.binding(SLUG, slugs);
        let reports = reader.binding(REPORTS, |env| env.durable_object(REPORTS));
        let stats = reader.binding(STATS, stats);
        let salt = reader.binding(SALT, |env| env.durable_object(SALT));
        let product_sources = reader.binding(PRODUCT_SOURCE, product_sources);
        let webhooks = reader.binding(WEBHOOKS, webhooks);
        let webhook_encryption = reader.secret(ENCRYPTION, EncryptionKeys::parse);
        let events = reader.binding(EVENTS, |env| env.queue(EVENTS));
        Some(Self {
            pages: pages?,
            accounts: accounts?,
            slugs: slugs?,
            reports: reports?,
            stats: stats?,
            salt: salt?,
            product_sources: product_sources?,
            webhooks: webhooks?,
            webhook_encryption: webhook_encryption?,
            events: events?,
        })
    }
}

/// Reads the variables of domains of accounts.
fn read_domain_hosts(reader: &mut Reader<'_>, env: &Env) -> Option<DomainHosts> {
    let https = "a URL of DNS over HTTPS with JSON, such as https://cloudflare-dns.com/dns-query";
    reader.optional(DNS_URL, https, |text| Address::parse(text).map(drop));
    let target = "a host name such as customers.example.net, together with PUBLIC_URL or PAGES_HOST";
    let own = own_hosts(env);
    reader.optional(DOMAINS_TARGET, target, |text| match own {
        // The service would take requests for itself for those of a customer.
        [None, None, _] => None,
        _ => DomainHosts::new(text, hosts_of(&own)),
    })
}
