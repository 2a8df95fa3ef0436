//! The pseudonym of a visitor.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use shared::{caller::network, secret::MacKey};

use crate::ids::PageId;

/// A pseudonym that counts a visitor once, for one page and one salt. It is never 0, so that 0 can
/// stand for no visitor, and below 2^48, which is what is stored of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VisitorId(pub u64);

impl VisitorId {
    /// Returns the pseudonym: the first six bytes of HMAC-SHA256 under the day's salt over page,
    /// address and user agent, separated by zero bytes. An IPv6 address counts as its /64, and an
    /// IPv4-mapped one as IPv4. Addresses that cannot be read count as one.
    ///
    /// When the salt is destroyed, an id cannot be matched with a visitor any more. Ids of two salts
    /// or two pages cannot be linked.
    ///
    /// ```
    /// use biolink::{page::PageId, visitor::VisitorId};
    ///
    /// let (salt, page) = ([7; 32], PageId::new([1; 12]));
    /// let of = |address| VisitorId::of(&salt, &page, address, Some("Mozilla/5.0"));
    /// assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
    /// assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    /// ```
    pub fn of(salt: &[u8; 32], page: &PageId, address: &str, user_agent: Option<&str>) -> Self {
        let address = address.trim().parse().map_or(0, network).to_be_bytes();
        let page = page.to_string();
        let agent = user_agent.unwrap_or_default();
        let mac = MacKey::from_bytes(salt).sign(&[page.as_bytes(), b"\0", &address, b"\0", agent.as_bytes()]);
        let short = mac.first_chunk().copied().map_or(0, u64::from_be_bytes) >> 16;
        Self(short.max(1))
    }
}

/// Returns a number for a client's network and a page, for counters in memory. It is no pseudonym: without
/// a salt, the address can be found. `None` if the address cannot be read.
pub fn network_of(page: &PageId, address: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    network(address.trim().parse().ok()?).hash(&mut hasher);
    page.hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: [u8; 32] = [7; 32];

    fn of(address: &str) -> VisitorId {
        VisitorId::of(&SALT, &PageId::new([1; 12]), address, Some("Mozilla/5.0"))
    }

    /// Computed with Python's `hmac`, so that stored ids stay what they are.
    #[test]
    fn id_is_the_documented_mac() {
        assert_eq!(of("192.0.2.1"), VisitorId(81_836_064_655_955));
    }

    #[test]
    fn id_depends_on_salt_page_address_and_agent() {
        let page = PageId::new([1; 12]);
        let id = of("192.0.2.1");
        assert_ne!(id, of("192.0.2.2"));
        assert_ne!(id, VisitorId::of(&[8; 32], &page, "192.0.2.1", Some("Mozilla/5.0")));
        assert_ne!(id, VisitorId::of(&SALT, &PageId::new([2; 12]), "192.0.2.1", Some("Mozilla/5.0")));
        assert_ne!(id, VisitorId::of(&SALT, &page, "192.0.2.1", Some("Mozilla/5.1")));
        assert_ne!(id, VisitorId::of(&SALT, &page, "192.0.2.1", None));
    }

    #[test]
    fn ipv6_counts_as_its_64_and_mapped_as_ipv4() {
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of(" 192.0.2.1"));
        assert_eq!(of(""), of("unknown"));
    }
}
