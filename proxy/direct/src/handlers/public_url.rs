//! The address of the gateway in its documents.

use std::borrow::Cow;

use shared::url::Address;

use super::Context;

/// Returns the URL that clients should call: the configured one, else the one that was called.
/// Returns an empty string, which makes paths relative, if the URL would have to be escaped.
pub(super) fn of<'a>(context: &'a Context<'_>) -> Cow<'a, str> {
    if let Some(url) = &context.config.public_url {
        return Cow::Borrowed(url);
    }
    let scheme = if context.scheme.secure { "https" } else { "http" };
    let called = format!("{scheme}://{}", context.scheme.host);
    let plain = Address::parse(&called).is_some_and(|address| address.base == called && address.is_plain());
    Cow::Owned(if plain { called } else { String::new() })
}
