use FetchUrlError as E;
use proptest::prelude::*;

use super::*;

fn production() -> FetchPolicy {
    FetchPolicy::new(["https://API.example.com/", "pages.example:8443"], false)
        .with_host("https://gateway.workers.example")
}

fn kind(error: &FetchUrlError) -> &'static str {
    match error {
        E::Syntax(_) => "syntax",
        E::NotHttps => "http",
        E::Port { .. } => "port",
        E::IpAddress { .. } => "address",
        E::PrivateName { .. } => "private",
        E::InternalName { .. } => "internal",
        E::OwnHost { .. } => "own",
        E::TrailingDot { .. } => "dot",
    }
}

/// The addresses that must not be called, each with its kind of error. Those of `address` have one
/// of every range that Svix blocks.
const REFUSED: &[(&str, &str)] = &[
    // IPv4: this network, private, shared, loopback, link-local, private.
    ("address", "https://0.0.0.0/"),
    ("address", "https://0.255.255.255/"),
    ("address", "https://10.0.0.1/"),
    ("address", "https://10.255.255.255/"),
    ("address", "https://100.64.0.1/"),
    ("address", "https://100.127.255.254/"),
    ("address", "https://127.0.0.1/"),
    ("address", "https://127.255.255.254/"),
    ("address", "https://169.254.0.1/"),
    ("address", "https://169.254.169.254/latest/meta-data/"),
    ("address", "https://169.254.170.2/"),
    ("address", "https://172.16.0.1/"),
    ("address", "https://172.31.255.255/"),
    // IETF protocol assignments, documentation, 6to4 relays, private, benchmarking.
    ("address", "https://192.0.0.1/"),
    ("address", "https://192.0.0.192/"),
    ("address", "https://192.0.2.1/"),
    ("address", "https://192.88.99.1/"),
    ("address", "https://192.168.0.1/"),
    ("address", "https://192.168.255.255/"),
    ("address", "https://198.18.0.1/"),
    ("address", "https://198.19.255.255/"),
    ("address", "https://198.51.100.1/"),
    ("address", "https://203.0.113.1/"),
    // Multicast, class E, broadcast; and public addresses, which are no names either.
    ("address", "https://224.0.0.1/"),
    ("address", "https://239.255.255.255/"),
    ("address", "https://240.0.0.1/"),
    ("address", "https://255.255.255.255/"),
    ("address", "https://100.100.100.200/"),
    ("address", "https://8.8.8.8/"),
    ("address", "https://1.1.1.1:443/"),
    // Other spellings of 127.0.0.1 and 169.254.169.254.
    ("address", "https://2130706433/"),
    ("address", "https://2852039166/"),
    ("address", "https://0x7f000001/"),
    ("address", "https://0X7F000001/"),
    ("address", "https://0x7f.0.0.1/"),
    ("address", "https://0x7f.1/"),
    ("address", "https://017700000001/"),
    ("address", "https://0177.0.0.1/"),
    ("address", "https://0177.0.0.0x1/"),
    ("address", "https://127.1/"),
    ("address", "https://127.0.1/"),
    ("address", "https://127.0.0.1./"),
    ("address", "https://0xa9fea9fe/"),
    ("address", "https://0xa9.0xfe.0xa9.0xfe/"),
    ("address", "https://0251.0376.0251.0376/"),
    ("address", "https://0/"),
    ("address", "https://0x/"),
    ("address", "https://1.2.3.0x/"),
    ("address", "https://example.1/"),
    ("address", "https://1.2.3.4.5/"),
    ("address", "https://999.999.999.999/"),
    // IPv6: unspecified, loopback, mapped, compatible, NAT64, discard, Teredo, documentation, 6to4.
    ("address", "https://[::]/"),
    ("address", "https://[::1]/"),
    ("address", "https://[0:0:0:0:0:0:0:1]/"),
    ("address", "https://[::ffff:127.0.0.1]/"),
    ("address", "https://[::ffff:7f00:1]/"),
    ("address", "https://[::ffff:0:10.0.0.1]/"),
    ("address", "https://[::127.0.0.1]/"),
    ("address", "https://[64:ff9b::7f00:1]/"),
    ("address", "https://[64:ff9b:1::1]/"),
    ("address", "https://[100::1]/"),
    ("address", "https://[2001::1]/"),
    ("address", "https://[2001:2::1]/"),
    ("address", "https://[2001:10::1]/"),
    ("address", "https://[2001:db8::1]/"),
    ("address", "https://[2002:7f00:1::]/"),
    // Documentation, segment routing, unique local, link-local, site-local, multicast, metadata.
    ("address", "https://[3fff::1]/"),
    ("address", "https://[5f00::1]/"),
    ("address", "https://[fc00::1]/"),
    ("address", "https://[fd00::1]:8443/"),
    ("address", "https://[fd00:ec2::254]/"),
    ("address", "https://[fe80::1]/"),
    ("address", "https://[fe80::1%25eth0]/"),
    ("address", "https://[fec0::1]/"),
    ("address", "https://[ff02::1]/"),
    ("address", "https://[2606:4700::1111]/"),
    // Private and local names.
    ("private", "https://localhost/"),
    ("private", "https://LOCALHOST/"),
    ("private", "https://localhost./"),
    ("private", "https://localhost:8443/"),
    ("private", "https://a.localhost/"),
    ("private", "https://printer.local/"),
    ("private", "https://printer.local./"),
    ("private", "https://vault.internal/"),
    ("private", "https://metadata.google.internal/computeMetadata/v1/"),
    ("private", "https://Metadata.Google.Internal./"),
    ("private", "https://metadata.azure.internal/"),
    ("private", "https://instance-data.ec2.internal/"),
    ("private", "https://router.home.arpa/"),
    ("private", "https://home.arpa/"),
    ("private", "https://nas.lan/"),
    ("private", "https://wiki.corp/"),
    ("private", "https://wiki.intranet/"),
    ("private", "https://hidden.onion/"),
    ("private", "https://nothing.invalid/"),
    ("private", "https://machine.test/"),
    ("private", "https://localhost.localdomain/"),
    ("private", "https://kubernetes.default.svc/"),
    ("private", "https://kubernetes.default.svc.cluster.local/"),
    ("private", "https://metadata/"),
    ("private", "https://instance-data/"),
    ("private", "https://kubernetes/"),
    ("private", "https://db./"),
    // Metadata services with a public name, and names that contain an address.
    ("internal", "https://metadata.goog/"),
    ("internal", "https://metadata.goog./"),
    ("internal", "https://metadata.packet.net/"),
    ("internal", "https://metadata.tencentyun.com/"),
    ("internal", "https://127.0.0.1.nip.io/"),
    ("internal", "https://10-0-0-1.sslip.io/"),
    ("internal", "https://localtest.me/"),
    ("internal", "https://a.lvh.me./"),
    // The gateway itself.
    ("own", "https://api.example.com/pages"),
    ("own", "https://API.EXAMPLE.com/"),
    ("own", "https://api.example.com./"),
    ("own", "https://api.example.com:8443/"),
    ("own", "https://pages.example/ada"),
    ("own", "https://pages.example.:8443/ada"),
    ("own", "https://gateway.workers.example/"),
    ("dot", "https://shop.example./"),
    // Scheme and port.
    ("http", "http://shop.example/"),
    ("http", "http://127.0.0.1/"),
    ("port", "https://shop.example:80/"),
    ("port", "https://shop.example:22/"),
    ("port", "https://shop.example:6379/"),
    ("port", "https://shop.example:8080/"),
    ("port", "https://shop.example:65535/"),
    // What two readers could understand differently.
    ("syntax", ""),
    ("syntax", "shop.example"),
    ("syntax", "//shop.example/"),
    ("syntax", "https:shop.example"),
    ("syntax", "https:///shop.example"),
    ("syntax", "https://"),
    ("syntax", "https://.../"),
    ("syntax", "https://user@shop.example/"),
    ("syntax", "https://user:password@shop.example/"),
    ("syntax", "https://shop.example@127.0.0.1/"),
    ("syntax", "https://shop.example\\@127.0.0.1/"),
    ("syntax", "https://shop.example:/"),
    ("syntax", "https://shop.example:0/"),
    ("syntax", "https://shop.example:99999/"),
    ("syntax", "https://shop.example:443:443/"),
    ("syntax", "https://shop..example/"),
    ("syntax", "https://.shop.example/"),
    ("syntax", "https://-shop.example/"),
    ("syntax", "https://shop.example../"),
    ("syntax", "https://%6c%6f%63alhost.example/"),
    ("address", "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/"),
    ("address", "https://127\u{3002}0\u{3002}0\u{3002}1/"),
    ("private", "https://\u{24c1}ocalhost/"),
    ("private", "https://metadata.google.\u{ff49}nternal/"),
    ("syntax", "https://shop.example\u{ff0f}.evil.example/"),
    ("syntax", "https://user\u{ff20}shop.example/"),
    ("syntax", "https://shop.example/a b"),
    ("syntax", "https://shop.example/\r\nhost: 127.0.0.1"),
    ("syntax", "https://shop\t.example/"),
    ("syntax", "file:///etc/passwd"),
    ("syntax", "gopher://127.0.0.1:6379/_"),
    ("syntax", "ftp://shop.example/"),
    ("syntax", "data:text/plain,a"),
];

#[test]
fn url_that_must_not_be_called_is_refused_by_its_kind() {
    assert!(REFUSED.len() >= 80);
    for (expected, text) in REFUSED {
        let error = FetchUrl::parse(text, &production()).expect_err(text);
        assert_eq!(kind(&error), *expected, "{text}: {error}");
        assert!(!error.to_string().is_empty());
    }
    let long = format!("https://shop.example/{}", "a".repeat(FetchUrl::MAX_LEN));
    assert_eq!(FetchUrl::parse(&long, &production()), Err(E::Syntax(UrlError::TooLong)));
    let grows = format!("https://shop.example/{}", "\u{fc}".repeat(700));
    assert_eq!(FetchUrl::parse(&grows, &production()), Err(E::Syntax(UrlError::TooLong)));
}

#[test]
fn public_url_is_brought_into_its_normal_form() {
    for (text, normal) in [
        ("https://shop.example", "https://shop.example/"),
        ("HTTPS://Shop.Example:443/Feed.xml?a=b#top", "https://shop.example/Feed.xml?a=b"),
        ("https://shop.example:8443/\u{fc}", "https://shop.example:8443/%C3%BC"),
        ("https://xn--bcher-kva.example/?q", "https://xn--bcher-kva.example/?q"),
        ("https://my_shop.example/@user", "https://my_shop.example/@user"),
        ("https://127.0.0.1.example.com/", "https://127.0.0.1.example.com/"),
        ("https://notlocalhost.com/", "https://notlocalhost.com/"),
        ("https://myapi.example.com/", "https://myapi.example.com/"),
        ("https://0x7f.example/", "https://0x7f.example/"),
    ] {
        assert_eq!(FetchUrl::parse(text, &production()).unwrap().as_str(), normal);
    }
}

#[test]
fn development_allows_http_and_loopback_only() {
    let development = FetchPolicy::new(["http://127.0.0.1:8787"], true);
    for text in [
        "http://127.0.0.1:9000/feed",
        "http://localhost:9000/",
        "https://localhost/",
        "http://shop.localhost:81/",
        "http://[::1]:9000/",
        "http://shop.example:8080/",
    ] {
        assert_eq!(FetchUrl::parse(text, &development).unwrap().as_str(), text);
    }
    for (expected, text) in [
        ("own", "http://127.0.0.1:8787/"),
        ("address", "http://10.0.0.1/"),
        ("address", "http://169.254.169.254/"),
        ("address", "http://[fe80::1]/"),
        ("address", "http://2130706433/"),
        ("address", "https://[::1]a.localhost/"),
        ("address", "https://[::1]./"),
        ("address", "https://127.0.0.1./"),
        ("private", "https://shop.localhost./"),
        ("private", "http://printer.local/"),
        ("internal", "http://metadata.goog/"),
        ("syntax", "http://user@127.0.0.1/"),
    ] {
        assert_eq!(kind(&FetchUrl::parse(text, &development).expect_err(text)), expected, "{text}");
    }
}

/// Hosts come from configuration and requests: with a port or a dot at the end, in any spelling.
#[test]
fn own_host_is_refused_however_it_is_named() {
    for own in ["api.example.com", "API.example.com.", "api.example.com:8443", "https://api.example.com./v1"]
    {
        let policy = FetchPolicy::default().with_host(own);
        for text in ["https://api.example.com/", "https://api.example.com./", "https://api.example.com:8443/"]
        {
            assert_eq!(kind(&FetchUrl::parse(text, &policy).expect_err(text)), "own", "{own} {text}");
        }
        assert!(FetchUrl::parse("https://www.api.example.com/", &policy).is_ok(), "{own}");
    }
}

#[test]
fn port_counts_in_development_only_and_the_usual_one_is_none() {
    for (own, text, is_own) in [
        ("http://localhost:8787", "http://localhost:8787/", true),
        ("http://localhost:8787", "http://localhost.:8787/", true),
        ("http://localhost:8787", "http://localhost:9000/", false),
        ("http://localhost:8787", "http://localhost/", false),
        ("http://localhost:80", "http://localhost/", true),
        ("https://localhost:443", "https://localhost/", true),
        ("localhost:a", "http://localhost/", false),
    ] {
        let refused = FetchUrl::parse(text, &FetchPolicy::new([own], true));
        assert_eq!(matches!(refused, Err(E::OwnHost { .. })), is_own, "{own} {text} {refused:?}");
    }
}

#[test]
fn refusal_says_what_is_wrong_and_what_is_expected() {
    let message = |text: &str| FetchUrl::parse(text, &production()).unwrap_err().to_string();
    assert_eq!(message("https://shop.example:22/"), "must not have the port 22; expected 443 or 8443");
    assert_eq!(message("https://10.0.0.1/"), "must have a host name, not the IP address `10.0.0.1`");
    assert_eq!(message("https://nas.lan/"), "must have a public host name; `nas.lan` is private");
    assert_eq!(message("https://u@shop.example/"), "must have no user name or password");
}

proptest! {
    #[test]
    fn parsing_twice_changes_nothing(text in "https://[a-z0-9.:\\[\\]-]{1,24}[/?#]?\\PC{0,20}") {
        if let Ok(url) = FetchUrl::parse(&text, &production()) {
            prop_assert_eq!(FetchUrl::parse(url.as_str(), &production()), Ok(url.clone()));
        }
    }

    #[test]
    fn address_is_refused_in_each_spelling(address: u32) {
        let [a, b, c, d] = address.to_be_bytes();
        let low = u32::from_be_bytes([0, b, c, d]);
        for host in [
            format!("{a}.{b}.{c}.{d}"),
            format!("{address}"),
            format!("{address:#x}"),
            format!("0{address:o}"),
            format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a}.{low}"),
            format!("{a}.{b}.{:#x}", u16::from_be_bytes([c, d])),
            format!("[::ffff:{a}.{b}.{c}.{d}]"),
            format!("{a}.{b}.{c}.{d}."),
        ] {
            let refused = FetchUrl::parse(&format!("https://{host}/"), &production());
            prop_assert!(matches!(refused, Err(E::IpAddress { .. })), "{host}");
        }
    }
}
