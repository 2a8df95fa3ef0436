//! The host that a request came to: one of the service, a domain of an account, or none of both.

use shared::{
    problem::Problem,
    url::{Address, is_at_or_below},
};

use super::PagesHost;
use crate::{
    codes,
    domains::{DomainHosts, HostName},
    page::is_domain_name,
};

/// The hosts that the configuration names.
///
/// Where accounts have domains, the service has these hosts and no other. Elsewhere it has every host name
/// that the operator brings to it, since nothing else names them, but none beside or below that of pages: such a
/// name would show the console to browsers that send it the cookies of pages.
#[derive(Clone, Copy)]
pub struct KnownHosts<'a> {
    /// The host of pages, if they have their own.
    pub pages: Option<&'a PagesHost>,
    /// The hosts of the service with those of accounts, if accounts have domains.
    pub domains: Option<&'a DomainHosts>,
    /// The base URL of the API.
    pub public_url: Option<&'a str>,
    /// Whether any name will do, in development.
    pub is_any_allowed: bool,
}

impl KnownHosts<'_> {
    /// Returns the domain of an account that a request came to; `None` for a host of the service.
    ///
    /// # Errors
    /// Returns `route-unknown` for a host that is neither.
    pub fn customer(&self, address: &Address<'_>) -> Result<Option<HostName>, Problem> {
        let host = address.host().to_ascii_lowercase();
        let public = self.public_url.and_then(Address::parse);
        let is_public = public.is_some_and(|public| public.host().eq_ignore_ascii_case(&host));
        // Before the domains of accounts: nobody can claim the service's own host.
        if is_public || address.is_loopback() || self.pages.is_some_and(|pages| pages.is_of(address)) {
            return Ok(None);
        }
        if self.pages.is_some_and(|pages| is_at_or_below(&host, pages.name())) {
            return Err(unknown());
        }
        match self.domains {
            Some(domains) if domains.is_own(&host) => Ok(None),
            Some(domains) => domains.customer(&host).map(Some).ok_or_else(unknown),
            None if self.is_any_allowed || (is_domain_name(&host) && !host.contains('_')) => Ok(None),
            None => Err(unknown()),
        }
    }
}

fn unknown() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "this gateway does not serve the host of the request")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a host is: `service`, `none`, or the domain of an account.
    fn read(known: &KnownHosts<'_>, authority: &str) -> String {
        let url = format!("https://{authority}/");
        match known.customer(&Address::parse(&url).unwrap()) {
            Ok(Some(host)) => host.to_string(),
            Ok(None) => "service".to_owned(),
            Err(refused) => {
                assert_eq!(refused.code(), codes::ROUTE_UNKNOWN);
                "none".to_owned()
            }
        }
    }

    /// Hosts that are none, whatever the configuration.
    const NONE: [&str; 14] = [
        "shop_1.customer.example",
        "10.1.2.3",
        "[2001:db8::1]",
        "links.example..",
        "links..example",
        "-links.example",
        "api.example.com.",
        "pages.example.",
        "x.pages.example",
        "x.pages.example.",
        "PAGES.example:444",
        "customers.pages.example",
        "edge",
        "links.example%2f",
    ];

    #[test]
    fn host_is_the_services_or_a_domain_or_refused() {
        let public_url = Some("https://API.example.com/");
        let pages = PagesHost::parse("pages.example", public_url).unwrap();
        let own = ["https://API.example.com/", "pages.example", "https://fra.example.com:8443"];
        let domains = DomainHosts::new("customers.pages.example", own).unwrap();
        let known =
            KnownHosts { pages: Some(&pages), domains: Some(&domains), public_url, is_any_allowed: false };
        for host in NONE.into_iter().chain(["x.api.example.com", "printer.local"]) {
            assert_eq!(read(&known, host), "none", "{host}");
        }
        for host in [
            "api.example.com",
            "Api.Example.Com:8443",
            "pages.example",
            "gateway.workers.dev",
            "localhost:8787",
            "127.0.0.1",
            "[::1]:1",
        ] {
            assert_eq!(read(&known, host), "service", "{host}");
        }
        for (host, customer) in [("links.example", "links.example"), ("Links.Example.:8443", "links.example")]
        {
            assert_eq!(read(&known, host), customer);
        }
    }

    #[test]
    fn service_without_domains_has_every_name_that_leads_to_it() {
        let pages = PagesHost::parse("pages.example", None).unwrap();
        let known =
            KnownHosts { pages: Some(&pages), domains: None, public_url: None, is_any_allowed: false };
        for host in NONE {
            assert_eq!(read(&known, host), "none", "{host}");
        }
        for host in ["api.example.com", "links.example", "gateway.workers.dev", "pages.example", "localhost"]
        {
            assert_eq!(read(&known, host), "service", "{host}");
        }
        let development = KnownHosts { is_any_allowed: true, ..known };
        for (host, expected) in
            [("10.1.2.3:8787", "service"), ("edge", "service"), ("x.pages.example", "none")]
        {
            assert_eq!(read(&development, host), expected, "{host}");
        }
    }

    #[test]
    fn api_below_the_host_of_pages_is_the_services() {
        let public_url = Some("https://api.pages.example");
        let pages = PagesHost::parse("pages.example", public_url).unwrap();
        let known = KnownHosts { pages: Some(&pages), domains: None, public_url, is_any_allowed: false };
        assert_eq!(read(&known, "api.pages.example"), "service");
        assert_eq!(read(&known, "x.api.pages.example"), "none");
    }
}
