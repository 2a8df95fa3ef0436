//! Signatures by Standard Webhooks: HMAC-SHA256 over id, timestamp and body.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use thiserror::Error;

use shared::{
    secret::{MacKey, equal},
    time::UnixMillis,
};

/// The header that names the message. It is the same on every attempt.
pub const HEADER_ID: &str = "webhook-id";
/// The header with the moment of the attempt, in seconds since the Unix epoch.
pub const HEADER_TIMESTAMP: &str = "webhook-timestamp";
/// The header with the signatures, one for each live secret.
pub const HEADER_SIGNATURE: &str = "webhook-signature";
/// Seconds by which a timestamp may differ from the clock of the receiver.
pub const TOLERANCE_S: u64 = 300;

const PREFIX: &str = "whsec_";
const VERSION: &str = "v1,";
/// Most signatures that are looked at, so that a header cannot make us compute without end.
const MAX_SIGNATURES: usize = 16;

/// A secret for signatures: 24 to 64 random bytes, written as `whsec_` and standard base64.
///
/// ```
/// use biolink::webhooks::{WebhookSecret, sign};
///
/// let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
/// assert_eq!(
///     sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#, &[secret]),
///     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

/// A text that is not a secret for signatures. It holds nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WebhookSecretError {
    /// It has another prefix, or the rest is not base64.
    #[error("must be `{PREFIX}` and standard base64 with padding, such as whsec_MfKQ9r8G…")]
    Malformed,
    /// It has too few or too many bytes.
    #[error("has {bytes} bytes; {min} to {max} random bytes are allowed", min = WebhookSecret::MIN_BYTES, max = WebhookSecret::MAX_BYTES)]
    Length {
        /// The number of bytes behind the prefix, decoded.
        bytes: usize,
    },
}

/// A message that is refused because of its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// A header is missing or empty.
    #[error("the header `{0}` is missing")]
    MissingHeader(&'static str),
    /// The timestamp is not a number of seconds.
    #[error("`{HEADER_TIMESTAMP}` must be whole seconds since 1970, in digits")]
    MalformedTimestamp,
    /// The message was signed too long ago: it may be a replay.
    #[error("the message was signed {age_s} seconds ago; at most {TOLERANCE_S} are allowed")]
    TooOld {
        /// Its age in seconds.
        age_s: u64,
    },
    /// The message was signed in the future.
    #[error("the message was signed {ahead_s} seconds in the future; at most {TOLERANCE_S} are allowed")]
    TooNew {
        /// The distance in seconds.
        ahead_s: u64,
    },
    /// There is no signature of a known version.
    #[error("`{HEADER_SIGNATURE}` has no signature that begins with `{VERSION}`")]
    NoSignature,
    /// No signature is that of the message under a live secret.
    #[error("no signature matches; sign `id.timestamp.body` with HMAC-SHA256 and the secret's bytes")]
    Mismatch,
}

impl WebhookSecret {
    /// The fewest bytes of a secret.
    pub const MIN_BYTES: usize = 24;
    /// The most bytes of a secret.
    pub const MAX_BYTES: usize = 64;

    /// Returns a new secret of these random bytes.
    pub fn generate(entropy: [u8; 24]) -> Self {
        Self(entropy.to_vec())
    }

    /// Reads a secret that a customer brings.
    ///
    /// # Errors
    /// Returns an error if it is not `whsec_` and base64, or has too few or too many bytes.
    pub fn parse(text: &str) -> Result<Self, WebhookSecretError> {
        let encoded = text.trim().strip_prefix(PREFIX).ok_or(WebhookSecretError::Malformed)?;
        Self::from_bytes(STANDARD.decode(encoded).or(Err(WebhookSecretError::Malformed))?)
    }

    /// Returns the secret of these bytes.
    ///
    /// # Errors
    /// Returns an error if they are too few or too many.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Result<Self, WebhookSecretError> {
        match bytes.len() {
            Self::MIN_BYTES..=Self::MAX_BYTES => Ok(Self(bytes)),
            bytes => Err(WebhookSecretError::Length { bytes }),
        }
    }

    /// Returns its bytes, to be encrypted.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns its text, for its owner.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    fn mac(&self, id: &str, timestamp: &str, body: &[u8]) -> [u8; 32] {
        MacKey::from_bytes(&self.0).sign(&[id.as_bytes(), b".", timestamp.as_bytes(), b".", body])
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(redacted)")
    }
}

/// Returns the value of `webhook-signature` for an attempt: one signature for each secret, with one
/// space between them. `timestamp` is in seconds.
pub fn sign(id: &str, timestamp: u64, body: &[u8], secrets: &[WebhookSecret]) -> String {
    let timestamp = itoa::Buffer::new().format(timestamp).to_owned();
    let mut signatures = String::new();
    for secret in secrets {
        if !signatures.is_empty() {
            signatures.push(' ');
        }
        signatures.push_str(VERSION);
        STANDARD.encode_string(secret.mac(id, &timestamp, body), &mut signatures);
    }
    signatures
}

/// Checks that one of `secrets` signed a message at most [`TOLERANCE_S`] ago, and returns the id of
/// the message. `header` returns a header by its name in lower case. Signatures are compared in time
/// that does not depend on where they differ.
///
/// The caller must remember ids for twice the tolerance, because a message can be sent twice.
///
/// # Errors
/// Returns the first rule that the message breaks.
pub fn verify<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    body: &[u8],
    secrets: &[WebhookSecret],
    now: UnixMillis,
) -> Result<&'a str, SignatureError> {
    let required =
        |name| header(name).filter(|value| !value.is_empty()).ok_or(SignatureError::MissingHeader(name));
    let id = required(HEADER_ID)?;
    let timestamp = required(HEADER_TIMESTAMP)?;
    // Before the signature, which costs more, and of which an old message has a valid one.
    check_age(timestamp, now)?;
    check_signatures(required(HEADER_SIGNATURE)?, secrets, |secret| secret.mac(id, timestamp, body))?;
    Ok(id)
}

fn check_age(timestamp: &str, now: UnixMillis) -> Result<(), SignatureError> {
    // `parse` takes a plus sign too, and what is signed is the text.
    let is_number = timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let signed = timestamp.parse::<u64>().ok().filter(|_| is_number);
    let (signed, now) = (signed.ok_or(SignatureError::MalformedTimestamp)?, now.seconds());
    match (now.saturating_sub(signed), signed.saturating_sub(now)) {
        (age_s, _) if age_s > TOLERANCE_S => Err(SignatureError::TooOld { age_s }),
        (_, ahead_s) if ahead_s > TOLERANCE_S => Err(SignatureError::TooNew { ahead_s }),
        _ => Ok(()),
    }
}

fn check_signatures(
    value: &str,
    secrets: &[WebhookSecret],
    mac: impl Fn(&WebhookSecret) -> [u8; 32],
) -> Result<(), SignatureError> {
    let known = value.split(' ').filter_map(|one| one.strip_prefix(VERSION)).take(MAX_SIGNATURES);
    // One that cannot be decoded is empty and matches nothing. The others may still.
    let known: Vec<_> = known.map(|encoded| STANDARD.decode(encoded).unwrap_or_default()).collect();
    if known.is_empty() {
        return Err(SignatureError::NoSignature);
    }
    let matches = |secret| {
        let expected = mac(secret);
        known.iter().any(|signature| equal(&expected, signature))
    };
    if secrets.iter().any(matches) { Ok(()) } else { Err(SignatureError::Mismatch) }
}

#[cfg(test)]
mod tests;
