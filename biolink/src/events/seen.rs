//! The single-use image of a page, which only a program that lays the page out fetches.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use shared::{
    caller::network,
    secret::{MacKey, MacKeys, equal},
    time::UnixMillis,
};

use crate::page::PageId;

const DOMAIN: &[u8] = b"utg.seen.v1";
const HOUR_MS: u64 = 3_600_000;

/// The token in the image's address: a random number, and a MAC that binds it to the page, the hour,
/// and the network and program of the visitor. It says nothing about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenToken {
    number: [u8; 8],
    mac: [u8; 8],
}

/// The visitor that a token is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Seer<'a> {
    /// The client's address.
    pub address: Option<&'a str>,
    /// `User-Agent`.
    pub user_agent: Option<&'a str>,
}

impl SeenToken {
    /// Returns the token of a page for a visitor.
    pub fn issue(keys: &MacKeys, page: &PageId, seer: Seer<'_>, number: [u8; 8], now: UnixMillis) -> Self {
        Self { number, mac: seer.mac(keys.current().1, page, &number, now) }
    }

    /// Returns the token's number if it was issued for this page and visitor, in this hour or the one
    /// before.
    pub fn verify(&self, keys: &MacKeys, page: &PageId, seer: Seer<'_>, now: UnixMillis) -> Option<u64> {
        // A page that was opened just before the hour has its image fetched just after it.
        let hours = [now, now.minus(HOUR_MS)];
        let mut macs = keys.live().flat_map(|(_, key)| hours.map(|at| seer.mac(key, page, &self.number, at)));
        // Never 0, which stands for an event without a visitor.
        macs.any(|mac| equal(&mac, &self.mac)).then(|| u64::from_le_bytes(self.number).max(1))
    }

    /// Reads what `Display` writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        let decoded = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        let [a, b, c, d, e, f, g, h, mac @ ..] = bytes;
        // Shorter text would leave zeros in place of the rest of the MAC.
        (decoded == 16).then_some(Self { number: [a, b, c, d, e, f, g, h], mac })
    }
}

impl fmt::Display for SeenToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; 16];
        for (place, byte) in bytes.iter_mut().zip(self.number.iter().chain(&self.mac)) {
            *place = *byte;
        }
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl Seer<'_> {
    fn mac(self, key: &MacKey, page: &PageId, number: &[u8; 8], at: UnixMillis) -> [u8; 8] {
        // The network, because the address of a phone changes between the page and its image.
        let address = self.address.and_then(|text| text.trim().parse().ok()).map_or(0, network);
        let (page, hour) = (page.to_string(), at.0 / HOUR_MS);
        let user_agent = self.user_agent.unwrap_or_default();
        let parts: [&[u8]; 6] = [
            DOMAIN,
            number,
            page.as_bytes(),
            &hour.to_be_bytes(),
            &address.to_be_bytes(),
            user_agent.as_bytes(),
        ];
        key.sign(&parts).first_chunk().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);
    const SEER: Seer<'static> = Seer { address: Some("192.0.2.1"), user_agent: Some("Mozilla/5.0") };

    fn keys(text: &str) -> MacKeys {
        MacKeys::parse(text).unwrap()
    }

    #[test]
    fn token_is_valid_for_its_page_visitor_and_hours() {
        let (keys, page) = (keys("0123456789abcdef0123456789abcdef"), PageId::new([1; 12]));
        let token = SeenToken::issue(&keys, &page, SEER, [7; 8], NOW);
        assert_eq!(SeenToken::parse(&token.to_string()), Some(token));
        let verify = |page, seer, now| token.verify(&keys, &page, seer, now);
        assert_eq!(verify(page, SEER, NOW), Some(u64::from_le_bytes([7; 8])));
        assert!(verify(page, SEER, NOW.plus(HOUR_MS)).is_some());
        assert_eq!(verify(page, SEER, NOW.plus(2 * HOUR_MS)), None);
        assert_eq!(verify(PageId::new([2; 12]), SEER, NOW), None);
        assert_eq!(verify(page, Seer { address: Some("192.0.2.2"), ..SEER }, NOW), None);
        assert_eq!(verify(page, Seer { user_agent: None, ..SEER }, NOW), None);
        let other = SeenToken { number: [8; 8], ..token };
        assert_eq!(other.verify(&keys, &page, SEER, NOW), None);
    }

    #[test]
    fn token_of_the_secret_before_is_valid() {
        let page = PageId::new([1; 12]);
        let before = keys("1:0123456789abcdef0123456789abcdef");
        let after = keys("2:fedcba9876543210fedcba9876543210,1:0123456789abcdef0123456789abcdef");
        let token = SeenToken::issue(&before, &page, SEER, [7; 8], NOW);
        assert!(token.verify(&after, &page, SEER, NOW).is_some());
    }

    #[test]
    fn text_that_is_no_token_is_none() {
        for text in ["", "a", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA=="] {
            assert_eq!(SeenToken::parse(text), None, "{text}");
        }
    }
}
