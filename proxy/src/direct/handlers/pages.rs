//! The description for machines and the reference for people.

use std::borrow::Cow;

use once_cell::sync::Lazy;
use shared::{docs, openapi, transport::Address, written::Written};

use super::Asked;

static DESCRIPTION: Lazy<String> = Lazy::new(openapi::text);

/// `GET /openapi.json`
pub(super) fn openapi(asked: &Asked<'_>) -> Written {
    openapi::answer(&DESCRIPTION, &public_url(asked))
}

/// `GET /docs`
pub(super) fn docs(asked: &Asked<'_>) -> Written {
    docs::reference(&public_url(asked))
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
