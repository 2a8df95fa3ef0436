//! The policy for URLs that customers name.

/// The hosts of the gateway itself, and whether it runs in development.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchPolicy {
    own: Vec<Authority>,
    private_allowed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Authority {
    host: String,
    port: Option<u16>,
}

impl FetchPolicy {
    /// Returns the policy of a gateway with these hosts, each as `host`, `host:port` or a URL.
    /// `private_allowed` also allows `http`, any port and the loopback interface, for development.
    pub fn new<'a>(own: impl IntoIterator<Item = &'a str>, private_allowed: bool) -> Self {
        Self { own: own.into_iter().map(Authority::read).collect(), private_allowed }
    }

    /// Adds a host of the gateway: the one that a request came to.
    #[must_use]
    pub fn with_host(mut self, own: &str) -> Self {
        self.own.push(Authority::read(own));
        self
    }

    /// Returns true if the loopback interface may be called.
    pub const fn is_private_allowed(&self) -> bool {
        self.private_allowed
    }

    /// Returns true if a host without a dot at its end is the gateway's. In development several
    /// programs share a host, so its port counts too.
    pub(super) fn is_own(&self, host: &str, port: Option<u16>) -> bool {
        let is_same = |own: &Authority| own.host == host && (!self.private_allowed || own.port == port);
        self.own.iter().any(is_same)
    }
}

impl Authority {
    fn read(text: &str) -> Self {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port.parse().ok()),
            _ => (authority, None),
        };
        let usual = match scheme {
            "https" => Some(443),
            "http" => Some(80),
            _ => None,
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // The usual port is left out, so that a URL with it and one without it have the same host.
        Self { host, port: port.filter(|port| Some(*port) != usual) }
    }
}
