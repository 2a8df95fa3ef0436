//! URLs that the gateway itself calls because a customer named them: webhooks and product feeds.
//!
//! Such a URL must not lead to anything that only the gateway can reach (server-side request
//! forgery). A name is checked, and not the address that it has: the runtime resolves names itself,
//! and its flag `global_fetch_strictly_public` keeps requests out of private networks.
//!
//! Why: docs/decisions/webhooks.md, "A URL of a customer is checked at each use, by its name".

mod final_head;
mod policy;

use std::{fmt, net::Ipv4Addr};

use serde_json::Value;
use shared::url::{Address, is_at_or_below};
use thiserror::Error;

pub use self::final_head::{FinalHead, FinalHeadError, MAX_HEAD, is_informational};
pub use self::policy::FetchPolicy;
use crate::domains::HostName;
use crate::page::{UrlError, UrlParts, WebUrl, is_domain_name, is_ip_address, is_private_name};

/// A URL that the gateway may call, in the normal form of the URL standard. It can only be made by
/// [`FetchUrl::parse`], so what was stored as text is checked again at each use.
///
/// ```
/// use biolink::fetch_url::{FetchPolicy, FetchUrl, FetchUrlError};
///
/// let policy = FetchPolicy::new(["https://api.example.com"], false);
/// let url = FetchUrl::parse("https://Shop.example/feed.xml", &policy).unwrap();
/// assert_eq!(url.as_str(), "https://shop.example/feed.xml");
/// assert!(matches!(FetchUrl::parse("https://10.0.0.1/", &policy), Err(FetchUrlError::IpAddress { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchUrl(String);

/// A text that is not a URL which the gateway may call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FetchUrlError {
    /// It is no URL of the web.
    #[error(transparent)]
    Syntax(#[from] UrlError),
    /// It is not encrypted.
    #[error("must begin with https://")]
    NotHttps,
    /// It has a port that webhooks and feeds do not use.
    #[error("must not have the port {port}; expected 443 or 8443")]
    Port {
        /// The port.
        port: u16,
    },
    /// Its host is an IP address, in one of its spellings.
    #[error("must have a host name, not the IP address `{host}`")]
    IpAddress {
        /// The host.
        host: String,
    },
    /// Its host is a name that means something else in each network.
    #[error("must have a public host name; `{host}` is private")]
    PrivateName {
        /// The host.
        host: String,
    },
    /// Its host is the metadata service of a cloud, or a service whose names lead to any address.
    #[error("must not lead to `{host}`, which gives access to internal addresses")]
    InternalName {
        /// The host.
        host: String,
    },
    /// Its host is this gateway.
    #[error("must not lead to this gateway (`{host}`)")]
    OwnHost {
        /// The host.
        host: String,
    },
    /// Its host ends in a dot.
    #[error("must have a host name without a dot at its end, not `{host}`")]
    TrailingDot {
        /// The host.
        host: String,
    },
}

/// Metadata services of clouds that have a public name, and DNS services whose names contain the
/// address that they lead to.
const INTERNAL: [&str; 14] = [
    "metadata.goog",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
    "metadata.nic.in",
    "nip.io",
    "sslip.io",
    "xip.io",
    "localtest.me",
    "lvh.me",
    "vcap.me",
    "traefik.me",
    "lacolhost.com",
    "localho.st",
];
/// Names of the inside of clusters, and of test networks (RFC 6761).
const CLUSTER: [&str; 5] = ["svc", "cluster.local", "test", "localdomain", "private"];

impl FetchUrl {
    /// The longest URL, in bytes.
    pub const MAX_LEN: usize = WebUrl::MAX_LEN;
    const PORTS: [u16; 2] = [443, 8443];

    /// Reads a URL that the policy allows.
    ///
    /// # Errors
    /// Returns the first rule that it breaks.
    pub fn parse(text: &str, policy: &FetchPolicy) -> Result<Self, FetchUrlError> {
        let mut parts = UrlParts::parse(text)?;
        if let Some(fragment) = parts.path.find('#') {
            // A fragment is not sent (RFC 9110, section 4.2.5), and two texts would be the same
            // URL.
            parts.path.truncate(fragment);
        }
        let is_development = policy.is_private_allowed();
        if !is_development && !parts.is_https {
            return Err(FetchUrlError::NotHttps);
        }
        check_host(&parts, policy)?;
        match parts.port {
            Some(port) if !is_development && !Self::PORTS.contains(&port) => {
                Err(FetchUrlError::Port { port })
            }
            _ => Ok(()),
        }?;
        // Of the parts and not of the text: what was checked is what is called.
        let text = parts.to_string();
        if text.len() > Self::MAX_LEN { Err(UrlError::TooLong.into()) } else { Ok(Self(text)) }
    }

    /// Returns the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its host if accounts can have it as a domain, which this gateway then serves.
    pub fn host(&self) -> Option<HostName> {
        HostName::parse(Address::parse(&self.0)?.host()).ok()
    }
}

impl fmt::Display for FetchUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the member `url` of a JSON object.
pub fn url_member(body: &str) -> Option<String> {
    let object: Value = serde_json::from_str(body).ok()?;
    object.get("url")?.as_str().map(|url| url.trim().to_owned())
}

fn check_host(parts: &UrlParts, policy: &FetchPolicy) -> Result<(), FetchUrlError> {
    let host = || parts.host.clone();
    // A dot may end a name; after the brackets of an address nothing may stand.
    let name = parts.host.strip_suffix('.').filter(|name| !name.ends_with(']')).unwrap_or(&parts.host);
    // First, so that it holds in development too, where a request to itself could run in a circle.
    if policy.is_own(name, parts.port) {
        return Err(FetchUrlError::OwnHost { host: host() });
    }
    if policy.is_private_allowed() && is_loopback(&parts.host) {
        return Ok(());
    }
    if is_ip_address(name) {
        return Err(FetchUrlError::IpAddress { host: host() });
    }
    if INTERNAL.iter().any(|internal| is_at_or_below(name, internal)) {
        return Err(FetchUrlError::InternalName { host: host() });
    }
    let is_single_label = !name.is_empty() && !name.contains('.');
    if is_single_label || is_private_name(name) || CLUSTER.iter().any(|top| is_at_or_below(name, top)) {
        return Err(FetchUrlError::PrivateName { host: host() });
    }
    if !is_domain_name(name) {
        return Err(UrlError::Host.into());
    }
    // Last, so that a private name is refused as one, with or without the dot.
    if name.len() < parts.host.len() {
        return Err(FetchUrlError::TrailingDot { host: host() });
    }
    Ok(())
}

/// Returns true for the machine itself. Browsers resolve names below `localhost` to it too.
fn is_loopback(name: &str) -> bool {
    name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || matches!(name, "[::1]" | "localhost")
        || (is_at_or_below(name, "localhost") && is_domain_name(name))
}

#[cfg(test)]
mod tests;
