//! A proxy's signed word to the edge: this data center asks, now. The counterpart of
//! [`grant`](crate::grant).
//!
//! It lets the proxy read what lies below `/internal`. It names no request, as all it can do is
//! read the same again.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

use crate::caller::bearer_token;
use crate::grant::VALID_MS;
use crate::problem::{Problem, codes};
use crate::secret::MacKeys;
use crate::time::UnixMillis;

const VERSION: u8 = 1;
const DOMAIN: &[u8] = b"utg.origin.v1";
const HEAD: usize = 9;
const TAG: usize = 16;
const MAX_NAME: usize = 64;
const MAX_TEXT: usize = (HEAD + TAG + MAX_NAME).div_ceil(3) * 4;

/// The claims of a token: which data center asks, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginToken {
    /// The data center's name: 1 to 64 letters, digits, `-`, `_` and `.`.
    pub data_center: String,
    /// The moment of signing. The token is good for [`VALID_MS`] either side of that, as a grant
    /// is.
    pub issued_at: UnixMillis,
}

/// A reason for which a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The request has no token.
    #[error("send the token of an origin as Authorization: Bearer")]
    Missing,
    /// Not a token, or forged.
    #[error("the token was not made with this deployment's secret")]
    Invalid,
    /// The clocks disagree, or the token is old.
    #[error(
        "the token is {} s from the edge's clock; expected at most {} s: synchronize the clocks of edge and origin",
        .age_ms.div_ceil(1_000), VALID_MS / 1_000
    )]
    Expired {
        /// Milliseconds between the token and the clock, in either direction: more than
        /// [`VALID_MS`].
        age_ms: u64,
    },
}

impl OriginToken {
    /// Returns the value of the header `Authorization`.
    pub fn sign(&self, keys: &MacKeys) -> String {
        let (version, mac) = keys.current();
        let [_, issued_at @ ..] = self.issued_at.0.to_be_bytes();
        let mut bytes = vec![VERSION, version];
        bytes.extend(issued_at);
        let tag = mac.sign(&[DOMAIN, &bytes, self.data_center.as_bytes()]);
        bytes.extend(tag.into_iter().take(TAG));
        bytes.extend(self.data_center.bytes());
        format!("Bearer {}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Checks the value of the header `Authorization`.
    ///
    /// # Errors
    /// Returns the [`TokenError`], found in this order: form, MAC (in constant time), age.
    pub fn verify(authorization: Option<&str>, keys: &MacKeys, now: UnixMillis) -> Result<Self, TokenError> {
        let text = bearer_token(authorization).ok_or(TokenError::Missing)?;
        let token = Self::read(text, keys).ok_or(TokenError::Invalid)?;
        let age_ms = now.since(token.issued_at).max(token.issued_at.since(now));
        if age_ms > VALID_MS { Err(TokenError::Expired { age_ms }) } else { Ok(token) }
    }

    fn read(text: &str, keys: &MacKeys) -> Option<Self> {
        // Before it is decoded: anybody may send any length.
        if text.len() > MAX_TEXT {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let (tag, name) = rest.split_at_checked(TAG)?;
        let &[version, key_version, ref issued_at @ ..] = head else { return None };
        let authentic = keys.version(key_version)?.verify(&[DOMAIN, head, name], tag);
        let name = std::str::from_utf8(name).ok().filter(|name| is_name(name))?;
        let issued_at = issued_at.iter().fold(0, |ms, &byte| ms << 8 | u64::from(byte));
        (authentic && version == VERSION)
            .then(|| Self { data_center: name.to_owned(), issued_at: UnixMillis(issued_at) })
    }
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        Self::new(codes::ORIGIN_TOKEN_INVALID, error.to_string())
    }
}

fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);
    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    fn keys(secret: &str) -> MacKeys {
        MacKeys::parse(secret).unwrap()
    }

    fn token(data_center: &str) -> OriginToken {
        OriginToken { data_center: data_center.to_owned(), issued_at: NOW }
    }

    fn verify(header: &str, now: UnixMillis) -> Result<OriginToken, TokenError> {
        OriginToken::verify(Some(header), &keys(OLD), now)
    }

    #[test]
    fn token_expires_after_thirty_seconds_either_way() {
        let header = token("fra").sign(&keys(OLD));
        for now in [NOW, NOW.plus(VALID_MS), NOW.minus(VALID_MS)] {
            assert_eq!(verify(&header, now), Ok(token("fra")));
        }
        let age_ms = VALID_MS + 1;
        for now in [NOW.plus(age_ms), NOW.minus(age_ms)] {
            assert_eq!(verify(&header, now), Err(TokenError::Expired { age_ms }));
        }
    }

    #[test]
    fn foreign_or_malformed_token_is_refused() {
        assert_eq!(OriginToken::verify(None, &keys(OLD), NOW), Err(TokenError::Missing));
        for header in ["", "Bearer", "Bearer ", "Basic eA"] {
            assert_eq!(verify(header, NOW), Err(TokenError::Missing), "{header}");
        }
        let long = format!("Bearer {}", "A".repeat(100_000));
        let strangers = token("fra").sign(&keys(NEW));
        let nameless = token("").sign(&keys(OLD));
        let other_alphabet = token("f\r\na").sign(&keys(OLD));
        for header in ["Bearer x", "Bearer AAAA", &long, &strangers, &nameless, &other_alphabet] {
            assert_eq!(verify(header, NOW), Err(TokenError::Invalid), "{header:.60}");
        }
    }

    #[test]
    fn tokens_of_two_live_secrets_are_valid_during_a_rotation() {
        let both = keys(&format!("2:{NEW},1:{OLD}"));
        for signer in [keys(OLD), both.clone()] {
            let header = token("iad").sign(&signer);
            assert_eq!(OriginToken::verify(Some(&header), &both, NOW), Ok(token("iad")));
        }
    }

    #[test]
    fn every_error_is_401_origin_token_invalid() {
        for error in [TokenError::Missing, TokenError::Invalid, TokenError::Expired { age_ms: 30_001 }] {
            let problem = Problem::from(error);
            assert_eq!((problem.status(), problem.code()), (401, codes::ORIGIN_TOKEN_INVALID));
        }
    }

    proptest! {
        #[test]
        fn token_reads_back_as_itself(name in "[A-Za-z0-9._-]{1,64}", ms in 0u64..(1 << 56)) {
            let token = OriginToken { data_center: name, issued_at: UnixMillis(ms) };
            prop_assert_eq!(verify(&token.sign(&keys(OLD)), UnixMillis(ms)), Ok(token));
        }

        #[test]
        fn token_with_one_changed_character_is_refused(place in 7usize..47, replacement in "[!-~]") {
            let mut header = token("fra-1").sign(&keys(OLD));
            prop_assume!(header[place..=place] != replacement);
            header.replace_range(place..=place, &replacement);
            prop_assert_eq!(verify(&header, NOW), Err(TokenError::Invalid));
        }
    }
}
