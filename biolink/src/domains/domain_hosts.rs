//! The hosts of the service, told apart from those of customers.

use shared::url::{PLATFORM_HOSTS, is_at_or_below, is_below_platform};

use super::{HostError, HostName};

/// The hosts of the service itself, and the one to which domains of accounts point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainHosts {
    target: HostName,
    own: Vec<String>,
}

impl DomainHosts {
    /// Reads the name to which domains point (`CNAME`). `own` has the hosts of the service, each as `host`,
    /// `host:port` or a URL. `None` without any host, because the service would take
    /// requests for its API for those of a customer.
    pub fn new<'a>(target: &str, own: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let target = HostName::parse(target).ok()?;
        let own: Vec<_> = own.into_iter().map(host_of).filter(|host| !host.is_empty()).collect();
        (!own.is_empty()).then_some(Self { target, own })
    }

    /// Returns the name to which domains point.
    pub fn target(&self) -> &str {
        self.target.as_str()
    }

    /// Returns true for a host of the service, in lower case and without a port.
    pub(crate) fn is_own(&self, host: &str) -> bool {
        self.own.iter().any(|own| own == host) || is_below_platform(host)
    }

    /// Returns the host of a request if it is a customer's. `host` has no port.
    pub(crate) fn customer(&self, host: &str) -> Option<HostName> {
        let host = HostName::parse(host).ok()?;
        self.check(&host).ok().map(|()| host)
    }

    /// Checks that a host is none of the service, and does not lie below one.
    ///
    /// # Errors
    /// Returns [`HostError::OwnHost`].
    pub fn check(&self, host: &HostName) -> Result<(), HostError> {
        // The target too: its name leads to the service, and is no customer's.
        let own = self.own.iter().map(String::as_str).chain(PLATFORM_HOSTS).chain([self.target.as_str()]);
        match own.into_iter().any(|own| is_at_or_below(host.as_str(), own)) {
            true => Err(HostError::OwnHost(host.to_string())),
            false => Ok(()),
        }
    }
}

fn host_of(text: &str) -> String {
    let text = text.trim();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        // Not of an IPv6 address, which has colons of its own.
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> DomainHosts {
        let own = ["https://api.example.com/v", "pages.example:8443", "https://Proxy.example"];
        DomainHosts::new("customers.example.net", own).unwrap()
    }

    #[test]
    fn host_that_is_not_the_services_own_is_a_customers() {
        for own in [
            "api.example.com",
            "API.example.com",
            "pages.example",
            "a.pages.example",
            "proxy.example",
            "customers.example.net",
            "x.customers.example.net",
            "gateway.workers.dev",
            "127.0.0.1",
            "localhost",
            "[::1]",
            "",
        ] {
            assert_eq!(hosts().customer(own), None, "{own}");
        }
        for customer in ["ada.example", "example.com", "notpages.example", "Ada.Example"] {
            let host = hosts().customer(customer).unwrap();
            assert_eq!(host.as_str(), customer.to_ascii_lowercase());
            assert_eq!(hosts().check(&host), Ok(()));
        }
        let own = HostName::parse("a.api.example.com").unwrap();
        assert!(hosts().check(&own).unwrap_err().to_string().contains("belongs to this service"));
    }

    #[test]
    fn service_without_a_host_of_its_own_has_no_domains() {
        assert_eq!(DomainHosts::new("customers.example.net", [""]), None);
        assert_eq!(DomainHosts::new("https://customers.example.net", ["api.example"]), None);
    }
}
