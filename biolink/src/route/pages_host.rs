//! A separate host for pages.

use shared::{problem::Problem, url::Address};

use crate::codes;

/// The host that serves a route, where pages have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedBy {
    /// The host of the API.
    Api,
    /// The host of pages.
    Pages,
    /// Each host, for itself.
    Both,
}

/// The host under which pages are shown, and nothing else: lists of harmful sites name whole
/// domains, and a page that gets onto one must not take the API with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagesHost(String);

impl PagesHost {
    /// Reads a host name with an optional port; `None` for anything else. `public_url` is the
    /// address of the API, which must not have the same host.
    pub fn parse(text: &str, public_url: Option<&str>) -> Option<Self> {
        let host = text.to_ascii_lowercase();
        let (name, port) = host.split_once(':').unwrap_or((&host, "0"));
        let is_name = name.split('.').all(|label| {
            !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        });
        let public = public_url.and_then(Address::parse).map(|url| Self(host.clone()).is_of(&url));
        // The same host for both would refuse the API on its own address.
        (is_name && port.parse::<u16>().is_ok() && public != Some(true)).then_some(Self(host))
    }

    /// Returns the base URL of pages, with the scheme of the request.
    pub fn base(&self, address: &Address<'_>) -> String {
        let scheme = if address.is_secure() { "https" } else { "http" };
        format!("{scheme}://{}", self.0)
    }

    /// Returns the URL to redirect to if a request for a page came to another host.
    ///
    /// # Errors
    /// Returns `route-unknown` if a request for anything but pages came to this host.
    pub fn redirect(&self, address: &Address<'_>, route: ServedBy) -> Result<Option<String>, Problem> {
        match (self.is_of(address), route) {
            // Pages are what others wrote. On the host of the API they would share its origin.
            (false, ServedBy::Pages) => Ok(Some(self.base(address) + address.target)),
            (false, _) | (true, ServedBy::Pages | ServedBy::Both) => Ok(None),
            (true, ServedBy::Api) => {
                Err(Problem::new(codes::ROUTE_UNKNOWN, "this host has pages only, and not the API"))
            }
        }
    }

    /// Returns the name, without a port.
    pub(super) fn name(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(name, _)| name)
    }

    pub(super) fn is_of(&self, address: &Address<'_>) -> bool {
        address.base.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_of_its_own_is_read() {
        for text in ["pages.example", "Pages.Example:8443", "localhost:8787", "127.0.0.1:1"] {
            assert!(PagesHost::parse(text, Some("https://api.example.com")).is_some(), "{text}");
        }
        for text in
            ["", "https://pages.example", "pages.example/", "a b", "pages..example", "a:b", "a:", "[::1]"]
        {
            assert_eq!(PagesHost::parse(text, None), None, "{text}");
        }
        assert_eq!(PagesHost::parse("API.example.com", Some("https://api.example.com")), None);
    }
}
