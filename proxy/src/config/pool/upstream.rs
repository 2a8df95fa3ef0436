//! The servers of a pool, and what is said of each.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use crate::config::reader::{Entry, values};

/// One server of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UpstreamConfig {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Its share of the calls beside those of the others: from 1 to 100.
    pub weight: u32,
    /// Whether it gets calls only when none of the others can.
    pub backup: bool,
    /// What it is there for.
    pub admin_state: AdminState,
}

/// What an upstream is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdminState {
    /// Calls.
    Active,
    /// To finish what it has: it gets no new calls.
    Draining,
    /// Nothing: it is not even probed.
    Off,
}

impl fmt::Display for UpstreamConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl UpstreamConfig {
    /// Returns the IP address, unless the host is a name.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Returns the text that identifies the server at one address of this entry, in logs, metrics and across reloads.
    #[must_use]
    pub fn identity(&self, address: Option<SocketAddr>) -> String {
        match address {
            Some(address) if self.ip().is_none() => format!("{}/{address}", self.host),
            Some(_) | None => self.to_string(),
        }
    }
}

/// The servers of a pool; a fault is noted when there is none.
pub(super) fn all(entry: &Entry<'_>) -> Vec<UpstreamConfig> {
    const MOST: usize = 64;
    let elements = entry.read(|entry| match entry.elements()? {
        elements if elements.is_empty() => Err("is empty: expected at least one upstream".to_owned()),
        elements if elements.len() > MOST => Err(format!("a pool has at most {MOST} upstreams")),
        elements => Ok(elements),
    });
    let mut upstreams = Vec::new();
    for element in elements.into_iter().flatten() {
        let Some(upstream) = element.read(|element| upstream(&element.text()?)) else { continue };
        let named = |other: &UpstreamConfig| (&other.host, other.port) == (&upstream.host, upstream.port);
        if upstream.port == 0 {
            element.fault("an upstream needs a port other than 0");
        } else if upstreams.iter().any(named) {
            element.fault("is a duplicate in this pool");
        } else {
            upstreams.push(upstream);
        }
    }
    upstreams
}

/// An address and what is said of it: `10.0.0.1:9100 weight=3 backup`.
fn upstream(text: &str) -> Result<UpstreamConfig, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |word: &&&str| word.starts_with("weight=") || matches!(**word, "backup" | "drain" | "off");
    let said = words.iter().rev().take_while(is_word).count();
    let (address, said) = words.split_at(words.len() - said);
    let of_a_port = |word: &&str| word.chars().all(|c| c.is_ascii_digit() || c == '+');
    let after_port = address.iter().skip_while(|word| !word.contains(':')).skip(1);
    if let Some(word) = after_port.copied().find(|word| !of_a_port(word)) {
        return Err(format!("unknown option `{word}`: expected weight=3, backup, drain or off"));
    }
    let address = if said.is_empty() { text.to_owned() } else { address.join(" ") };
    let (host, port) = values::address(&address)?;
    let host = host.to_owned();
    let mut upstream =
        UpstreamConfig { host, port, weight: 1, backup: false, admin_state: AdminState::Active };
    for word in said {
        match (*word, word.strip_prefix("weight=")) {
            (_, Some(weight)) => upstream.weight = self::weight(weight)?,
            ("backup", None) => upstream.backup = true,
            ("off", None) => upstream.admin_state = AdminState::Off,
            _ => upstream.admin_state = AdminState::Draining,
        }
    }
    Ok(upstream)
}

fn weight(text: &str) -> Result<u32, String> {
    let weight = text.parse().ok().filter(|weight| (1..=100).contains(weight));
    weight.ok_or_else(|| format!("invalid weight `{text}`: expected 1 to 100, for example weight=3"))
}
