//! The settings of `[grants]` and `[keys]`: whether requests come from the edge or from clients.

use std::path::PathBuf;
use std::time::Duration;

use shared::key::KeyEnv;
use shared::prices::Prices;
use shared::secret::{AdminSecret, MacKeys};
use shared::url::Address;

use super::limits::{self, AuthorityKind, MeterAuthority, ValkeyConfig, prices};
use super::reader::choice::choice;
use super::reader::{Entry, Section, ValueError, count, duration_in};

/// The source of requests.
#[derive(Clone, Debug)]
pub enum Callers {
    /// The edge, which has verified key and quota. Each call carries a grant.
    Edge(Box<GrantConfig>),
    /// Clients, in direct mode. Each call carries a key, which the proxy verifies itself.
    Clients(Box<DirectConfig>),
}

/// The settings of grants.
#[derive(Clone, Debug)]
pub struct GrantConfig {
    /// The one or two live secrets.
    pub keys: MacKeys,
    /// Maximum number of request ids in the replay cache.
    pub replay_capacity: usize,
    /// The store of used grants that the proxies of a data center share. Each has its own memory only
    /// if `None`.
    pub store: Option<Box<ValkeyConfig>>,
}

/// Where the use of a grant is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplayStore {
    /// In the memory of each process.
    Process,
    /// Also in a Valkey or Redis that the proxies of the data center share.
    Valkey,
}

/// The settings of direct mode.
#[derive(Clone, Debug)]
pub struct DirectConfig {
    /// The one or two live signing secrets of keys.
    pub signing: MacKeys,
    /// The file of the counters. The file of the key records has the suffix `.records`.
    pub state: PathBuf,
    /// The issuer of keys.
    pub authority: Authority,
    /// The authority over limits that proxies share. This process counts if `None`.
    pub meters: Option<MeterAuthority>,
    /// The prices of calls in units.
    pub prices: Prices,
    /// The base URL in documents for clients, without a trailing slash. That of the request if
    /// `None`.
    pub public_url: Option<String>,
    /// Whether a load balancer or tunnel terminates TLS in front of the proxy.
    pub behind_tls: bool,
}

/// The issuer of keys.
#[derive(Clone, Debug)]
pub enum Authority {
    /// This proxy.
    Here {
        /// The admin secret. Without it, no keys can be issued.
        admin: Option<AdminSecret>,
        /// The environment of issued keys.
        environment: KeyEnv,
    },
    /// The edge. The proxy polls it for changes.
    Edge(Box<FeedConfig>),
}

/// The settings of the edge's key-change feed.
#[derive(Clone, Debug)]
pub struct FeedConfig {
    /// Scheme and authority of the edge, such as `https://api.example.com`.
    pub edge: String,
    /// The interval from one poll to the next.
    pub every: Duration,
    /// The secrets of grants, which authenticate the proxy to the edge.
    pub grants: MacKeys,
}

/// Reads `[grants]`, `[keys]`, `[limits]` and `[valkey]`. Which keys are required depends on all.
pub(super) fn read(
    grants: &mut Section<'_>,
    keys: &mut Section<'_>,
    (limits, valkey): (&mut Section<'_>, &mut Section<'_>),
) -> Option<Callers> {
    let mode = keys.read("direct", None, |entry| entry.boolean().map(Some));
    let direct = mode.unwrap_or(false);
    let feed = direct && !keys.lacks("changes");
    let missing = match (direct, feed) {
        // The mode is invalid, so it is unknown what else is required.
        _ if mode.is_none() && !keys.lacks("direct") => None,
        (false, _) => Some("is missing; write secret = \"${GRANT_SECRET}\""),
        (true, true) => {
            Some("is missing; polling `keys.changes` needs it: write secret = \"${GRANT_SECRET}\"")
        }
        (true, false) => None,
    };
    let grant_keys = grants.secret(SECRET, mac_keys, missing);
    let replay_capacity = grants.read("replay_capacity", 4_000_000, count(1_000..=100_000_000));
    let clients = clients(keys, direct, grant_keys.clone());
    let replay_store = grants.read("replay_store", ReplayStore::Process, choice);
    // A fault is recorded, and no configuration has it.
    let prices = limits.entry("prices").and_then(|entry| prices(&entry)).unwrap_or_default();
    let authority = limits.read("authority", AuthorityKind::Process, choice);
    let is_shared = replay_store == ReplayStore::Valkey;
    let is_counted = authority == AuthorityKind::Valkey;
    if !valkey.is_present() {
        let detail = "`valkey` needs the section [valkey]; write servers = [\"127.0.0.1:6379\"] in it";
        let needing = [(is_shared, &*grants, "replay_store"), (is_counted, &*limits, "authority")];
        for (_, section, key) in needing.into_iter().filter(|(needs, ..)| *needs) {
            section.fault_at(key, detail);
        }
    }
    let valkey = limits::read_valkey(valkey, is_shared || is_counted);
    if is_shared && direct {
        let detail = "`valkey` is for proxies behind an edge: in direct mode calls have keys, not grants";
        grants.fault_at("replay_store", detail);
    }
    let store = valkey.clone().filter(|_| is_shared);
    let meters = limits::authority(limits, authority, valkey, (direct, feed));
    if direct {
        return clients.map(|clients| Callers::Clients(Box::new(DirectConfig { meters, prices, ..clients })));
    }
    Some(Callers::Edge(Box::new(GrantConfig { keys: grant_keys?, replay_capacity, store })))
}

const SECRET: [&str; 2] = ["secret", "secret_file"];

/// Reads `[keys]`. Reads every key in both modes, so that none is reported as unknown.
fn clients(keys: &mut Section<'_>, direct: bool, grants: Option<MacKeys>) -> Option<DirectConfig> {
    let missing = direct.then_some("is missing; write secret = \"${KEY_SIGNING_SECRET}\"");
    let signing = keys.secret(SECRET, mac_keys, missing);
    let state = keys.read("state", None, |entry| file_path(entry).map(Some));
    if direct && keys.lacks("state") {
        keys.fault("state", "is missing; write state = \"/var/lib/unified-tool-gateway/keys\"");
    }
    let public_url = keys.read("public_url", None, |entry| public_url(entry).map(Some));
    let behind_tls = keys.read("behind_tls", false, Entry::boolean);
    let authority = authority(keys, grants);
    Some(DirectConfig {
        signing: signing?,
        state: state?,
        authority: authority?,
        meters: None,
        prices: Prices::default(),
        public_url,
        behind_tls,
    })
}

fn authority(keys: &mut Section<'_>, grants: Option<MacKeys>) -> Option<Authority> {
    let edge = keys.entry("changes").map(|entry| entry.read(edge));
    let every = keys.read(
        "changes_every",
        Duration::from_secs(3),
        duration_in(Duration::from_millis(100)..=Duration::from_secs(300)),
    );
    let admin = keys.secret(
        ["admin_secret", "admin_secret_file"],
        |text| AdminSecret::new(text).map_err(ValueError::refused),
        None,
    );
    let environment = keys.read("environment", KeyEnv::Live, choice);
    match edge {
        Some(edge) => {
            if !(keys.lacks("admin_secret") && keys.lacks("admin_secret_file")) {
                let detail =
                    "conflicts with `admin_secret`: the edge issues and changes keys; set only one of them";
                keys.fault_at("changes", detail);
            }
            Some(Authority::Edge(Box::new(FeedConfig { edge: edge?, every, grants: grants? })))
        }
        None => Some(Authority::Here { admin, environment }),
    }
}

fn mac_keys(text: &str) -> Result<MacKeys, ValueError> {
    MacKeys::parse(text).map_err(ValueError::refused)
}

fn file_path(entry: &Entry<'_>) -> Result<PathBuf, ValueError> {
    match entry.text()?.as_str() {
        "" => Err(ValueError::Empty { expected: "the path of a file" }),
        text if text.ends_with('/') => {
            Err(ValueError::invalid("path", text, "the path of a file, not of a directory"))
        }
        text => Ok(text.into()),
    }
}

fn edge(entry: &Entry<'_>) -> Result<String, ValueError> {
    let text = entry.text()?;
    let address = base_url(&text, "edge URL")?;
    match address.check_confidential(false) {
        Ok(()) => Ok(address.base.to_owned()),
        Err(_) => Err(ValueError::invalid("edge URL", text, "https, because it is on another machine")),
    }
}

fn public_url(entry: &Entry<'_>) -> Result<String, ValueError> {
    let text = entry.text()?;
    base_url(&text, "URL").map(|address| address.base.to_owned())
}

/// Parses a URL without path, query and user information. A trailing slash is allowed.
fn base_url<'a>(text: &'a str, what: &'static str) -> Result<Address<'a>, ValueError> {
    let base = text.trim_end_matches('/');
    let address = Address::parse(base).filter(|address| address.base == base && address.is_plain());
    address.ok_or_else(|| ValueError::invalid(what, text, "for example https://api.example.com"))
}
