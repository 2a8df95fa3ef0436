//! OAuth 2.1 for agents that run on other people's servers and take no static header: discovery (RFC 9728, RFC 8414),
//! client ID metadata documents, dynamic registration (RFC 7591), the authorization code with PKCE (RFC 7636), tokens and
//! their renewal, as the authorization specification of the Model Context Protocol asks.
//!
//! A request goes through these values in turn, each of which is encrypted, so that nothing is stored but the named secret:
//!
//! 1. [`Client`]: who asks. Its id is its registration, or the address of its metadata document.
//! 2. [`Consent`]: what it asks for, on its way through the view in which the holder of a key decides.
//! 3. [`Grant`]: the code, and each refresh token after it. It names the secret and the hash of its present text, which the
//!    key's meter compares and replaces.
//!
//! Why: docs/decisions/portal.md, "A connected agent is a named secret".

mod client;
mod consent;
mod error;
mod form;
mod grant;
mod metadata;
mod redirect_uri;
mod scope;
mod sealed;

pub use client::{Client, ClientId, MAX_CLIENT_METADATA};
pub use consent::{Consent, Decision};
pub use error::OAuthError;
pub use form::Form;
pub use grant::{Grant, Presented};
pub use metadata::{challenge, resource_metadata, server_metadata};

use shared::secret::{MacKeys, sha256};
use shared::time::UnixMillis;

/// The largest body of a request, in bytes.
pub const MAX_BODY: usize = 16 * 1024;
/// The media type of a form.
pub const FORM: &str = "application/x-www-form-urlencoded";
/// Time for which a token is good, in milliseconds.
const TOKEN_MS: u64 = 3_600_000;
/// Time for which a code is good, in milliseconds: RFC 6749, section 4.1.2, recommends ten minutes at most.
const CODE_MS: u64 = 60_000;
/// Time in which the holder decides, in milliseconds.
const CONSENT_MS: u64 = 15 * 60_000;

/// What the gateway knows when it responds to a request.
#[derive(Clone, Copy)]
pub struct Issuer<'a> {
    /// The address that was called, such as `https://api.example.com`: the issuer, and the base of all endpoints.
    pub base: &'a str,
    /// The secrets that encrypt what clients carry.
    pub keys: &'a MacKeys,
    /// The moment of the request.
    pub now: UnixMillis,
}

impl Issuer<'_> {
    /// Checks a resource indicator (RFC 8707): the endpoint of MCP, or the gateway as a whole.
    fn is_own(&self, resource: &str) -> bool {
        let path = resource.strip_prefix(self.base).map(|rest| rest.split('?').next().unwrap_or_default());
        path.is_some_and(|path| matches!(path, "" | "/" | "/mcp" | "/mcp/"))
    }
}

/// Returns the SHA-256 of a text in base64url, as PKCE has it.
fn digest(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(sha256(&[text.as_bytes()]))
}

#[cfg(test)]
mod tests;
