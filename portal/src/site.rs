//! The files of a host beside its API, which crawlers, browsers and security researchers look for.

use std::fmt::Write as _;

use biolink::page::robots_txt;
use shared::problem::{Problem, codes};
use shared::response::Response;
use shared::time::UnixMillis;

use crate::docs::MARK;
use crate::route::SiteRoute;

/// Days for which `security.txt` is valid: RFC 9116, section 2.5.5, recommends less than a year.
const VALID_DAYS: u64 = 180;
const DAY_MS: u64 = 86_400_000;

/// Returns the response to a request for one of these. `base` is the address that was called,
/// `contact` who takes reports of vulnerabilities.
///
/// # Errors
/// Returns `route-unknown` for `security.txt` if there is no contact.
pub fn respond(
    route: SiteRoute,
    base: &str,
    contact: Option<&SecurityContact>,
    now: UnixMillis,
) -> Result<Response, Problem> {
    match route {
        SiteRoute::Robots => Ok(robots_txt()),
        SiteRoute::Favicon => Ok(favicon()),
        SiteRoute::SecurityTxt => match contact {
            Some(contact) => Ok(security_txt(contact, base, now)),
            None => Err(Problem::new(codes::ROUTE_UNKNOWN, "the operator has set no SECURITY_CONTACT")),
        },
    }
}

/// Returns the icon.
pub fn favicon() -> Response {
    Response::public("image/svg+xml", MARK.to_owned())
        .with_headers([("content-security-policy", "default-src 'none'")])
}

/// Who takes reports of vulnerabilities: a URI as RFC 9116, section 2.5.3, demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityContact(String);

impl SecurityContact {
    /// Reads `https://…`, `mailto:…` or `tel:…`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let known = ["https://", "mailto:", "tel:"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let is_uri = known.is_some_and(|rest| !rest.is_empty()) && text.bytes().all(|b| b.is_ascii_graphic());
        is_uri.then(|| Self(text.to_owned()))
    }
}

/// Returns `security.txt`. It is the same for a whole day, so that caches can keep it.
fn security_txt(contact: &SecurityContact, base: &str, now: UnixMillis) -> Response {
    let expires = now.day().start().plus(VALID_DAYS * DAY_MS).to_rfc3339();
    let mut text = format!("Contact: {}\nExpires: {expires}\nPreferred-Languages: en\n", contact.0);
    // A client chooses the host that it calls. `Canonical` must be an https address.
    if base.starts_with("https://") {
        let _written = writeln!(text, "Canonical: {base}/.well-known/security.txt");
    }
    Response::public("text/plain; charset=utf-8", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_345_678);

    fn security(contact: &str, base: &str) -> Result<Response, Problem> {
        respond(SiteRoute::SecurityTxt, base, SecurityContact::parse(contact).as_ref(), NOW)
    }

    #[test]
    fn security_txt_has_the_fields_that_are_required() {
        let response = security("mailto:security@example.com", "https://api.example.com").unwrap();
        assert_eq!(
            response.body,
            "Contact: mailto:security@example.com\nExpires: 2026-05-20T00:00:00Z\nPreferred-Languages: en\n\
             Canonical: https://api.example.com/.well-known/security.txt\n"
        );
        assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
        assert!(!security("tel:+49-1", "http://127.0.0.1:1").unwrap().body.contains("Canonical"));
    }

    #[test]
    fn security_txt_without_a_contact_is_404() {
        for contact in
            ["", "security@example.com", "http://example.com", "mailto:", "mailto:a b@example.com", "tel:1\n"]
        {
            let refused = security(contact, "").err().unwrap();
            assert_eq!(refused.status(), 404, "{contact:?}");
            assert!(refused.detail().contains("SECURITY_CONTACT"), "{contact:?}");
        }
    }
}
