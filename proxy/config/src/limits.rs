//! The settings of `[limits]` and `[valkey]`: where the limits of keys are counted.

use std::fmt;

use shared::prices::Prices;
use transport::tls::pem;

use super::last_good::Kept;
use super::reader::choice::choice;
use super::reader::part::{Need, text};
use super::reader::{Entry, Section, ValueError, count, values};

/// The authority over the limits of keys that proxies share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeterAuthority {
    /// The edge of [`Authority::Edge`](super::Authority::Edge).
    Edge,
    /// A Valkey or Redis.
    Valkey(Box<ValkeyConfig>),
}

/// Where the limits of keys are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthorityKind {
    /// In this process.
    Process,
    /// At the edge that issues the keys.
    Edge,
    /// In a Valkey or Redis.
    Valkey,
}

/// The settings of a Valkey or Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValkeyConfig {
    /// The servers, the nodes of a cluster to begin with, or the Sentinels.
    pub servers: Vec<(String, u16)>,
    /// The kind of the servers.
    pub kind: ValkeyKind,
    /// The user of the access control list. The default user if `None`.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Password>,
    /// Whether connections use TLS.
    pub tls: bool,
    /// The trusted certificate authorities, as PEM. The public ones if `None`.
    pub tls_ca: Option<Vec<u8>>,
    /// The number of replicas that must have each change.
    pub replicas: u32,
    /// The beginning of the names of all values.
    pub prefix: String,
}

/// The kind of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValkeyKind {
    /// One server. Of several, the first one that can be reached.
    Single,
    /// Sentinels that know the master of this name.
    Sentinel {
        /// The name of the master.
        master: String,
    },
    /// Nodes of a cluster.
    Cluster,
}

/// The words of `valkey.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindWord {
    Single,
    Sentinel,
    Cluster,
}

/// A password. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Returns the text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(redacted)")
    }
}

/// Returns the authority that proxies share, if there is one.
pub(super) fn authority(
    limits: &mut Section<'_>,
    kind: AuthorityKind,
    valkey: Option<Box<ValkeyConfig>>,
    (is_direct, has_feed): (bool, bool),
) -> Option<MeterAuthority> {
    match kind {
        AuthorityKind::Process => None,
        AuthorityKind::Edge => {
            if !has_feed {
                let detail = "`edge` needs direct mode and the edge that issues the keys: set keys.changes";
                limits.fault_at("authority", detail);
            }
            Some(MeterAuthority::Edge)
        }
        AuthorityKind::Valkey => {
            if !is_direct {
                let detail =
                    "`valkey` needs direct mode: behind an edge the edge counts; set keys.direct = true";
                limits.fault_at("authority", detail);
            }
            valkey.map(MeterAuthority::Valkey)
        }
    }
}

/// Reads the file of prices that the value names. Without a name a call costs nothing. With a faulty
/// file and no last good prices it would, so that is refused.
pub(super) fn prices(entry: &Entry<'_>) -> Option<Prices> {
    if entry.read(Entry::text)?.is_empty() {
        return Some(Prices::default());
    }
    let path = entry.read(Entry::path)?;
    entry.part(&path, (Need::Required, Kept::OnDisk), |bytes| {
        super::prices::parse(text(&path, bytes)?)
            .map_err(|error| ValueError::refused(format!("{}: {error}", path.display())))
    })
}

/// Reads `[valkey]`: every key, so that none is reported as unknown. If the section is missing, the key that
/// needs it is reported elsewhere.
pub(super) fn read_valkey(section: &mut Section<'_>, is_used: bool) -> Option<Box<ValkeyConfig>> {
    let servers = section.entry("servers").map(|entry| entry.read(servers));
    if is_used && servers.is_none() && section.is_present() {
        section.fault("servers", "is missing; write servers = [\"127.0.0.1:6379\"]");
    }
    let word = section.read("kind", KindWord::Single, choice);
    let master = section.read("master", None, |entry| name(entry).map(Some));
    let kind = match (word, master) {
        (KindWord::Sentinel, Some(master)) => Some(ValkeyKind::Sentinel { master }),
        (KindWord::Sentinel, None) => {
            section.fault("master", "is missing; write the name by which the Sentinels know the master");
            None
        }
        (KindWord::Single | KindWord::Cluster, Some(_)) => {
            section.fault_at("master", "is only for kind = \"sentinel\"");
            None
        }
        (KindWord::Single, None) => Some(ValkeyKind::Single),
        (KindWord::Cluster, None) => Some(ValkeyKind::Cluster),
    };
    let user = section.read("user", None, |entry| name(entry).map(Some));
    let password = section.secret(["password", "password_file"], password, None);
    if user.is_some() && section.lacks("password") && section.lacks("password_file") {
        section.fault("password", "is missing; a user needs one: write password = \"${VALKEY_PASSWORD}\"");
    }
    let tls = section.read("tls", false, Entry::boolean);
    let tls_ca = section.entry("tls_ca").map(|entry| authorities(&entry));
    if tls_ca.is_some() && !tls {
        section.fault_at("tls_ca", "needs tls = true");
    }
    let replicas = section.read("replicas", 0, count(0..=16));
    let prefix = section.read("prefix", "utg".to_owned(), name);
    let tls_ca = match tls_ca {
        Some(read) => Some(read?),
        None => None,
    };
    let (servers, kind) = (servers??, kind?);
    Some(Box::new(ValkeyConfig { servers, kind, user, password, tls, tls_ca, replicas, prefix }))
}

fn servers(entry: &Entry<'_>) -> Result<Vec<(String, u16)>, ValueError> {
    const EXPECTED: &str = "at least one server, for example [\"127.0.0.1:6379\"]";
    let servers = entry.elements()?;
    if servers.is_empty() {
        return Err(ValueError::Empty { expected: EXPECTED });
    }
    servers.iter().map(|server| values::address(&server.text()?)).collect()
}

/// Parses a name of letters, digits, `-`, `_`, `.` and `:`.
fn name(entry: &Entry<'_>) -> Result<String, ValueError> {
    let text = entry.text()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    match !text.is_empty() && text.len() <= 64 && text.chars().all(is_name) {
        true => Ok(text),
        false => Err(ValueError::invalid("name", text, "1 to 64 letters, digits, `-`, `_`, `.` and `:`")),
    }
}

pub(super) fn password(text: &str) -> Result<Password, ValueError> {
    match text {
        "" => Err(ValueError::Empty { expected: "a password" }),
        text => Ok(Password(text.to_owned())),
    }
}

/// Reads the authorities of a file. None is trusted while it is faulty and has no last good ones.
fn authorities(entry: &Entry<'_>) -> Option<Vec<u8>> {
    let path = entry.read(Entry::path)?;
    let read = entry.part(&path, (Need::Optional, Kept::OnDisk), |bytes| {
        pem::authorities(&path, bytes).map_err(ValueError::refused)?;
        Ok(bytes.to_vec())
    });
    Some(read.unwrap_or_default())
}
