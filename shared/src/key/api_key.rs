//! The secret text a client sends: two layers, so that most texts are refused without looking
//! anything up.
//!
//! `utg_live_` (or `utg_test_`), 64 characters of payload, 6 of checksum. The checksum is a public
//! CRC-32 of all before it: a mistyped key differs from a forged one, and secret scanners can find
//! leaked keys. The payload ends in a MAC under the signing secret: a forged key costs neither a
//! store read nor a meter call.
//!
//! Why: docs/decisions/keys.md, "A key is 79 characters and ends in a CRC-32".

use std::fmt;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::base62;
use crate::crc32::crc32;
use crate::key::{KeyError, KeyId, SecretHash, SecretId};
use crate::secret::MacKeys;
use crate::tier::Tier;
use crate::time::UnixMillis;

const PAYLOAD: usize = 46;
const SIGNED: usize = 34;
/// Set in the byte of the tier of a named secret's text.
const NAMED: u8 = 0x80;
const PAYLOAD_TEXT: usize = base62::encoded_len(PAYLOAD);
const CHECKSUM_TEXT: usize = base62::encoded_len(4);
const DOMAIN: &[u8] = b"utg.key.v1";

/// The environment of a key: for real use or for tests. Part of the text and of the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum KeyEnv {
    /// `utg_live_…`
    Live,
    /// `utg_test_…`
    Test,
}

impl KeyEnv {
    const ALL: [Self; 2] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the beginning of every key of this kind, as secret scanners look for it.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Live => "utg_live_",
            Self::Test => "utg_test_",
        }
    }
}

/// The random parts of a new key, drawn by the caller from a cryptographic source.
pub struct KeyEntropy {
    /// Becomes the [`KeyId`], or the [`SecretId`] of a named secret; for a rotation it is not used.
    pub id: [u8; 12],
    /// Becomes the secret.
    pub secret: [u8; 16],
}

impl KeyEntropy {
    /// Returns the id of a named secret.
    pub fn secret_id(&self) -> SecretId {
        SecretId::new(self.id.first_chunk().copied().unwrap_or_default())
    }
}

/// A text that is a key by its public checksum. Nothing in it may be trusted before
/// [`ApiKey::verify`].
///
/// ```
/// use shared::{
///     key::{ApiKey, KeyEnv, KeyError, KeyId},
///     secret::MacKeys,
///     tier::Tier,
///     time::UnixMillis,
/// };
///
/// let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
/// let now = UnixMillis(1_763_712_000_000);
/// let (key, _) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Pro, now, [9; 16], &keys);
/// let text = key.reveal();
/// assert!(text.starts_with("utg_live_") && text.len() == ApiKey::TEXT_LEN);
///
/// // A typo is found by the checksum, a forged key by the MAC. Neither needs a look-up.
/// let typo = text.replace('_', "-");
/// assert_eq!(ApiKey::parse(&typo).err(), Some(KeyError::Malformed));
/// let verified = ApiKey::parse(&text).unwrap().verify(&keys).unwrap();
/// assert_eq!((verified.id, verified.issued_tier), (KeyId::new([7; 12]), Tier::Pro));
/// let other = MacKeys::parse("another-secret-of-32-characters!").unwrap();
/// assert_eq!(ApiKey::parse(&text).unwrap().verify(&other), Err(KeyError::Invalid));
/// ```
#[derive(Clone, Copy)]
pub struct ApiKey {
    env: KeyEnv,
    payload: [u8; PAYLOAD],
}

/// A key that this service has minted. Its record decides whether it may still be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedKey {
    /// The key's public name.
    pub id: KeyId,
    /// Whether the text is of a named secret. Only the key's record knows whether there is such a one,
    /// and what it may do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_named: bool,
    /// The tier it was issued with; its record may say another by now.
    pub issued_tier: Tier,
    /// The moment of issuing, rounded down to the minute.
    pub issued_at: UnixMillis,
    /// The hash of the secret, as the record keeps it.
    pub secret: SecretHash,
}

impl ApiKey {
    /// Characters of every key's text.
    pub const TEXT_LEN: usize = 9 + PAYLOAD_TEXT + CHECKSUM_TEXT;

    /// Makes a new key, signed with the current signing key, and what verifying it will say.
    #[must_use]
    pub fn mint(
        env: KeyEnv,
        id: KeyId,
        tier: Tier,
        now: UnixMillis,
        secret: [u8; 16],
        keys: &MacKeys,
    ) -> (Self, VerifiedKey) {
        Self::mint_secret(env, (id, false), tier, now, secret, keys)
    }

    /// Makes the text of a named secret of a key, as [`ApiKey::mint`].
    #[must_use]
    pub fn mint_named(
        env: KeyEnv,
        id: KeyId,
        tier: Tier,
        now: UnixMillis,
        secret: [u8; 16],
        keys: &MacKeys,
    ) -> (Self, VerifiedKey) {
        Self::mint_secret(env, (id, true), tier, now, secret, keys)
    }

    fn mint_secret(
        env: KeyEnv,
        (id, is_named): (KeyId, bool),
        tier: Tier,
        now: UnixMillis,
        secret: [u8; 16],
        keys: &MacKeys,
    ) -> (Self, VerifiedKey) {
        let (version, mac) = keys.current();
        let minute = u32::try_from(now.0 / 60_000).unwrap_or(u32::MAX);
        let tier_byte = tier.code() | if is_named { NAMED } else { 0 };
        let mut signed = [0; SIGNED];
        fill(&mut signed, &[&[version, tier_byte], &minute.to_be_bytes(), id.as_bytes(), &secret]);
        // The environment is signed too, or a test key could be written as a live one.
        let tag = mac.sign(&[DOMAIN, env.prefix().as_bytes(), &signed]);
        let mut payload = [0; PAYLOAD];
        fill(&mut payload, &[&signed, &tag]);
        let verified = VerifiedKey {
            id,
            is_named,
            issued_tier: tier,
            // As verifying the text will say it: the payload has whole minutes.
            issued_at: UnixMillis(u64::from(minute) * 60_000),
            secret: SecretHash::of(&secret),
        };
        (Self { env, payload }, verified)
    }

    /// Parses a key's text. The public checksum alone detects typos: every text with one changed
    /// character is refused here.
    ///
    /// # Errors
    /// Returns [`KeyError::Malformed`] if the text is not a key.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Self::read(text.as_bytes()).ok_or(KeyError::Malformed)
    }

    fn read(text: &[u8]) -> Option<Self> {
        if text.len() != Self::TEXT_LEN {
            return None;
        }
        let (covered, checksum) = text.split_at_checked(text.len() - CHECKSUM_TEXT)?;
        let env = KeyEnv::ALL.into_iter().find(|env| covered.starts_with(env.prefix().as_bytes()))?;
        let mut crc = [0; 4];
        base62::decode(checksum, &mut crc)?;
        // Public, and no protection: it tells a typo from a forgery before any MAC or look-up.
        if u32::from_be_bytes(crc) != crc32(&[covered]) {
            return None;
        }
        let mut payload = [0; PAYLOAD];
        base62::decode(covered.get(env.prefix().len()..)?, &mut payload)?;
        Some(Self { env, payload })
    }

    /// Checks the MAC, in constant time, under the signing key whose version the payload names.
    ///
    /// # Errors
    /// Returns [`KeyError::Invalid`] if the version is not live, the MAC is wrong, or the payload
    /// names no tier.
    pub fn verify(&self, keys: &MacKeys) -> Result<VerifiedKey, KeyError> {
        self.check(keys).ok_or(KeyError::Invalid)
    }

    fn check(&self, keys: &MacKeys) -> Option<VerifiedKey> {
        let (signed, tag) = self.payload.split_at_checked(SIGNED)?;
        let (&[version, tier, m0, m1, m2, m3], rest) = signed.split_first_chunk::<6>()?;
        let (id, secret) = rest.split_first_chunk::<12>()?;
        let parts = [DOMAIN, self.env.prefix().as_bytes(), signed];
        // Before anything of the payload is used.
        keys.version(version)?.verify(&parts, tag).then_some(())?;
        Some(VerifiedKey {
            id: KeyId::new(*id),
            is_named: tier & NAMED != 0,
            issued_tier: Tier::from_code(tier & !NAMED)?,
            issued_at: UnixMillis(u64::from(u32::from_be_bytes([m0, m1, m2, m3])) * 60_000),
            secret: SecretHash::of(secret.try_into().ok()?),
        })
    }

    /// Returns the text to hand to the holder, once. Anything else shows the key redacted.
    pub fn reveal(&self) -> String {
        let mut text = String::with_capacity(Self::TEXT_LEN);
        text.push_str(self.env.prefix());
        base62::encode(&self.payload, &mut text);
        let crc = crc32(&[text.as_bytes()]);
        base62::encode(&crc.to_be_bytes(), &mut text);
        text
    }
}

/// Writes `parts` one after another from the start of `target`; what does not fit is left out.
fn fill(target: &mut [u8], parts: &[&[u8]]) {
    let bytes = parts.iter().flat_map(|part| part.iter());
    for (place, byte) in target.iter_mut().zip(bytes) {
        *place = *byte;
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({}redacted)", self.env.prefix())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn keys(secret: &str) -> MacKeys {
        MacKeys::parse(secret).unwrap()
    }

    fn sample() -> ApiKey {
        let id = KeyId::new(*b"abcdefghijkl");
        ApiKey::mint(KeyEnv::Live, id, Tier::Pro, UnixMillis(1_763_712_000_000), [9; 16], &keys(SECRET)).0
    }

    #[test]
    fn key_is_79_characters_and_redacted_in_debug_output() {
        let text = sample().reveal();
        assert_eq!(text.len(), 79);
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        assert!(!format!("{:?}", sample()).contains(&text[9..20]));
    }

    #[test]
    fn forged_key_with_a_right_checksum_is_refused() {
        let (forged, _) = ApiKey::mint(
            KeyEnv::Live,
            KeyId::new([1; 12]),
            Tier::Enterprise,
            UnixMillis(0),
            [2; 16],
            &keys("another-secret-of-32-characters!"),
        );
        let parsed = ApiKey::parse(&forged.reveal()).unwrap();
        assert_eq!(parsed.verify(&keys(SECRET)), Err(KeyError::Invalid));
    }

    #[test]
    fn live_key_relabelled_as_a_test_key_is_refused() {
        let relabelled = ApiKey { env: KeyEnv::Test, ..sample() };
        let parsed = ApiKey::parse(&relabelled.reveal()).unwrap();
        assert_eq!(parsed.verify(&keys(SECRET)), Err(KeyError::Invalid));
    }

    #[test]
    fn named_secret_relabelled_as_the_key_is_refused() {
        let id = KeyId::new(*b"abcdefghijkl");
        let (mut key, named) =
            ApiKey::mint_named(KeyEnv::Live, id, Tier::Pro, UnixMillis(0), [9; 16], &keys(SECRET));
        let verified = ApiKey::parse(&key.reveal()).unwrap().verify(&keys(SECRET));
        assert_eq!((verified, named.is_named, named.issued_tier), (Ok(named), true, Tier::Pro));
        key.payload[1] ^= NAMED;
        let parsed = ApiKey::parse(&key.reveal()).unwrap();
        assert_eq!(parsed.verify(&keys(SECRET)), Err(KeyError::Invalid));
    }

    #[test]
    fn key_is_valid_while_its_signing_secret_is_live() {
        let text = sample().reveal();
        let both = keys(&format!("2:another-secret-of-32-characters!,1:{SECRET}"));
        assert!(ApiKey::parse(&text).unwrap().verify(&both).is_ok());
        let new_only = keys("2:another-secret-of-32-characters!");
        assert_eq!(ApiKey::parse(&text).unwrap().verify(&new_only), Err(KeyError::Invalid));
    }

    /// The version is signed: a key's payload that names another live secret is not of that secret.
    #[test]
    fn key_that_names_another_secret_is_refused() {
        let both = keys(&format!("1:{SECRET},2:another-secret-of-32-characters!"));
        for (version, valid) in [(1, true), (2, false), (0, false)] {
            let mut key = sample();
            assert_eq!(key.payload[0], 1);
            key.payload[0] = version;
            let verified = ApiKey::parse(&key.reveal()).unwrap().verify(&both);
            assert_eq!(verified.is_ok(), valid, "{version}");
        }
    }

    proptest! {
        #[test]
        fn minted_key_reads_back_as_itself(id: [u8; 12], secret: [u8; 16], tier in 0u8..3, minute: u32) {
            let tier = Tier::from_code(tier).unwrap();
            let now = UnixMillis(u64::from(minute) * 60_000 + 59_999);
            let (minted, expected) = ApiKey::mint(KeyEnv::Test, KeyId::new(id), tier, now, secret, &keys(SECRET));
            let verified = ApiKey::parse(&minted.reveal()).unwrap().verify(&keys(SECRET)).unwrap();
            prop_assert_eq!(verified, expected);
            prop_assert_eq!((verified.id, verified.issued_tier), (KeyId::new(id), tier));
            prop_assert_eq!(verified.issued_at, UnixMillis(u64::from(minute) * 60_000));
        }

        #[test]
        fn key_with_one_changed_character_is_refused(place in 0usize..79, replacement in "[ -~]") {
            let mut text = sample().reveal();
            prop_assume!(text[place..=place] != replacement);
            text.replace_range(place..=place, &replacement);
            prop_assert!(matches!(ApiKey::parse(&text), Err(KeyError::Malformed)));
        }

        #[test]
        fn any_text_is_parsed_without_panic(text in "\\PC{0,100}") {
            prop_assert!(ApiKey::parse(&text).is_err());
        }
    }
}
