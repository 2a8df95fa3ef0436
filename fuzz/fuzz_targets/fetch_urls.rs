#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use biolink::fetch_url::{FetchPolicy, FetchUrl};
use biolink::page::WebUrl;
use libfuzzer_sys::fuzz_target;
use url::{Host, Url};

fuzz_target!(|text: &str| {
    check_production(text);
    check_development(text);
    check_link(text);
});

/// Oracle: the URL standard and the addresses of the standard library. A URL that the gateway may call
/// is `https` on 443 or 8443, without credentials, and its host is the name that we saw: no address in
/// any spelling, no name of this machine or network, and not the gateway. Its normal form is accepted
/// again and stays.
fn check_production(text: &str) {
    let policy = FetchPolicy::new(["https://api.example.com", "pages.example:8443"], false);
    let Ok(ours) = FetchUrl::parse(text, &policy) else { return };
    assert_eq!(FetchUrl::parse(ours.as_str(), &policy).as_ref(), Ok(&ours), "{text:?}");
    let Some(url) = standard(ours.as_str()) else { return };
    let (origin, rest) = (url.origin().ascii_serialization(), ours.as_str());
    assert!(rest.strip_prefix(&origin).is_some_and(|path| path.starts_with('/')), "{text:?} leads to {url}");
    let Some(Host::Domain(name)) = url.host() else { panic!("{text:?} leads to an address: {url}") };
    assert!(name.parse::<IpAddr>().is_err() && name.contains('.') && !name.ends_with('.'), "{url}");
    let private = ["localhost", "local", "internal", "localdomain", "test", "invalid", "home.arpa", "onion"];
    assert!(!private.iter().any(|private| is_below(name, private)), "{url}");
    assert!(!["api.example.com", "pages.example"].contains(&name), "{url}");
    assert_eq!(url.scheme(), "https", "{url}");
    assert!(matches!(url.port_or_known_default(), Some(443 | 8443)), "{url}");
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{url}");
}

/// In development, the only addresses are those of the loopback interface.
fn check_development(text: &str) {
    let Ok(ours) = FetchUrl::parse(text, &FetchPolicy::new(["http://localhost:8787"], true)) else { return };
    let Some(url) = standard(ours.as_str()) else { return };
    let is_own = |host: &str| host == "localhost" && url.port() == Some(8787);
    match url.host() {
        Some(Host::Domain(name)) => assert!(!is_own(name), "{url}"),
        Some(Host::Ipv4(address)) => assert!(address.is_loopback(), "{url}"),
        Some(Host::Ipv6(address)) => assert!(address.is_loopback(), "{url}"),
        None => panic!("{text:?} has no host"),
    }
}

/// An address that a page may link to keeps the same rules, with any port and both schemes.
fn check_link(text: &str) {
    let Ok(ours) = WebUrl::parse(text) else { return };
    assert!(ours.is_allowed(), "{text:?}");
    let Some(url) = standard(ours.as_str()) else { return };
    assert_eq!(url.host_str(), Some(ours.host()), "{text:?}");
    assert_eq!(url.origin().ascii_serialization(), ours.origin(), "{text:?}");
    assert!(url.host_str().is_some_and(|name| name.parse::<Ipv4Addr>().is_err()), "{url}");
    assert!(matches!(url.scheme(), "http" | "https") && url.username().is_empty(), "{url}");
}

/// Parses with the URL standard, which changes nothing in our normal form. It refuses more names in
/// punycode, by tables that we have not: such a URL is accepted, and each request for it fails.
fn standard(text: &str) -> Option<Url> {
    let has_punycode = text.split(['/', '.']).any(|label| label.starts_with("xn--"));
    match Url::parse(text) {
        Ok(url) => {
            assert_eq!(url.as_str(), text);
            Some(url)
        }
        Err(_) if has_punycode => None,
        Err(error) => panic!("{text} is accepted, and the URL standard says {error}"),
    }
}

fn is_below(name: &str, parent: &str) -> bool {
    name == parent || name.ends_with(&format!(".{parent}"))
}
