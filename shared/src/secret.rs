//! MACs, digests and constant-time comparison: the only user of `hmac` and `sha2`.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use thiserror::Error;

/// A key for HMAC-SHA256. Its text is read once; only the prepared MAC state is kept.
#[derive(Clone)]
pub struct MacKey(Hmac<Sha256>);

/// The block of SHA-256, in bytes.
const BLOCK: usize = 64;

/// The shortest secret that is accepted, in bytes (128 bits as hexadecimal digits).
pub const MIN_SECRET_LEN: usize = 32;

/// An error in a configured secret. It holds nothing of the secret, not even its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SecretError {
    /// There is no text.
    #[error("is empty")]
    Empty,
    /// Shorter than [`MIN_SECRET_LEN`].
    #[error("is shorter than {MIN_SECRET_LEN} characters")]
    TooShort,
    /// The list has more than two secrets, or a version is malformed or used twice.
    #[error("must be one value, or two as `2:new,1:old` with different versions")]
    BadList,
}

impl MacKey {
    /// Prepares a MAC from the secret's text.
    ///
    /// # Errors
    /// Returns an error if the text is shorter than [`MIN_SECRET_LEN`] bytes.
    pub fn new(secret: &str) -> Result<Self, SecretError> {
        match secret.trim() {
            "" => Err(SecretError::Empty),
            text if text.len() < MIN_SECRET_LEN => Err(SecretError::TooShort),
            text => Hmac::new_from_slice(text.as_bytes()).map(Self).or(Err(SecretError::Empty)),
        }
    }

    /// Prepares a MAC from a key of random bytes, of any length (RFC 2104, section 2).
    pub fn from_bytes(key: &[u8]) -> Self {
        let digest;
        let key = if key.len() > BLOCK {
            digest = sha256(&[key]);
            &digest
        } else {
            key
        };
        let mut block = [0; BLOCK];
        for (to, from) in block.iter_mut().zip(key) {
            *to = *from;
        }
        Self(Hmac::new(&block.into()))
    }

    /// HMAC-SHA256 over `parts` in order, without separators: callers pass parts of fixed length,
    /// save the last.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.run(parts).finalize().into_bytes().into()
    }

    /// Returns true if `tag` is the beginning of the MAC over `parts`, in time that does not depend
    /// on where they differ. An empty tag is never right.
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.run(parts).verify_truncated_left(tag).is_ok()
    }

    fn run(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        // The key is prepared once. Each signature begins with a copy of that state.
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(redacted)")
    }
}

/// One or two MAC keys that are live at the same time, so that a secret can be rotated without a gap.
///
/// Written as `secret`, or as `2:new,1:old`: the first signs, each verifies what names its version.
#[derive(Clone, Debug)]
pub struct MacKeys {
    current: (u8, MacKey),
    previous: Option<(u8, MacKey)>,
}

impl MacKeys {
    /// Reads a configured secret. A value without a version has version 1.
    ///
    /// # Errors
    /// Returns an error if a value is empty or too short, or the list names more than two or one
    /// version twice.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let mut values = text.split(',').map(Self::parse_one);
        let current = values.next().unwrap_or(Err(SecretError::Empty))?;
        let previous = values.next().transpose()?;
        // With one version for two keys, nobody could tell which one has signed.
        let twice = previous.as_ref().is_some_and(|(version, _)| *version == current.0);
        if twice || values.next().is_some() {
            return Err(SecretError::BadList);
        }
        Ok(Self { current, previous })
    }

    fn parse_one(value: &str) -> Result<(u8, MacKey), SecretError> {
        match value.split_once(':') {
            None => Ok((1, MacKey::new(value)?)),
            Some((version, secret)) => {
                let version = version.trim().parse().or(Err(SecretError::BadList))?;
                Ok((version, MacKey::new(secret)?))
            }
        }
    }

    /// Returns the version and key that sign.
    pub const fn current(&self) -> (u8, &MacKey) {
        (self.current.0, &self.current.1)
    }

    /// Returns the key of a version, when it is live.
    pub fn version(&self, version: u8) -> Option<&MacKey> {
        self.live().find(|(live, _)| *live == version).map(|(_, key)| key)
    }

    /// Returns every live version with its key, the signing one first.
    pub fn live(&self) -> impl Iterator<Item = (u8, &MacKey)> {
        std::iter::once(&self.current).chain(&self.previous).map(|(version, key)| (*version, key))
    }
}

/// The admin secret, kept as its digest.
#[derive(Clone)]
pub struct AdminSecret([u8; 32]);

impl AdminSecret {
    /// Reads the configured secret.
    ///
    /// # Errors
    /// Returns an error if it is shorter than [`MIN_SECRET_LEN`] bytes.
    pub fn new(secret: &str) -> Result<Self, SecretError> {
        match secret.trim() {
            "" => Err(SecretError::Empty),
            text if text.len() < MIN_SECRET_LEN => Err(SecretError::TooShort),
            text => Ok(Self(sha256(&[text.as_bytes()]))),
        }
    }

    /// Returns true if `presented` is the secret. Digests are compared, so neither length nor
    /// content shows in the time.
    pub fn matches(&self, presented: &str) -> bool {
        equal(&self.0, &sha256(&[presented.as_bytes()]))
    }
}

impl fmt::Debug for AdminSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminSecret(redacted)")
    }
}

/// SHA-256 over `parts` in order, without separators.
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    digest.finalize().into()
}

/// Returns true if two digests are equal, in time that does not depend on where they differ.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn short_secret_is_refused() {
        assert_eq!(MacKey::new("short").err(), Some(SecretError::TooShort));
        assert_eq!(MacKeys::parse("").err(), Some(SecretError::Empty));
        assert_eq!(AdminSecret::new("  ").err(), Some(SecretError::Empty));
    }

    /// RFC 4231, test cases 2, 6 and a key of a whole block, which `hmac` reads itself.
    #[test]
    fn key_of_any_length_gives_the_mac_of_rfc_2104() {
        let short = MacKey::from_bytes(b"Jefe").sign(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!((short[0], short[1], short[31]), (0x5b, 0xdc, 0x43));
        let long = [b"Test Using Larger Than Block-Size Key - Hash Key First".as_slice()];
        let tag = MacKey::from_bytes(&[0xaa; 131]).sign(&long);
        assert_eq!((tag[0], tag[1], tag[31]), (0x60, 0xe4, 0x54));
        for length in [0, 63, 64, 65, 131] {
            let key = vec![7; length];
            let read = Hmac::<Sha256>::new_from_slice(&key).map(MacKey).unwrap();
            assert_eq!(MacKey::from_bytes(&key).sign(&[b"x"]), read.sign(&[b"x"]), "{length}");
        }
    }

    #[test]
    fn first_of_two_live_versions_signs() {
        let keys = MacKeys::parse(&format!("2:{NEW},1:{OLD}")).unwrap();
        assert_eq!(keys.current().0, 2);
        let tag = MacKeys::parse(OLD).unwrap().current().1.sign(&[b"x"]);
        assert!(keys.version(1).is_some_and(|key| key.verify(&[b"x"], &tag[..12])));
        assert!(!keys.version(2).is_some_and(|key| key.verify(&[b"x"], &tag[..12])));
        assert!(keys.version(3).is_none());
    }

    #[test]
    fn ambiguous_list_is_refused() {
        for text in [format!("{NEW},{OLD}"), format!("1:{NEW},1:{OLD}"), format!("x:{NEW}")] {
            assert_eq!(MacKeys::parse(&text).err(), Some(SecretError::BadList), "{text}");
        }
    }

    #[test]
    fn secrets_are_redacted_in_debug_output() {
        let text = format!("{:?} {:?}", MacKeys::parse(OLD), AdminSecret::new(OLD));
        assert!(!text.contains(OLD), "{text}");
    }
}
