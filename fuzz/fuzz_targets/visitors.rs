#![no_main]

use biolink::visitor::{Agent, Device, Referral, Utm, language};
use libfuzzer_sys::fuzz_target;
use url::{Url, form_urlencoded};

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(4, '\n');
    let agent = check_agent(lines.next().unwrap_or_default());
    let utm = check_campaign(lines.next().unwrap_or_default());
    check_referral(lines.next().unwrap_or_default(), &agent, &utm);
    check_language(lines.next().unwrap_or_default());
});

/// Oracle: the same agent in capitals, between spaces, and after its 1,024th byte. It names the same
/// device and programs. A bot has neither. (Time is bounded by `-timeout`.)
fn check_agent(text: &str) -> Agent {
    let agent = Agent::read(Some(text));
    assert_eq!(Agent::read(Some(&text.to_ascii_uppercase())), agent, "{text:?}");
    assert_eq!(Agent::read(Some(&format!(" {text}\t"))), agent, "{text:?}");
    if text.trim().len() >= 1_024 {
        assert_eq!(Agent::read(Some(&format!("{text} bot"))), agent, "{text:?}");
    }
    if agent.bot.is_some() {
        assert_eq!((agent.device, agent.browser, agent.os, agent.app), (Device::Other, None, None, None));
    }
    agent
}

/// Oracle: `application/x-www-form-urlencoded` of the URL standard. A campaign is its first value that is
/// not empty, without control characters and spaces around it.
fn check_campaign(query: &str) -> Utm {
    let utm = Utm::read(Some(query));
    let clean = |value: &str| {
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        value.trim().chars().take(100).collect::<String>()
    };
    let query = query.strip_prefix('?').unwrap_or(query);
    let expected = |name: &str| {
        // Names are compared as they are written.
        let pairs = query.split('&').filter(|pair| pair.split('=').next() == Some(name));
        let mut values = pairs.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()));
        values.find_map(|(_, value)| Some(clean(&value)).filter(|value| !value.is_empty()))
    };
    for (found, name) in [
        (&utm.source, "utm_source"),
        (&utm.medium, "utm_medium"),
        (&utm.campaign, "utm_campaign"),
        (&utm.term, "utm_term"),
        (&utm.content, "utm_content"),
    ] {
        assert_eq!(*found, expected(name), "{name} of {query:?}");
    }
    utm
}

/// Oracle: the URL standard. The referrer is the host of the page before, without `www.`, and the page's
/// own host does not count.
fn check_referral(referer: &str, agent: &Agent, utm: &Utm) {
    let referral = Referral::read(Some(referer), Some("p.example"), agent, utm, false);
    let Some(found) = &referral.referrer else { return };
    assert_ne!(found, "p.example");
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'_');
    assert!((1..=253).contains(&found.len()) && found.bytes().all(plain), "{found:?}");
    let is_plain = referer.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let Some(url) =
        Url::parse(referer).ok().filter(|url| is_plain && matches!(url.scheme(), "http" | "https"))
    else {
        return;
    };
    if let Some(url::Host::Domain(host)) = url.host() {
        let host = host.trim_end_matches('.');
        assert_eq!(found, host.strip_prefix("www.").unwrap_or(host), "{referer:?}");
    }
}

/// Oracle: the header itself. A language is two or three letters that the header has.
fn check_language(header: &str) {
    let Some(found) = language(Some(header)) else { return };
    assert!((2..=3).contains(&found.len()) && found.bytes().all(|b| b.is_ascii_lowercase()), "{found:?}");
    assert!(header.to_ascii_lowercase().contains(&found), "{header:?} is {found:?}");
}
