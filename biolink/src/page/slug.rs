//! The name of a page in its address.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use thiserror::Error as ThisError;

/// 3 to 40 lower case letters, digits, `.`, `_` and `-`, with a letter or digit at both ends; not
/// reserved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Slug(String);

/// A text that cannot be a slug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub enum SlugError {
    /// It has another form.
    #[error("must have 3 to 40 letters, digits, `.`, `_` or `-`, and begin and end with a letter or digit")]
    Malformed,
    /// It is, or may become, an address of the service.
    #[error("is reserved for the service itself; choose another")]
    Reserved,
}

impl Slug {
    /// Reads a slug as a client writes it. Capital letters become small ones.
    ///
    /// # Errors
    /// Returns an error if it has another form or is reserved.
    pub fn parse(text: &str) -> Result<Self, SlugError> {
        let text = text.to_ascii_lowercase();
        if !Self::is_well_formed(&text) {
            return Err(SlugError::Malformed);
        }
        if is_reserved(&text) { Err(SlugError::Reserved) } else { Ok(Self(text)) }
    }

    /// Returns a slug that was drawn: letters and digits, which are never reserved.
    pub(crate) const fn drawn(text: String) -> Self {
        Self(text)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if no page may take it any more. Those that have it keep it, and visitors find them there.
    pub(crate) fn is_withdrawn(&self) -> bool {
        // Without the signs, by which `sign-in` and `sign.in` would get past the list.
        let plain: String = self.0.chars().filter(char::is_ascii_alphanumeric).collect();
        WITHDRAWN.contains(&plain.as_str()) || FILES.iter().any(|ending| self.0.ends_with(ending))
    }

    fn is_well_formed(text: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        (3..=40).contains(&bytes.len())
            && bytes.first().copied().is_some_and(plain)
            && bytes.last().copied().is_some_and(plain)
            && bytes.iter().all(|&byte| plain(byte) || b"._-".contains(&byte))
    }
}

/// First segments of the service's own addresses, those of today and those that may come, and names
/// that would pass for the operator's. Sorted.
const RESERVED: &[&str] = &[
    ".well-known",
    "abuse",
    "account",
    "accounts",
    "admin",
    "administrator",
    "ads.txt",
    "analytics",
    "api",
    "app",
    "app-ads.txt",
    "apple-app-site-association",
    "apple-touch-icon.png",
    "assets",
    "auth",
    "billing",
    "biolink",
    "blog",
    "browserconfig.xml",
    "cdn",
    "cdn-cgi",
    "console",
    "contact",
    "dashboard",
    "docs",
    "docs.md",
    "domains",
    "events",
    "favicon.ico",
    "feed",
    "healthz",
    "help",
    "hooks",
    "hostmaster",
    "humans.txt",
    "images",
    "imprint",
    "index.html",
    "internal",
    "legal",
    "llms.txt",
    "login",
    "logout",
    "manifest.json",
    "mcp",
    "metrics",
    "oauth",
    "official",
    "openapi.json",
    "pages",
    "postmaster",
    "pricing",
    "privacy",
    "problems",
    "readyz",
    "register",
    "report",
    "reports",
    "robots.txt",
    "root",
    "security",
    "security.txt",
    "settings",
    "signin",
    "signup",
    "sitemap.xml",
    "slugs",
    "static",
    "status",
    "status.atom",
    "support",
    "sw.js",
    "system",
    "terms",
    "tools",
    "webhooks",
    "webmaster",
    "www",
];

/// Names that pass for a place to sign in or to pay, however they are divided (`sign-in`, `sign_in`), and those of
/// protocols for it. Sorted.
const WITHDRAWN: &[&str] = &[
    "2fa",
    "authenticate",
    "authentication",
    "authorise",
    "authorize",
    "callback",
    "changepassword",
    "checkout",
    "confirm",
    "credentials",
    "forgotpassword",
    "identity",
    "login",
    "logoff",
    "logon",
    "logout",
    "mfa",
    "myaccount",
    "oauth",
    "oauth2",
    "oidc",
    "openid",
    "otp",
    "passkey",
    "passkeys",
    "password",
    "passwords",
    "payment",
    "payments",
    "register",
    "resetpassword",
    "saml",
    "session",
    "sessions",
    "signin",
    "signout",
    "signup",
    "sso",
    "token",
    "tokens",
    "verification",
    "verify",
    "webauthn",
    "wellknown",
];
/// Endings of files that prove whose a site is (`google….html`, `BingSiteAuth.xml`, `yandex_….html`), or say
/// something for all of it.
const FILES: [&str; 5] = [".htm", ".html", ".json", ".txt", ".xml"];

/// Returns true for a name that no page may have. Names of one or two characters, such as `v1` and
/// `q`, are never slugs.
fn is_reserved(text: &str) -> bool {
    RESERVED.contains(&text)
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Slug {
    /// A stored slug may be reserved by now, and still is one.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if Self::is_well_formed(&text) { Ok(Self(text)) } else { Err(D::Error::custom("not a slug")) }
    }
}
