//! The context of a request, which every handler receives.

use shared::meter::KeptSession;
use shared::problem::Problem;
use shared::request::Head;
use shared::url::Address;
use worker::Context;

use crate::bindings::Bindings;
#[cfg(feature = "pages")]
use crate::bindings::BiolinkBindings;
use crate::runtime::client_request::ClientRequest;

/// A parsed request with the bindings of the worker.
pub(crate) struct RequestContext<'a> {
    pub(crate) request: &'a ClientRequest,
    pub(crate) address: Address<'a>,
    pub(crate) head: Head<'a>,
    /// The session of the console that signs the request, which has no other credential.
    pub(crate) session: Option<&'a KeptSession>,
    pub(crate) bindings: &'a Bindings,
    /// The runtime's execution context, which keeps background work alive.
    pub(crate) execution: &'a Context,
}

impl RequestContext<'_> {
    /// Returns the bindings of bio-link pages.
    ///
    /// # Errors
    /// `not-configured`, which [`dispatch`](crate::dispatch::dispatch) returns before any handler of
    /// theirs runs.
    #[cfg(feature = "pages")]
    pub(crate) fn biolink(&self) -> Result<&BiolinkBindings, Problem> {
        self.bindings.biolink()
    }

    /// Returns the base URL for clients: the configured one, or the one of this request. Returns an
    /// empty string, so that paths are relative, if the latter contains characters that need
    /// escaping.
    pub(crate) fn public_url(&self) -> &str {
        self.bindings.public_url.as_deref().unwrap_or_else(|| self.called_url())
    }

    /// Returns the base URL of this request, or an empty string as [`public_url`](Self::public_url).
    pub(crate) fn called_url(&self) -> &str {
        if self.address.is_plain() { self.address.base } else { "" }
    }

    /// Returns the base URL of pages.
    #[cfg(feature = "pages")]
    pub(crate) fn pages_url(&self) -> String {
        match &self.bindings.pages_host {
            Some(host) => host.base(&self.address),
            None => self.public_url().to_owned(),
        }
    }
}
