//! The servers of a pool, with their weights and flags.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use strum::{IntoStaticStr, VariantArray};

use crate::reader::{Entry, ValueError, values};

/// One server of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UpstreamConfig {
    /// A name or an IP address. A name such as `_http._tcp.qr.internal` is that of SRV records (RFC 2782),
    /// which have the hosts, their ports and weights.
    pub host: String,
    /// The port. 0 for the name of SRV records.
    pub port: u16,
    /// The share of calls in relation to the other servers: 1 to 100.
    pub weight: u32,
    /// Whether it gets calls only if no primary server is available.
    pub backup: bool,
    /// The state that the operator set.
    pub admin_state: AdminState,
}

/// The administrative state of an upstream. Its name is that in metrics and on `/pools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum AdminState {
    /// It gets calls.
    #[strum(serialize = "calls")]
    Active,
    /// It gets no new calls and finishes those in flight.
    Draining,
    /// It gets no calls and no probes.
    Off,
}

/// What an operator has set of one address of a name, or of one server of SRV records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerValues {
    /// In place of the weight of the entry or of the record.
    pub weight: Option<u32>,
    /// In place of the state of the entry.
    pub admin_state: Option<AdminState>,
}

impl ServerValues {
    /// Replaces the values of a server.
    pub fn apply(self, server: &mut UpstreamConfig) {
        server.weight = self.weight.unwrap_or(server.weight);
        server.admin_state = self.admin_state.unwrap_or(server.admin_state);
    }
}

impl fmt::Display for UpstreamConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_srv() {
            true => f.write_str(&self.host),
            false => f.write_str(&values::show_address(&self.host, self.port)),
        }
    }
}

impl UpstreamConfig {
    /// Returns the IP address, unless the host is a name.
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Returns true for a name of SRV records: `_service._protocol.name`.
    pub fn is_srv_name(text: &str) -> bool {
        let is_label = |label: &str| {
            !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        };
        let labels: Vec<_> = text.trim_end_matches('.').split('.').collect();
        labels.len() > 2
            && labels.iter().take(2).all(|label| label.len() > 1 && label.starts_with('_'))
            && labels.into_iter().all(is_label)
    }

    /// Returns the entry of a list of servers: the address with its flags.
    pub(super) fn to_entry(&self) -> String {
        let mut entry = self.to_string();
        if self.weight != 1 {
            entry.push_str(&format!(" weight={}", self.weight));
        }
        let flags = [
            (self.backup, " backup"),
            (self.admin_state == AdminState::Draining, " drain"),
            (self.admin_state == AdminState::Off, " off"),
        ];
        flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, flag)| entry.push_str(flag));
        entry
    }

    /// Returns true if `identity` can be that of a server of this entry: `host/address:port`, and the host
    /// is that of a record if the entry is a name of SRV records.
    pub(crate) fn may_be(&self, identity: &str) -> bool {
        let Some((host, address)) = identity.rsplit_once('/') else { return false };
        let is_name = self.ip().is_none() && (self.is_srv() || self.host == host);
        is_name && address.parse::<SocketAddr>().is_ok()
    }

    /// Returns true if the entry is a name of SRV records.
    pub(crate) fn is_srv(&self) -> bool {
        Self::is_srv_name(&self.host)
    }

    /// Returns the text that identifies the server at one address of this entry, in logs, metrics
    /// and across reloads.
    pub fn identity(&self, address: Option<SocketAddr>) -> String {
        match address {
            Some(address) if self.ip().is_none() => format!("{}/{address}", self.host),
            Some(_) | None => self.to_string(),
        }
    }
}

/// Maximum number of servers of a pool.
pub(super) const MAX: usize = 64;

/// Reads the servers of a pool. Reports an error if there is none.
pub(super) fn all(entry: &Entry<'_>) -> Vec<UpstreamConfig> {
    let elements = entry.read(|entry| match entry.elements()? {
        elements if elements.is_empty() => Err(ValueError::Empty { expected: "at least one upstream" }),
        elements if elements.len() > MAX => Err(ValueError::TooMany { count: elements.len(), most: MAX }),
        elements => Ok(elements),
    });
    let mut upstreams = Vec::new();
    for element in elements.into_iter().flatten() {
        let Some(upstream) = element.read(|element| upstream(&element.text()?)) else { continue };
        if let Err(fault) = add(&mut upstreams, upstream) {
            element.fault(fault);
        }
    }
    upstreams
}

/// Parses the entries of a list of servers.
///
/// # Errors
/// Returns what is wrong with the first invalid entry.
pub(super) fn of_entries<'a>(
    entries: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<UpstreamConfig>, String> {
    let mut upstreams = Vec::new();
    for entry in entries {
        let parsed = upstream(entry).map_err(|error| error.to_string())?;
        add(&mut upstreams, parsed)?;
    }
    Ok(upstreams)
}

/// Adds a server to those of a pool.
///
/// # Errors
/// Returns what is wrong if it has no port, or the pool has it already.
fn add(upstreams: &mut Vec<UpstreamConfig>, upstream: UpstreamConfig) -> Result<(), String> {
    let is_same = |other: &UpstreamConfig| (&other.host, other.port) == (&upstream.host, upstream.port);
    if upstream.port == 0 && !UpstreamConfig::is_srv_name(&upstream.host) {
        return Err("invalid port `0`: expected 1 to 65535".to_owned());
    }
    if upstreams.iter().any(is_same) {
        return Err(format!("duplicate upstream `{upstream}`: expected each server once in a pool"));
    }
    upstreams.push(upstream);
    Ok(())
}

/// Parses an address with options: `10.0.0.1:9100 weight=3 backup`.
fn upstream(text: &str) -> Result<UpstreamConfig, ValueError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_option =
        |word: &&&str| word.starts_with("weight=") || matches!(**word, "backup" | "drain" | "off");
    let count = words.iter().rev().take_while(is_option).count();
    let (address, options) = words.split_at(words.len() - count);
    let is_port_part = |word: &&str| word.chars().all(|c| c.is_ascii_digit() || c == '+');
    let after_port = address.iter().skip_while(|word| !word.contains(':')).skip(1);
    if let Some(word) = after_port.copied().find(|word| !is_port_part(word)) {
        return Err(ValueError::invalid("option", word, "weight=3, backup, drain or off"));
    }
    let address = if options.is_empty() { text.to_owned() } else { address.join(" ") };
    let (host, port) = match UpstreamConfig::is_srv_name(&address) {
        true => (address.clone(), 0),
        false => values::address(&address)?,
    };
    if port > 0 && UpstreamConfig::is_srv_name(&host) {
        return Err(ValueError::invalid("address", address, "no port: SRV records have ports"));
    }
    let mut upstream =
        UpstreamConfig { host, port, weight: 1, backup: false, admin_state: AdminState::Active };
    for option in options {
        match (*option, option.strip_prefix("weight=")) {
            (_, Some(_)) if upstream.is_srv() => {
                return Err(ValueError::invalid("option", *option, "none: SRV records have weights"));
            }
            (_, Some(weight)) => upstream.weight = self::weight(weight)?,
            ("backup", None) => upstream.backup = true,
            ("off", None) => upstream.admin_state = AdminState::Off,
            _ => upstream.admin_state = AdminState::Draining,
        }
    }
    Ok(upstream)
}

fn weight(text: &str) -> Result<u32, ValueError> {
    let weight = text.parse().ok().filter(|weight| (1..=100).contains(weight));
    weight.ok_or_else(|| ValueError::invalid("weight", text, "1 to 100, for example weight=3"))
}
