//! The description for machines and the reference for people.

use std::borrow::Cow;

use once_cell::sync::Lazy;
use shared::{docs, openapi, problem::Code, transport::Address};

use super::Asked;
use crate::respond::Written;

static DESCRIPTION: Lazy<String> = Lazy::new(|| openapi::document(openapi::SERVER).to_string());

/// `GET /openapi.json`
pub(super) fn openapi(asked: &Asked<'_>) -> Written {
    cacheable("application/json", DESCRIPTION.replace(openapi::SERVER, &public_url(asked)))
}

/// `GET /docs`
pub(super) fn docs(asked: &Asked<'_>) -> Written {
    page(docs::reference(&public_url(asked)))
}

/// `GET /problems/{code}`
pub(super) fn problem(code: Code) -> Written {
    page(docs::problem_page(code))
}

fn page(html: String) -> Written {
    cacheable("text/html; charset=utf-8", html).with_headers([
        ("content-security-policy", docs::content_security_policy()),
        ("referrer-policy", "no-referrer".to_owned()),
    ])
}

fn cacheable(media_type: &str, body: String) -> Written {
    let headers =
        vec![("content-type", media_type.to_owned()), ("cache-control", "public, max-age=300".to_owned())];
    Written { status: 200, headers, body: body.into() }
}

/// The address that clients are told to call: the configured one, else the one that was called. It is plain: what would
/// have to be escaped somewhere is left out, and paths are then relative.
fn public_url<'a>(asked: &'a Asked<'_>) -> Cow<'a, str> {
    if let Some(url) = &asked.config.public_url {
        return Cow::Borrowed(url);
    }
    let scheme = if asked.way.secure { "https" } else { "http" };
    let called = format!("{scheme}://{}", asked.way.host);
    let plain = Address::parse(&called).is_some_and(|address| address.base == called && address.is_plain());
    Cow::Owned(if plain { called } else { String::new() })
}
