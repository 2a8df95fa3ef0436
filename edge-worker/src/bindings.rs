//! The bindings of the worker. Their names appear only here and in the reader.

use std::cell::RefCell;
use std::rc::Rc;

#[cfg(feature = "pages")]
use biolink::domains::{DomainHosts, HostName};
#[cfg(feature = "pages")]
use biolink::fetch_url::FetchPolicy;
#[cfg(feature = "pages")]
use biolink::route::{KnownHosts, PagesHost};
#[cfg(feature = "pages")]
use portal::site::SecurityContact;
use shared::key::KeyEnv;
use shared::origin::Origins;
use shared::prices::Prices;
use shared::problem::{Problem, codes};
use shared::request::MAX_BODY_BYTES;
use shared::sampling::Sampling;
use shared::secret::{AdminSecret, MacKeys};
use shared::url::Address;
#[cfg(not(feature = "pages"))]
use shared::url::{is_at_or_below, is_below_platform};
use worker::{Env, ObjectNamespace};

use crate::runtime::bucket::Bucket;
use crate::runtime::calls::FetchBinding;
use crate::runtime::kv::KvStore;

mod alone;
#[cfg(feature = "pages")]
mod biolink_bindings;
mod reader;

use alone::is_private_fetch_allowed;
#[cfg(feature = "pages")]
pub(crate) use alone::{
    accounts, dns_url, domain_store, fetch_policy, images, pages, product_sources, slugs, stats,
    webhook_encryption,
};
pub(crate) use alone::{key_changes, key_store, max_body, webhooks};
#[cfg(feature = "pages")]
pub(crate) use biolink_bindings::BiolinkBindings;
#[cfg(feature = "pages")]
use biolink_bindings::PagesBindings;
#[cfg(feature = "pages")]
use reader::IMAGES;
#[cfg(not(feature = "pages"))]
use reader::{DOMAINS_TARGET, PAGES_HOST, PUBLIC_URL, PUBLIC_URL_FORM, read_public_url, variable};
use reader::{
    KEY_CHANGES, KEYS, MAX_BODY, METER, ORIGIN_URLS, PRICES, Reader, SAMPLE, STATUS_HISTORY, read_switch,
};

/// The bindings of the worker, parsed and checked. Calls of tools need those that are not optional,
/// and nothing else.
pub(crate) struct Bindings {
    /// KV namespace `KEYS`: key records.
    pub(crate) keys: KvStore,
    /// Durable Objects `METER`, one per key, named by its id.
    pub(crate) meter: ObjectNamespace,
    /// Secret `KEY_SIGNING_SECRET`: signs keys.
    pub(crate) signing: MacKeys,
    /// Secret `GRANT_SECRET`: signs grants and the tokens of origins.
    pub(crate) grants: MacKeys,
    /// Variable `ORIGIN_URLS`: the proxies, best first.
    pub(crate) origins: Origins,
    /// Certificate binding `ORIGIN_CERT`. If it is bound, requests to origins use it, because it
    /// presents the edge's client certificate and the global fetch cannot.
    pub(crate) origin_cert: Option<FetchBinding>,
    /// Variable `PRICES`: the prices of calls in units, in JSON. By default calls cost nothing.
    pub(crate) prices: Prices,
    /// Secret `ADMIN_SECRET`.
    admin: Option<AdminSecret>,
    /// Variable `KEY_ENV`, `live` or `test`: the kind of keys to issue. Default `live`.
    key_env: Option<KeyEnv>,
    /// Durable Object `KEY_CHANGES`, one for all keys: the key-change feed.
    key_changes: Option<ObjectNamespace>,
    /// Durable Object `STATUS_HISTORY`, one for the deployment: the status history and the incidents.
    status_history: Option<ObjectNamespace>,
    #[cfg(feature = "pages")]
    biolink: Option<BiolinkBindings>,
    /// R2 bucket `IMAGES`: uploaded images.
    #[cfg(feature = "pages")]
    images: Option<Bucket>,
    /// Assets `ASSETS`: texts of the service that were rendered when the worker was built. Calls need
    /// none of them, so their absence is no fault of the configuration.
    pub(crate) assets: Option<FetchBinding>,
    /// Worker `PAGES_WORKER`: serves what is not the gateway's own.
    #[cfg(not(feature = "pages"))]
    pages_worker: Option<FetchBinding>,
    /// Variable `PAGES_HOST`: the host for pages alone, which the worker with pages checks.
    #[cfg(not(feature = "pages"))]
    pages_host: Option<String>,
    /// Whether accounts have domains: the variable `DOMAINS_TARGET`.
    #[cfg(not(feature = "pages"))]
    has_domains: bool,
    /// Variable `PUBLIC_URL`: the base URL in the OpenAPI document and the reference. By default
    /// the request's own.
    pub(crate) public_url: Option<String>,
    /// Variable `PAGES_HOST`: the host for pages alone. By default every host serves both.
    #[cfg(feature = "pages")]
    pub(crate) pages_host: Option<PagesHost>,
    /// Variable `DOMAINS_TARGET`: the host name to which domains of accounts point, with the hosts of the
    /// service itself. By default accounts have no domains, and every host is the service's.
    #[cfg(feature = "pages")]
    domain_hosts: Option<DomainHosts>,
    /// Variable `SECURITY_CONTACT`: who takes reports of vulnerabilities.
    #[cfg(feature = "pages")]
    pub(crate) security_contact: Option<SecurityContact>,
    /// Variable `ALLOW_HTTP`: `1` accepts keys over plain HTTP, for development under another host
    /// name.
    pub(crate) http_allowed: bool,
    /// Variable `ALLOW_PRIVATE_FETCH`, with the gateway's own hosts: which URLs of customers may be called.
    /// `1` allows loopback for them and for origins, for development.
    #[cfg(feature = "pages")]
    pub(crate) fetch_policy: FetchPolicy,
    /// Variable `MAX_BODY_BYTES`: the largest body limit of any pool. Default 10 MiB.
    pub(crate) max_body: u64,
    /// Variable `ACCESS_LOG_SAMPLE`: the sampling of the access log. Default: every line.
    pub(crate) sampling: Sampling,
}

thread_local! {
    /// `None` until the first request, and `Some(None)` if calls cannot be served.
    static OF_ISOLATE: RefCell<Option<Option<Rc<Bindings>>>> = const { RefCell::new(None) };
}

/// Returns the sampling of the access log: the variable `ACCESS_LOG_SAMPLE`. An invalid value keeps
/// every line.
pub(crate) fn sampling(env: &Env) -> Sampling {
    if let Some(bindings) = Bindings::known() {
        return bindings.sampling;
    }
    let text = env.var(SAMPLE).ok().map(|value| value.to_string());
    text.and_then(|text| Sampling::parse(&text)).unwrap_or(Sampling::ALL)
}

impl Bindings {
    /// Returns all of them, read and checked once for each isolate: they change with a deployment
    /// only, which starts new isolates. What is missing or bad is logged then, one line for each.
    ///
    /// # Errors
    /// `internal` if calls of tools cannot be served.
    pub(crate) fn of_isolate(env: &Env) -> Result<Rc<Self>, Problem> {
        let bindings = OF_ISOLATE.with_borrow(Clone::clone).unwrap_or_else(|| {
            let bindings = Self::from_env(env).map(Rc::new);
            // A failure is remembered too. Otherwise each request would log every fault of the
            // configuration again.
            OF_ISOLATE.set(Some(bindings.clone()));
            bindings
        });
        bindings.ok_or_else(|| Problem::new(codes::INTERNAL, "the gateway is not configured correctly"))
    }

    /// Returns the bindings that were read in this isolate.
    pub(crate) fn known() -> Option<Rc<Self>> {
        OF_ISOLATE.with_borrow(Clone::clone).flatten()
    }

    /// Returns the admin secret.
    ///
    /// # Errors
    /// `not-configured`.
    pub(crate) fn admin(&self) -> Result<&AdminSecret, Problem> {
        self.admin.as_ref().ok_or_else(|| {
            not_configured("the administration of keys and pages is not set up on this gateway")
        })
    }

    /// Returns the kind of keys to issue.
    ///
    /// # Errors
    /// `not-configured`. A key of the wrong kind would be worse than none.
    pub(crate) fn key_env(&self) -> Result<KeyEnv, Problem> {
        self.key_env.ok_or_else(|| not_configured("the issuing of keys is not set up on this gateway"))
    }

    /// Returns the key-change feed.
    ///
    /// # Errors
    /// `not-configured`.
    pub(crate) fn key_changes(&self) -> Result<&ObjectNamespace, Problem> {
        self.key_changes
            .as_ref()
            .ok_or_else(|| not_configured("the key-change feed is not set up on this gateway"))
    }

    /// Returns the status history.
    ///
    /// # Errors
    /// `not-configured`.
    pub(crate) fn status_history(&self) -> Result<&ObjectNamespace, Problem> {
        self.status_history
            .as_ref()
            .ok_or_else(|| not_configured("the status history is not set up on this gateway"))
    }

    /// Returns the bindings of bio-link pages.
    ///
    /// # Errors
    /// `not-configured` if any of them is missing or bad.
    #[cfg(feature = "pages")]
    pub(crate) fn biolink(&self) -> Result<&BiolinkBindings, Problem> {
        self.biolink.as_ref().ok_or_else(|| not_configured("bio-link pages are not set up on this gateway"))
    }

    /// Returns the hosts of the service, for domains of accounts.
    ///
    /// # Errors
    /// `not-configured`.
    #[cfg(feature = "pages")]
    pub(crate) fn domain_hosts(&self) -> Result<&DomainHosts, Problem> {
        let missing = || not_configured("domains of accounts are not set up on this gateway");
        self.domain_hosts.as_ref().ok_or_else(missing)
    }

    /// Returns the host of a request if it is a domain of an account.
    ///
    /// # Errors
    /// `route-unknown` if it is no host of the service either.
    #[cfg(feature = "pages")]
    pub(crate) fn customer_host(&self, address: &Address<'_>) -> Result<Option<HostName>, Problem> {
        let known = KnownHosts {
            pages: self.pages_host.as_ref(),
            domains: self.domain_hosts.as_ref(),
            public_url: self.public_url.as_deref(),
            is_any_allowed: self.http_allowed,
        };
        known.customer(address)
    }

    /// Returns the bucket of images.
    ///
    /// # Errors
    /// `not-configured`.
    #[cfg(feature = "pages")]
    pub(crate) fn images(&self) -> Result<&Bucket, Problem> {
        self.images.as_ref().ok_or_else(|| not_configured("images are not set up on this gateway"))
    }

    /// Returns true for a host that the other worker serves or refuses: that of `PAGES_HOST`, names below it, those of accounts
    /// if they have domains, and whatever is no host name.
    #[cfg(not(feature = "pages"))]
    pub(crate) fn is_host_of_pages(&self, address: &Address<'_>) -> bool {
        let pages = self.pages_host.as_deref().map(str::trim);
        if pages.is_some_and(|pages| pages.eq_ignore_ascii_case(authority(address.base))) {
            return true;
        }
        let (host, public) = (address.host(), self.public_url.as_deref().and_then(Address::parse));
        if address.is_loopback() || public.is_some_and(|public| public.host().eq_ignore_ascii_case(host)) {
            return false;
        }
        if pages.is_some_and(|pages| is_at_or_below(host, pages.split(':').next().unwrap_or(pages))) {
            return true;
        }
        // No account can have a host of the platform as its domain.
        !is_below_platform(host) && (self.has_domains || !(self.http_allowed || is_host_name(host)))
    }

    /// Returns the worker with pages.
    ///
    /// # Errors
    /// `not-configured`.
    #[cfg(not(feature = "pages"))]
    pub(crate) fn pages_worker(&self) -> Result<&FetchBinding, Problem> {
        self.pages_worker.as_ref().ok_or_else(|| not_configured("this part is not set up on this gateway"))
    }

    /// Returns `None` if a binding is missing or bad that calls of tools need.
    fn from_env(env: &Env) -> Option<Self> {
        let private_allowed = is_private_fetch_allowed(env);
        let mut calls = Reader::new(env, "all requests are refused");
        let keys = calls.binding(KEYS, key_store);
        let meter = calls.binding(METER, |env| env.durable_object(METER));
        let signing = calls.secret("KEY_SIGNING_SECRET", MacKeys::parse);
        let grants = calls.secret("GRANT_SECRET", MacKeys::parse);
        let origins = calls.origins(ORIGIN_URLS, private_allowed);
        let origin_cert = calls.fetcher("ORIGIN_CERT");
        // Among what calls need: a price that is left out by a mistake would let keys exceed their
        // budgets.
        let prices = calls.prices(PRICES);
        let is_complete = calls.finish();

        // From here on a mistake costs a feature, never the calls of tools.
        let mut defaults = Reader::new(env, "its default is used");
        let max_body = defaults.optional(MAX_BODY, "a number of bytes", |text| text.parse().ok());
        let sampling =
            defaults.optional(SAMPLE, "a number from 0 to 1 with at most six decimals", Sampling::parse);
        let http_allowed = defaults.optional("ALLOW_HTTP", "1 or 0", read_switch);
        #[cfg(feature = "pages")]
        let security_contact =
            defaults.optional("SECURITY_CONTACT", SECURITY_CONTACT_FORM, SecurityContact::parse);
        let assets = defaults.fetcher("ASSETS");
        #[cfg(not(feature = "pages"))]
        let pages_worker = defaults.fetcher("PAGES_WORKER");
        defaults.finish();

        let (admin, key_env) = read_administration(env);
        let key_changes = read_key_changes(env);
        let status_history = read_status_history(env);
        #[cfg(feature = "pages")]
        let images = Reader::new(env, "no image is stored or shown").only(IMAGES, images);

        #[cfg(feature = "pages")]
        let PagesBindings { public_url, pages_host, domain_hosts, biolink } = PagesBindings::read(env);
        #[cfg(not(feature = "pages"))]
        let public_url = read_public_url_alone(env);
        // Only now, so that one log has every fault of the configuration and not just the first.
        if !is_complete {
            return None;
        }
        Some(Self {
            keys: keys?,
            meter: meter?,
            signing: signing?,
            grants: grants?,
            origins: origins?,
            origin_cert,
            prices: prices?,
            admin,
            key_env,
            key_changes,
            status_history,
            #[cfg(feature = "pages")]
            biolink,
            #[cfg(feature = "pages")]
            images,
            assets,
            #[cfg(not(feature = "pages"))]
            pages_worker,
            #[cfg(not(feature = "pages"))]
            pages_host: variable(env, PAGES_HOST),
            #[cfg(not(feature = "pages"))]
            has_domains: variable(env, DOMAINS_TARGET).is_some(),
            public_url,
            #[cfg(feature = "pages")]
            pages_host,
            #[cfg(feature = "pages")]
            domain_hosts,
            #[cfg(feature = "pages")]
            security_contact,
            http_allowed: http_allowed.unwrap_or(false),
            #[cfg(feature = "pages")]
            fetch_policy: fetch_policy(env),
            max_body: max_body.unwrap_or(MAX_BODY_BYTES),
            sampling: sampling.unwrap_or(Sampling::ALL),
        })
    }
}

#[cfg(feature = "pages")]
const SECURITY_CONTACT_FORM: &str =
    "a URI such as mailto:security@example.com or https://example.com/security";

#[cfg(not(feature = "pages"))]
fn read_public_url_alone(env: &Env) -> Option<String> {
    let mut reader = Reader::of_pages(env);
    let public_url = reader.optional(PUBLIC_URL, PUBLIC_URL_FORM, read_public_url);
    reader.finish();
    public_url
}

fn read_key_changes(env: &Env) -> Option<ObjectNamespace> {
    Reader::new(env, "proxies in direct mode see no changes of keys").only(KEY_CHANGES, key_changes)
}

fn read_status_history(env: &Env) -> Option<ObjectNamespace> {
    Reader::new(env, "no status history is kept")
        .only(STATUS_HISTORY, |env| env.durable_object(STATUS_HISTORY))
}

/// Returns the secret of administrators, and the kind of keys to issue.
fn read_administration(env: &Env) -> (Option<AdminSecret>, Option<KeyEnv>) {
    let mut reader = Reader::new(env, "no key is issued or managed");
    let admin = reader.secret("ADMIN_SECRET", AdminSecret::new);
    let key_env = reader.value("KEY_ENV", "live or test", KeyEnv::Live, |text| match text {
        "live" => Some(KeyEnv::Live),
        "test" => Some(KeyEnv::Test),
        _ => None,
    });
    reader.finish();
    (admin, key_env)
}

fn not_configured(detail: &'static str) -> Problem {
    Problem::new(codes::NOT_CONFIGURED, detail)
}

/// Returns true for two or more labels of a host name, of which the last begins with a letter: an address has none such.
#[cfg(not(feature = "pages"))]
fn is_host_name(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = host.rsplit_once('.').map(|(_, last)| last);
    host.split('.').all(is_label)
        && last.is_some_and(|last| last.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Returns the host of a base URL, with its port.
#[cfg(not(feature = "pages"))]
fn authority(base: &str) -> &str {
    base.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default())
}
