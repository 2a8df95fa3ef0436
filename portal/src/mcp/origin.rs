//! The pages that may send messages to a host that is not public.

use biolink::fetch_url::{FetchPolicy, FetchUrl};
use shared::url::Address;

use super::rpc_error::RpcError;

/// Checks `Origin`, the page that sends a message. A host of one machine or one network takes its own pages and those
/// of the machine itself, so that a page of the Internet does not reach through a browser where it could not reach
/// otherwise (DNS rebinding). A public host takes any: each message needs a key, which no browser sends by itself.
///
/// Why: docs/decisions/portal.md, "A private host refuses a foreign `Origin` at `/mcp`".
///
/// # Errors
/// Returns the refusal of a foreign page, 403.
pub fn check_origin(address: &Address<'_>, origin: Option<&str>) -> Result<(), RpcError> {
    let Some(origin) = origin.filter(|_| is_private(address.host())) else { return Ok(()) };
    let is_own = |page: Address<'_>| page.host() == address.host() || page.is_loopback();
    if Address::parse(origin).is_some_and(is_own) {
        return Ok(());
    }
    Err(RpcError::foreign_origin(origin, address.host()))
}

/// Returns true for an address, and for a name that means something else in each network: what no URL of a customer
/// may lead to.
fn is_private(host: &str) -> bool {
    // What the gateway itself must not fetch is what is not public.
    FetchUrl::parse(&format!("https://{host}/"), &FetchPolicy::default()).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(url: &str, origin: &str) -> bool {
        check_origin(&Address::parse(url).unwrap(), Some(origin)).is_ok()
    }

    #[test]
    fn private_host_takes_its_own_pages_only() {
        let hosts =
            ["localhost:8787", "127.0.0.1:8787", "[::1]:8787", "192.168.0.4", "gateway", "gateway.local"];
        for host in hosts {
            let url = format!("http://{host}/mcp");
            for foreign in
                ["https://evil.example", "http://10.0.0.9", "null", "", "http://localhost.evil.example"]
            {
                assert!(!takes(&url, foreign), "{host} {foreign}");
            }
            for own in [&*format!("http://{host}"), "http://localhost:6274", "http://127.0.0.1:3000"] {
                assert!(takes(&url, own), "{host} {own}");
            }
            assert!(check_origin(&Address::parse(&url).unwrap(), None).is_ok(), "a program sends none");
        }
    }

    #[test]
    fn public_host_takes_any_page() {
        assert!(takes("https://api.example.com/mcp", "https://evil.example"));
        assert!(takes("https://api.example.com/mcp", "null"));
    }

    #[test]
    fn refusal_is_403_without_an_id() {
        let address = Address::parse("http://localhost/mcp").unwrap();
        let error = check_origin(&address, Some("https://evil.example")).unwrap_err();
        assert_eq!(error.parts(), (403, -32_000, &serde_json::Value::Null));
    }
}
