//! Who may call: the edge with its grants, or clients with their keys.

use std::{path::PathBuf, time::Duration};

use shared::{
    key::KeyEnv,
    secret::{AdminSecret, MacKeys},
    transport::Address,
};

use super::reader::{Entry, Section, count, duration_in};

/// Where requests come from.
#[derive(Clone, Debug)]
pub enum Callers {
    /// Through the edge, which has judged them: each call carries a grant.
    Edge(Box<GrantConfig>),
    /// From clients, which the proxy judges itself: each call carries a key.
    Clients(Box<DirectConfig>),
}

/// Grants.
#[derive(Clone, Debug)]
pub struct GrantConfig {
    /// The one or two live secrets.
    pub keys: MacKeys,
    /// Requests that are remembered so that none is made twice.
    pub replay_capacity: usize,
}

/// Direct mode.
#[derive(Clone, Debug)]
pub struct DirectConfig {
    /// The one or two live signing secrets of keys.
    pub signing: MacKeys,
    /// What is counted and known of keys is kept in this file and beside it.
    pub state: PathBuf,
    /// Who says what has become of a key since it was issued.
    pub authority: Authority,
    /// The address that clients are told to call, without a slash at the end. The request's own if `None`.
    pub public_url: Option<String>,
    /// Whether what comes over plain HTTP came over TLS to somebody before this proxy.
    pub behind_tls: bool,
}

/// Who issues and changes keys.
#[derive(Clone, Debug)]
pub enum Authority {
    /// This proxy, for whoever has the admin secret; nobody if there is none.
    Here {
        /// The secret.
        admin: Option<AdminSecret>,
        /// Which kind of keys is issued.
        environment: KeyEnv,
    },
    /// The edge, which is asked what has changed.
    Edge(Box<FeedConfig>),
}

/// The edge's feed of changed keys.
#[derive(Clone, Debug)]
pub struct FeedConfig {
    /// Scheme and authority of the edge, such as `https://api.example.com`.
    pub edge: String,
    /// How long after one question the next is asked.
    pub every: Duration,
    /// The secrets of grants, which prove to the edge who asks.
    pub grants: MacKeys,
}

/// Reads `[grants]` and `[keys]`, which say together who may call.
pub(super) fn read(grants: &mut Section<'_>, keys: &mut Section<'_>) -> Option<Callers> {
    let said = keys.read("direct", None, |entry| entry.truth().map(Some));
    let direct = said.unwrap_or(false);
    let feed = direct && !keys.is_without("changes");
    let missing = match (direct, feed) {
        // What it says is no answer: nobody knows what else there has to be.
        _ if said.is_none() && !keys.is_without("direct") => None,
        (false, _) => Some("is missing; write secret = \"${GRANT_SECRET}\""),
        (true, true) => Some(
            "is missing; the edge that `keys.changes` names is asked with it: write secret = \"${GRANT_SECRET}\"",
        ),
        (true, false) => None,
    };
    let grant_keys = grants.secret(SECRET, mac_keys, missing);
    let replay_capacity = grants.read("replay_capacity", 4_000_000, count(1_000..=100_000_000));
    let clients = clients(keys, direct, grant_keys.clone());
    if direct {
        return clients.map(Box::new).map(Callers::Clients);
    }
    Some(Callers::Edge(Box::new(GrantConfig { keys: grant_keys?, replay_capacity })))
}

const SECRET: [&str; 2] = ["secret", "secret_file"];

/// `[keys]`, all of which is asked for whether it is needed or not.
fn clients(keys: &mut Section<'_>, direct: bool, grants: Option<MacKeys>) -> Option<DirectConfig> {
    let missing = direct.then_some("is missing; write secret = \"${KEY_SIGNING_SECRET}\"");
    let signing = keys.secret(SECRET, mac_keys, missing);
    let state = keys.read("state", None, |entry| path(entry).map(Some));
    if direct && keys.is_without("state") {
        keys.fault("state", "is missing; write state = \"/var/lib/unified-tool-gateway/keys\"");
    }
    let public_url = keys.read("public_url", None, |entry| public_url(entry).map(Some));
    let behind_tls = keys.read("behind_tls", false, Entry::truth);
    let authority = authority(keys, grants);
    Some(DirectConfig { signing: signing?, state: state?, authority: authority?, public_url, behind_tls })
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
        |text| AdminSecret::new(text).map_err(|fault| fault.to_string()),
        None,
    );
    let environment = keys.read("environment", KeyEnv::Live, |entry| match entry.text()?.as_str() {
        "live" => Ok(KeyEnv::Live),
        "test" => Ok(KeyEnv::Test),
        other => Err(format!("invalid environment `{other}`: expected live or test")),
    });
    match edge {
        Some(edge) => {
            if !(keys.is_without("admin_secret") && keys.is_without("admin_secret_file")) {
                let detail = "with it keys are issued and changed at the edge, so that there can be no `admin_secret` here; leave one of the two out";
                keys.fault_at("changes", detail);
            }
            Some(Authority::Edge(Box::new(FeedConfig { edge: edge?, every, grants: grants? })))
        }
        None => Some(Authority::Here { admin, environment }),
    }
}

fn mac_keys(text: &str) -> Result<MacKeys, String> {
    MacKeys::parse(text).map_err(|fault| fault.to_string())
}

fn path(entry: &Entry<'_>) -> Result<PathBuf, String> {
    match entry.text()?.as_str() {
        "" => Err("is empty: expected the path of a file".to_owned()),
        text if text.ends_with('/') => Err(format!("`{text}` is a folder: expected the path of a file")),
        text => Ok(text.into()),
    }
}

fn edge(entry: &Entry<'_>) -> Result<String, String> {
    let text = entry.text()?;
    let base = text.trim_end_matches('/');
    let address = Address::parse(base).filter(|address| address.base == base && address.is_plain());
    match address.map(|address| address.check_confidential(false)) {
        Some(Ok(())) => Ok(base.to_owned()),
        Some(Err(_)) => Err(format!("`{text}` is plain HTTP to another machine: expected https://…")),
        None => Err(format!("invalid edge URL `{text}`: expected for example https://api.example.com")),
    }
}

fn public_url(entry: &Entry<'_>) -> Result<String, String> {
    let text = entry.text()?;
    let base = text.trim_end_matches('/');
    match Address::parse(base).filter(|address| address.base == base && address.is_plain()) {
        Some(_) => Ok(base.to_owned()),
        None => Err(format!("invalid URL `{text}`: expected for example https://api.example.com")),
    }
}
