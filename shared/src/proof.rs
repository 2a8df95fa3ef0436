//! A proxy's proof to the edge that a response is its own, and not that of another server at its
//! address.
//!
//! A grant ends with the first half of an HMAC, and the proxy responds with the second half, which
//! only a holder of the secret can know. So the proof binds all that the grant does (key, request,
//! target, data center and moment), it follows the rotation of the secret, and it costs neither
//! side another MAC.
//!
//! Why: docs/decisions/edge.md, "A response must carry the proxy's proof".

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::request_id::RequestId;
use crate::secret::{MacKeys, equal};

const PROBE_DOMAIN: &[u8] = b"utg.probe.v1";
const LEN: usize = 16;
const TEXT_LEN: usize = 22;

/// The proof for one request: 128 bits, written as 22 characters of base64url.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Proof([u8; LEN]);

impl Proof {
    /// Splits the MAC of a grant into the grant's tag and the proof.
    pub(crate) const fn split(mac: [u8; 32]) -> ([u8; LEN], Self) {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, proof @ ..] = mac;
        ([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p], Self(proof))
    }

    /// Signs the response to a request without a grant, such as a health probe. `data_center` is
    /// the proxy's own.
    ///
    /// It proves nothing about a call, because anybody may ask for it: its MAC has its own domain.
    pub fn of_probe(id: RequestId, data_center: &str, keys: &MacKeys) -> Self {
        let mac = keys.current().1.sign(&[PROBE_DOMAIN, &id.0, data_center.as_bytes()]);
        Self(Self::split(mac).0)
    }

    /// Returns true if `text` is the proof of a probe under any live secret, in constant time.
    pub fn verify_probe(text: &str, id: RequestId, data_center: &str, keys: &MacKeys) -> bool {
        let parts: [&[u8]; 3] = [PROBE_DOMAIN, &id.0, data_center.as_bytes()];
        // Any live secret: during a rotation, edge and proxy change to the new one at different
        // moments.
        Self::parse(text).is_some_and(|proof| keys.live().any(|(_, key)| key.verify(&parts, &proof.0)))
    }

    /// Returns true if `text` is this proof, in constant time.
    pub fn matches(&self, text: &str) -> bool {
        Self::parse(text).is_some_and(|proof| equal(&proof.0, &self.0))
    }

    /// Returns what `Display` writes.
    pub fn text(&self) -> [u8; TEXT_LEN] {
        let mut text = [0; TEXT_LEN];
        // It has room for exactly that.
        let _written = URL_SAFE_NO_PAD.encode_slice(self.0, &mut text);
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; LEN];
        let decoded = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok()?;
        (decoded == LEN).then_some(Self(bytes))
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

/// Redacted: it is good for one response only, but no log needs it.
impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: RequestId = RequestId([4; 16]);
    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";

    fn keys(text: &str) -> MacKeys {
        MacKeys::parse(text).unwrap()
    }

    #[test]
    fn probe_is_proven_for_its_request_and_data_center_only() {
        let text = Proof::of_probe(ID, "fra", &keys(OLD)).to_string();
        assert!(Proof::verify_probe(&text, ID, "fra", &keys(OLD)));
        assert!(!Proof::verify_probe(&text, RequestId([5; 16]), "fra", &keys(OLD)));
        assert!(!Proof::verify_probe(&text, ID, "iad", &keys(OLD)));
        assert!(!Proof::verify_probe(&text, ID, "fra", &keys(NEW)));
    }

    #[test]
    fn probe_is_proven_under_any_live_secret() {
        let (old, new) = (format!("1:{OLD},2:{NEW}"), format!("2:{NEW},1:{OLD}"));
        for proxy in [OLD, &old, &new] {
            for edge in [&old, &new] {
                let text = Proof::of_probe(ID, "fra", &keys(proxy)).to_string();
                assert!(Proof::verify_probe(&text, ID, "fra", &keys(edge)), "{proxy} {edge}");
            }
        }
    }

    #[test]
    fn malformed_text_proves_nothing() {
        let proof = Proof([7; LEN]);
        assert!(proof.matches(&proof.to_string()));
        assert_eq!(format!("{proof:?}"), "Proof(redacted)");
        for text in ["", "BwcHBwcHBwcHBwcHBwcHB", "BwcHBwcHBwcHBwcHBwcHBw==", "BwcHBwcHBwcHBwcHBwcHBg", "é"]
        {
            assert!(!proof.matches(text), "{text}");
        }
    }
}
