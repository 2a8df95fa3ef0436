//! Who is called: a base URL, resolved once, and kept to this machine unless told otherwise.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use hyper::Uri;

/// A server to call.
#[derive(Clone, Debug)]
pub struct Target {
    base: String,
    host: String,
    /// Where connections go. The name is resolved once, so that it cannot come to mean another machine.
    pub(crate) addr: SocketAddr,
    pub(crate) tls: bool,
}

impl Target {
    /// Parses `http://host[:port]` or `https://…` and resolves the host.
    ///
    /// # Errors
    /// When it is no such URL, has no address, or has an address that is not this machine's and `allow_remote`
    /// is not set.
    pub async fn resolve(url: &str, allow_remote: bool) -> io::Result<Self> {
        let refuse = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{url}: {why}"));
        let uri: Uri = url.parse().map_err(|cause| refuse(&format!("not a URL: {cause}")))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refuse("begin it with http:// or https://")),
        };
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        if authority.contains('@') || uri.query().is_some() || uri.path().len() > 1 {
            return Err(refuse("give scheme, host and port only; the path is --path"));
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let addrs: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), port)).await?.collect();
        if !allow_remote && !addrs.iter().all(|addr| addr.ip().is_loopback()) {
            return Err(refuse(
                "not this machine; load on others needs their owner's consent and --allow-remote",
            ));
        }
        // Local servers mostly listen on IPv4 alone, while `localhost` is IPv6 first.
        let addr = addrs.iter().find(|addr| addr.is_ipv4()).or_else(|| addrs.first());
        let addr = *addr.ok_or_else(|| refuse("the host has no address"))?;
        Ok(Self { base: format!("{}://{authority}", if tls { "https" } else { "http" }), host, addr, tls })
    }

    /// The name that a certificate has to be for.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// What goes into the `Host` header.
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
    async fn only_this_machine_is_a_target_unless_told_otherwise() {
        for url in ["http://127.0.0.1:8787", "http://[::1]:80", "https://127.1.2.3/"] {
            assert!(Target::resolve(url, false).await.is_ok(), "{url}");
        }
        for url in ["http://192.0.2.1", "http://0.0.0.0:8787", "http://[2001:db8::1]:80"] {
            let refused = Target::resolve(url, false).await.unwrap_err().to_string();
            assert!(refused.contains("--allow-remote"), "{refused}");
            assert!(Target::resolve(url, true).await.is_ok(), "{url}");
        }
    }

    #[tokio::test]
    async fn what_is_not_a_base_url_is_refused() {
        for url in
            ["127.0.0.1:8787", "ftp://127.0.0.1", "http://127.0.0.1/v1", "http://a:b@127.0.0.1", "http://"]
        {
            assert!(Target::resolve(url, true).await.is_err(), "{url}");
        }
    }
}
