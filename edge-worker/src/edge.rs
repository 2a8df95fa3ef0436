//! What every handler has in hand.

use shared::{request::Head, transport::Address};
use worker::Context;

use crate::{bindings::Bindings, incoming::Incoming};

/// One request with all that is known before its handler runs.
pub(crate) struct Edge<'a> {
    pub(crate) incoming: &'a Incoming,
    pub(crate) address: Address<'a>,
    pub(crate) head: Head<'a>,
    pub(crate) bindings: &'a Bindings,
    pub(crate) ctx: &'a Context,
}

impl Edge<'_> {
    /// The address that clients are told to call: the configured one, else the one that was called. It is plain:
    /// what would have to be escaped somewhere is left out, and paths are then relative.
    pub(crate) fn public_url(&self) -> &str {
        let called = self.address.is_plain().then_some(self.address.base);
        self.bindings.public_url.as_deref().or(called).unwrap_or("")
    }
}
