//! The configured list of origins.

use thiserror::Error;

use crate::url::Address;

const MAX_ORIGINS: usize = 8;

/// One data center's proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The data center's name, which grants for it end with.
    pub name: String,
    /// Scheme and authority, without a slash at the end.
    pub base: String,
}

/// The origins, best first. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins(Vec<Origin>);

/// An error in a configured list of origins.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OriginsError {
    /// The list is empty.
    #[error("names no origin; expected 1 to {MAX_ORIGINS}")]
    Empty,
    /// The list has more than eight entries.
    #[error("names {count} origins; expected at most {MAX_ORIGINS}")]
    TooMany {
        /// Entries of the list.
        count: usize,
    },
    /// The entry is not `name=url` or `url`, where a URL is scheme, host and port only.
    #[error("has `{0}`; expected https://host:port or name=https://host:port")]
    BadEntry(String),
    /// The entry leads to the loopback interface, which a deployed worker cannot reach.
    #[error(
        "has `{0}`, which only a worker on the same machine reaches; expected the proxy's public address, \
         such as https://host:port, or ALLOW_PRIVATE_FETCH=1 for development"
    )]
    Loopback(String),
}

impl Origins {
    /// Reads `url,url` or `name=url,name=url`, best first. A URL without a name belongs to data
    /// centre `default`. `loopback_allowed` is for development, where the proxy runs on the machine
    /// of the worker.
    ///
    /// # Errors
    /// Returns an error if the list is empty or too long, an entry is not one, or an entry leads to
    /// the loopback interface and must not.
    pub fn parse(text: &str, loopback_allowed: bool) -> Result<Self, OriginsError> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let origins = entries.map(Origin::parse).collect::<Result<Vec<_>, _>>()?;
        // A deployed worker cannot reach it. Refused at the start, it does not look like an outage
        // of the proxy.
        if let Some(origin) = origins.iter().find(|origin| !loopback_allowed && origin.is_loopback()) {
            return Err(OriginsError::Loopback(origin.base.clone()));
        }
        match origins.len() {
            0 => Err(OriginsError::Empty),
            1..=MAX_ORIGINS => Ok(Self(origins)),
            count => Err(OriginsError::TooMany { count }),
        }
    }

    /// Returns all of them, best first.
    pub fn all(&self) -> &[Origin] {
        &self.0
    }
}

impl Origin {
    fn parse(entry: &str) -> Result<Self, OriginsError> {
        let (name, url) = entry.split_once('=').unwrap_or(("default", entry));
        let base = url.strip_suffix('/').unwrap_or(url);
        let authority = base.strip_prefix("https://").or_else(|| base.strip_prefix("http://")).unwrap_or("");
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        let well_formed = !name.is_empty()
            && name.bytes().all(plain)
            && !authority.is_empty()
            && authority.bytes().all(|b| plain(b) || matches!(b, b':' | b'[' | b']'));
        if well_formed {
            Ok(Self { name: name.to_owned(), base: base.to_owned() })
        } else {
            Err(OriginsError::BadEntry(entry.to_owned()))
        }
    }

    fn is_loopback(&self) -> bool {
        Address::parse(&self.base).is_some_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_keep_their_order_with_or_without_names() {
        let origins =
            Origins::parse("fra=https://fra.example.com:8443/, http://10.0.0.1:8080", false).unwrap();
        let pairs: Vec<_> = origins.all().iter().map(|o| (o.name.as_str(), o.base.as_str())).collect();
        assert_eq!(pairs, [("fra", "https://fra.example.com:8443"), ("default", "http://10.0.0.1:8080")]);
    }

    #[test]
    fn malformed_list_is_refused_with_its_entry() {
        assert_eq!(Origins::parse(" , ", false), Err(OriginsError::Empty));
        assert_eq!(Origins::parse(&"http://a,".repeat(9), false), Err(OriginsError::TooMany { count: 9 }));
        for entry in [
            "fra.example.com",
            "=http://a",
            "a b=http://a",
            "http://a/path",
            "http://u@a",
            "ftp://a",
            "http://",
        ] {
            assert_eq!(
                Origins::parse(entry, false),
                Err(OriginsError::BadEntry(entry.to_owned())),
                "{entry}"
            );
        }
    }
    #[test]
    fn loopback_origin_is_refused_outside_development() {
        for base in ["http://127.0.0.1:8080", "https://localhost", "http://[::1]:8080", "http://LocalHost:1"]
        {
            let list = format!("https://fra.example.com,near={base}/");
            assert_eq!(Origins::parse(&list, false), Err(OriginsError::Loopback(base.to_owned())), "{base}");
            assert!(Origins::parse(&list, true).is_ok(), "{base}");
        }
        assert!(Origins::parse("https://localhost.example.com,http://128.0.0.1", false).is_ok());
    }
}
