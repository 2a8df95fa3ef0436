//! The server to call: a base URL, resolved once and restricted to loopback by default.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use hyper::Uri;
use hyper::http::uri::InvalidUri;
use thiserror::Error;

/// A server to call.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    base: String,
    host: String,
    /// The address of all connections. Resolving only once ensures that it cannot change to another
    /// machine.
    pub(crate) addr: SocketAddr,
    pub(crate) tls: bool,
}

/// The reason why a URL is not a usable target.
#[derive(Debug, Error)]
#[error("invalid target `{url}`: {reason}")]
pub(crate) struct TargetError {
    url: String,
    #[source]
    reason: TargetErrorReason,
}

#[derive(Debug, Error)]
enum TargetErrorReason {
    #[error("not a URL: {0}")]
    Syntax(#[from] InvalidUri),
    #[error("expected a URL that begins with http:// or https://")]
    Scheme,
    #[error("expected only scheme, host and port; use --path for the path")]
    Path,
    #[error("cannot resolve the host: {0}")]
    Resolve(#[from] io::Error),
    #[error("the host has no address")]
    NoAddress,
    #[error("{0} is not a loopback address; with its owner's consent, use --allow-remote")]
    Remote(SocketAddr),
}

impl Target {
    /// Parses `http://host[:port]` or `https://host[:port]` and resolves the host.
    ///
    /// # Errors
    /// Returns an error if the URL is invalid or does not resolve, or if `allow_remote` is false
    /// and one of its addresses is not loopback.
    pub(crate) async fn resolve(url: &str, allow_remote: bool) -> Result<Self, TargetError> {
        Self::try_resolve(url, allow_remote)
            .await
            .map_err(|reason| TargetError { url: url.to_owned(), reason })
    }

    async fn try_resolve(url: &str, allow_remote: bool) -> Result<Self, TargetErrorReason> {
        let uri: Uri = url.parse()?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(TargetErrorReason::Scheme),
        };
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        if authority.contains('@') || uri.query().is_some() || uri.path().len() > 1 {
            return Err(TargetErrorReason::Path);
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let addrs: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port)).await?.collect();
        let remote = addrs.iter().find(|addr| !addr.ip().is_loopback());
        if let Some(&remote) = remote.filter(|_| !allow_remote) {
            return Err(TargetErrorReason::Remote(remote));
        }
        // Prefer IPv4: most local servers listen only there, while `localhost` resolves to IPv6
        // first.
        let addr = addrs.iter().find(|addr| addr.is_ipv4()).or_else(|| addrs.first());
        let addr = *addr.ok_or(TargetErrorReason::NoAddress)?;
        Ok(Self { base: format!("{}://{authority}", if tls { "https" } else { "http" }), host, addr, tls })
    }

    /// Returns the host, for the TLS server name.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the value of the `Host` header.
    pub(crate) fn authority(&self) -> &str {
        self.base.split_once("://").map_or("", |(_, authority)| authority)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn remote_target_is_error_unless_allowed() {
        for url in ["http://127.0.0.1:8787", "http://[::1]:80", "https://127.1.2.3/"] {
            assert!(Target::resolve(url, false).await.is_ok(), "{url}");
        }
        for url in ["http://192.0.2.1", "http://0.0.0.0:8787", "http://[2001:db8::1]:80"] {
            let error = Target::resolve(url, false).await.unwrap_err();
            assert!(matches!(error.reason, TargetErrorReason::Remote(_)), "{error}");
            assert!(error.to_string().contains("--allow-remote"), "{error}");
            assert!(Target::resolve(url, true).await.is_ok(), "{url}");
        }
    }

    #[tokio::test]
    async fn target_that_is_not_base_url_is_error() {
        for url in
            ["127.0.0.1:8787", "ftp://127.0.0.1", "http://127.0.0.1/v1", "http://a:b@127.0.0.1", "http://"]
        {
            let error = Target::resolve(url, true).await.unwrap_err();
            assert!(error.to_string().contains(url), "{error}");
        }
    }
}
