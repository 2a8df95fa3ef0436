//! The edge's signed permission for a proxy: this key, of this tier, may make this one call now.
//!
//! The MAC includes the name of the data center, so that a grant of one is worth nothing in
//! another.
//!
//! Why: docs/decisions/edge.md, "A grant is bound to one data center".

mod refusal;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

use crate::key::{KeyId, SecretId};
use crate::problem::{Problem, codes};
use crate::proof::Proof;
use crate::request_id::RequestId;
use crate::route::{CallMethod, ToolCall};
use crate::secret::{MacKeys, equal, sha256};
use crate::tier::Tier;
use crate::time::UnixMillis;

pub use refusal::{Checked, GrantRefusal, RefusalReason, sent_reason};

/// Lifetime of a grant on either side of the moment it was issued, in milliseconds.
pub const VALID_MS: u64 = 30_000;

/// The version of a grant of a key's own secret.
const VERSION: u8 = 1;
/// The version of a grant that names a secret: its id follows what the other version has.
const VERSION_NAMED: u8 = 2;
const DOMAIN: &[u8] = b"utg.grant.v1";
const SIGNED: usize = 56;
const TAG: usize = 16;
/// 72 bytes are 96 characters exactly: no spare bits in which two texts could mean the same grant.
const LEN: usize = SIGNED + TAG;
/// With the id of a secret there are spare bits, which the decoder requires to be zero.
const MAX_LEN: usize = (LEN + SecretId::BYTES).next_multiple_of(3);

/// The claims that the edge signs: a permission for one call, at one data center, for 30 seconds.
///
/// ```
/// use shared::{
///     action::Action,
///     grant::{Grant, GrantError},
///     key::KeyId,
///     request_id::RequestId,
///     route::{CallMethod, ToolCall},
///     secret::MacKeys,
///     tier::Tier,
///     time::UnixMillis,
///     tool::Tool,
/// };
///
/// let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
/// let now = UnixMillis(1_763_712_000_000);
/// let action = Action::parse("generate").unwrap();
/// let call = ToolCall { method: CallMethod::Post, tool: Tool::Qr, action };
/// let (key_id, request_id) = (KeyId::new([3; 12]), RequestId([4; 16]));
/// let grant = Grant { key_id, secret_id: None, tier: Tier::Pro, request_id, issued_at: now };
///
/// // The edge signs it, and the proxy in Frankfurt verifies it and responds with the same proof.
/// let signed = grant.sign(&call, "/v1/qr/generate", "fra", &keys);
/// let text = signed.text.as_bytes();
/// let (verified, proof) = Grant::verify(text, &call, "/v1/qr/generate", "fra", &keys, now).unwrap();
/// assert_eq!(verified, grant);
/// assert!(signed.proof.matches(&proof.to_string()));
///
/// // It is worth nothing for another request or in another data center.
/// let elsewhere = Grant::verify(text, &call, "/v1/qr/generate", "iad", &keys, now);
/// assert_eq!(elsewhere.err(), Some(GrantError::Invalid));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The id of the calling key.
    pub key_id: KeyId,
    /// The named secret of the key that was sent; `None` is the key's own.
    pub secret_id: Option<SecretId>,
    /// The key's tier.
    pub tier: Tier,
    /// The request's id. It is accepted once.
    pub request_id: RequestId,
    /// The moment at which the edge admitted the call.
    pub issued_at: UnixMillis,
}

/// A grant as it is sent, and the proof that the response to it must carry.
#[derive(Clone, Debug)]
pub struct SignedGrant {
    /// The header's value.
    pub text: String,
    /// A proof that only a proxy which can verify the grant can compute.
    pub proof: Proof,
}

/// A reason for which a proxy rejects a grant. Clients see the same problem for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GrantError {
    /// The request has no grant.
    #[error("the request has no grant")]
    Missing,
    /// Not a grant, forged, for another request, or for another data center.
    #[error("the grant is not valid for this request")]
    Invalid,
    /// The clocks disagree, or the grant is old.
    #[error("the grant is {age_ms} ms from this clock; expected at most {VALID_MS} ms")]
    Expired {
        /// Milliseconds between the grant and the clock, in either direction: more than
        /// [`VALID_MS`].
        age_ms: u64,
    },
    /// The request was made before.
    #[error("the grant was used before")]
    Replayed,
    /// The grant is older than what the proxy remembers, so it may have been used.
    #[error("the grant was issued before this process started, which may have forgotten its use")]
    Forgotten,
}

impl Grant {
    /// Signs the grant for one call: `target` is path and query exactly as the proxy will see them.
    pub fn sign(&self, call: &ToolCall<'_>, target: &str, data_center: &str, keys: &MacKeys) -> SignedGrant {
        let (key_version, mac) = keys.current();
        let version = if self.secret_id.is_some() { VERSION_NAMED } else { VERSION };
        let digest = target_digest(target);
        // Seven bytes are enough until long after the year 10000, and keep a grant at 96
        // characters.
        let [_, issued_at @ ..] = self.issued_at.0.to_be_bytes();
        let parts: [&[u8]; 6] = [
            &[version, key_version, self.tier.code(), call.tool.code(), method_code(call.method)],
            self.key_id.as_bytes(),
            &digest,
            &self.request_id.0,
            &issued_at,
            self.secret_id.as_ref().map_or(&[][..], |id| id.as_bytes().as_slice()),
        ];
        let mut bytes = Vec::with_capacity(MAX_LEN);
        for part in parts {
            bytes.extend_from_slice(part);
        }
        let (tag, proof) = Proof::split(mac.sign(&[DOMAIN, &bytes, data_center.as_bytes()]));
        bytes.extend(tag);
        SignedGrant { text: URL_SAFE_NO_PAD.encode(bytes), proof }
    }

    /// Checks the header's value against the request it came with, and returns the proof to respond
    /// with. Whether the request was made before is for the caller to know.
    ///
    /// # Errors
    /// Returns the [`GrantError`], found in this order: form, MAC (in constant time), request, age.
    pub fn verify(
        text: &[u8],
        call: &ToolCall<'_>,
        target: &str,
        data_center: &str,
        keys: &MacKeys,
        now: UnixMillis,
    ) -> Result<(Self, Proof), GrantError> {
        let (grant, proof) = Self::read(text, call, target, data_center, keys).ok_or(GrantError::Invalid)?;
        let age_ms = now.since(grant.issued_at).max(grant.issued_at.since(now));
        if age_ms > VALID_MS { Err(GrantError::Expired { age_ms }) } else { Ok((grant, proof)) }
    }

    fn read(
        text: &[u8],
        call: &ToolCall<'_>,
        target: &str,
        data_center: &str,
        keys: &MacKeys,
    ) -> Option<(Self, Proof)> {
        let mut bytes = [0; MAX_LEN];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        let parsed = Self::parse(bytes.get(..length)?)?;
        let proof = parsed.verify_mac(data_center, keys)?;
        let same_request = parsed.tool == call.tool.code()
            && parsed.method == method_code(call.method)
            && *parsed.digest == target_digest(target);
        same_request.then_some((parsed.grant, proof))
    }

    /// Reads the form of a grant. Its MAC is not verified.
    fn parse(bytes: &[u8]) -> Option<Parsed<'_>> {
        let (signed, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG)?)?;
        let (&[version, key_version, tier, tool, method], rest) = signed.split_first_chunk::<5>()?;
        let (key_id, rest) = rest.split_first_chunk::<12>()?;
        let (digest, rest) = rest.split_first_chunk::<16>()?;
        let (request_id, rest) = rest.split_first_chunk::<16>()?;
        let (issued_at, rest) = rest.split_first_chunk::<7>()?;
        let secret_id = match (version, rest) {
            (VERSION, []) => None,
            (VERSION_NAMED, id) => Some(SecretId::new(id.try_into().ok()?)),
            _ => return None,
        };
        let issued_at = issued_at.iter().fold(0, |ms, &byte| ms << 8 | u64::from(byte));
        let grant = Self {
            key_id: KeyId::new(*key_id),
            secret_id,
            tier: Tier::from_code(tier)?,
            request_id: RequestId(*request_id),
            issued_at: UnixMillis(issued_at),
        };
        Some(Parsed { grant, signed, tag, key_version, tool, method, digest })
    }
}

/// A grant whose form is good.
struct Parsed<'a> {
    grant: Grant,
    signed: &'a [u8],
    tag: &'a [u8],
    key_version: u8,
    tool: u8,
    method: u8,
    digest: &'a [u8; 16],
}

impl Parsed<'_> {
    /// Compares the MAC in constant time. Returns the proof to respond with if it is that of a secret and
    /// a data center.
    fn verify_mac(&self, data_center: &str, keys: &MacKeys) -> Option<Proof> {
        let mac = keys.version(self.key_version)?.sign(&[DOMAIN, self.signed, data_center.as_bytes()]);
        let (expected, proof) = Proof::split(mac);
        equal(&expected, self.tag).then_some(proof)
    }
}

impl From<GrantError> for Problem {
    fn from(_: GrantError) -> Self {
        Self::new(codes::GRANT_INVALID, "this origin serves calls that come through the gateway's edge")
    }
}

fn target_digest(target: &str) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = sha256(&[target.as_bytes()]);
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

const fn method_code(method: CallMethod) -> u8 {
    match method {
        CallMethod::Get => 0,
        CallMethod::Post => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::action::Action;
    use crate::tool::Tool;

    const TARGET: &str = "/v1/qr/generate?url=x";
    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn keys(secret: &str) -> MacKeys {
        MacKeys::parse(secret).unwrap()
    }

    fn secret() -> MacKeys {
        keys("0123456789abcdef0123456789abcdef")
    }

    fn call(method: CallMethod, tool: Tool) -> ToolCall<'static> {
        ToolCall { method, tool, action: Action::parse("generate").unwrap() }
    }

    fn grant() -> Grant {
        let request_id = RequestId([4; 16]);
        Grant { key_id: KeyId::new([3; 12]), secret_id: None, tier: Tier::Pro, request_id, issued_at: NOW }
    }

    fn named() -> Grant {
        Grant { secret_id: Some(SecretId::new([255; 8])), ..grant() }
    }

    fn signed() -> String {
        text_of(&grant())
    }

    fn text_of(grant: &Grant) -> String {
        grant.sign(&call(CallMethod::Post, Tool::Qr), TARGET, "fra", &secret()).text
    }

    fn verify(
        text: &str,
        method: CallMethod,
        tool: Tool,
        target: &str,
        place: &str,
        now: u64,
    ) -> Result<Grant, GrantError> {
        Grant::verify(text.as_bytes(), &call(method, tool), target, place, &secret(), UnixMillis(now))
            .map(|(grant, _)| grant)
    }

    #[test]
    fn grant_is_valid_for_its_request_and_data_center_only() {
        let text = signed();
        let ok = verify(&text, CallMethod::Post, Tool::Qr, TARGET, "fra", NOW.0);
        assert_eq!(ok, Ok(grant()));
        for other in [
            verify(&text, CallMethod::Get, Tool::Qr, TARGET, "fra", NOW.0),
            verify(&text, CallMethod::Post, Tool::Pdf, TARGET, "fra", NOW.0),
            verify(&text, CallMethod::Post, Tool::Qr, "/v1/qr/generate?url=y", "fra", NOW.0),
            verify(&text, CallMethod::Post, Tool::Qr, TARGET, "iad", NOW.0),
        ] {
            assert_eq!(other, Err(GrantError::Invalid));
        }
    }

    #[test]
    fn grant_expires_after_thirty_seconds_either_way() {
        let at = |now| verify(&signed(), CallMethod::Post, Tool::Qr, TARGET, "fra", now).err();
        assert_eq!(at(NOW.0 + VALID_MS), None);
        assert_eq!(at(NOW.0 - VALID_MS), None);
        let age_ms = VALID_MS + 1;
        for now in [NOW.0 + age_ms, NOW.0 - age_ms] {
            assert_eq!(at(now), Some(GrantError::Expired { age_ms }));
        }
    }

    /// What another version signs with the same secret means something else.
    #[test]
    fn grant_of_another_version_is_refused() {
        for (version, valid) in [(VERSION, true), (0, false), (VERSION + 1, false), (u8::MAX, false)] {
            let mut bytes = URL_SAFE_NO_PAD.decode(signed()).unwrap();
            bytes.truncate(SIGNED);
            bytes[0] = version;
            bytes.extend(Proof::split(secret().current().1.sign(&[DOMAIN, &bytes, b"fra"])).0);
            let text = URL_SAFE_NO_PAD.encode(bytes);
            let verified = verify(&text, CallMethod::Post, Tool::Qr, TARGET, "fra", NOW.0);
            assert_eq!(verified, if valid { Ok(grant()) } else { Err(GrantError::Invalid) }, "{version}");
        }
    }

    /// Another length is refused, not only another text of the same length.
    #[test]
    fn grant_of_another_length_is_refused() {
        let text = signed();
        assert_eq!(text.len(), LEN / 3 * 4);
        let named = text_of(&named());
        for other in [
            &text[..92],
            &text[..95],
            &format!("{text}A"),
            &format!("{text}AAAA"),
            &format!("{text}AAAAAAAAAAA"),
            &format!("{text}="),
            &named[..96],
            &named[..106],
            &format!("{named}A"),
        ] {
            let verified = verify(other, CallMethod::Post, Tool::Qr, TARGET, "fra", NOW.0);
            assert_eq!(verified, Err(GrantError::Invalid), "{other}");
        }
    }

    #[test]
    fn grant_names_a_secret_only_if_there_is_one_to_name() {
        let text = text_of(&named());
        assert_eq!((text.len(), signed().len()), (107, 96));
        assert_eq!(verify(&text, CallMethod::Post, Tool::Qr, TARGET, "fra", NOW.0), Ok(named()));
    }

    #[test]
    fn grants_of_two_live_secrets_are_valid_during_a_rotation() {
        let both = keys("2:fedcba9876543210fedcba9876543210,1:0123456789abcdef0123456789abcdef");
        let call = call(CallMethod::Post, Tool::Qr);
        for signer in [&secret(), &both] {
            let signed = grant().sign(&call, TARGET, "fra", signer);
            let verified = Grant::verify(signed.text.as_bytes(), &call, TARGET, "fra", &both, NOW);
            assert!(verified.is_ok_and(|(_, proof)| signed.proof.matches(&proof.to_string())));
        }
    }

    #[test]
    fn proof_belongs_to_one_grant_and_is_not_in_its_text() {
        let call = call(CallMethod::Post, Tool::Qr);
        let signed = grant().sign(&call, TARGET, "fra", &secret());
        assert!(signed.proof.matches(&signed.proof.to_string()));
        let other = Grant { request_id: RequestId([5; 16]), ..grant() };
        for other in [
            other.sign(&call, TARGET, "fra", &secret()),
            grant().sign(&call, TARGET, "iad", &secret()),
            grant().sign(&call, "/v1/qr/generate", "fra", &secret()),
            grant().sign(&call, TARGET, "fra", &keys("fedcba9876543210fedcba9876543210")),
        ] {
            assert!(!signed.proof.matches(&other.proof.to_string()));
        }
        assert!(!signed.text.contains(&signed.proof.to_string()));
    }

    proptest! {
        #[test]
        fn grant_reads_back_as_itself(
            id: [u8; 12],
            named: Option<[u8; 8]>,
            request: [u8; 16],
            ms in 0u64..(1 << 56),
            tier in 0u8..3,
        ) {
            let grant = Grant {
                key_id: KeyId::new(id),
                secret_id: named.map(SecretId::new),
                tier: Tier::from_code(tier).unwrap(),
                request_id: RequestId(request),
                issued_at: UnixMillis(ms),
            };
            let text = grant.sign(&call(CallMethod::Get, Tool::Yt), TARGET, "fra", &secret()).text;
            prop_assert_eq!(verify(&text, CallMethod::Get, Tool::Yt, TARGET, "fra", ms), Ok(grant));
        }

        #[test]
        fn grant_with_one_changed_character_is_refused(
            is_named: bool,
            place: proptest::sample::Index,
            replacement in "[ -~]",
        ) {
            let mut text = text_of(&if is_named { named() } else { grant() });
            let place = place.index(text.len());
            prop_assume!(text[place..=place] != replacement);
            text.replace_range(place..=place, &replacement);
            prop_assert_eq!(
                verify(&text, CallMethod::Post, Tool::Qr, TARGET, "fra", NOW.0),
                Err(GrantError::Invalid)
            );
        }
    }
}
