//! `Idempotency-Key` of `POST /v1/keys/issue` and `POST /v1/keys/me/secrets`: a retry gets the same
//! key again, though no key is stored.
//!
//! Its id and secret are derived from the signing secret, the client's `Idempotency-Key` and a nonce.
//! Only the nonce is stored, for a day, with the moment of issuing and a MAC of the request. So a retry can make the response anew, and nothing at rest reveals the key without the
//! signing secret and the client's header.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::idempotency::{IdempotencyKey, IssueAttempt};
use crate::key::KeyEntropy;
use crate::keys_api::{NewKey, NewSecret};
use crate::secret::MacKeys;

const ENTROPY_DOMAIN: &[u8] = b"utg.issue.v1";
const REQUEST_DOMAIN: &[u8] = b"utg.issue-request.v1";

impl IdempotencyKey<'_> {
    /// Returns a request to issue `new`, with its own 16 random bytes.
    pub fn attempt(new: &NewKey, drawn: [u8; 16], keys: &MacKeys) -> IssueAttempt {
        let request = json!([
            new.holder,
            new.tier,
            new.limits,
            new.expires_at,
            new.biolink_plan,
            new.account,
            new.when_meter_unreachable,
        ]);
        attempt(&request, drawn, keys)
    }

    /// Returns a request to make the secret `new`, as [`IdempotencyKey::attempt`].
    pub fn attempt_secret(new: &NewSecret, drawn: [u8; 16], keys: &MacKeys) -> IssueAttempt {
        attempt(&json!([new.name, new.scopes, new.expires_at]), drawn, keys)
    }

    /// Returns the randomness of the key that is issued under this nonce.
    pub fn entropy(&self, nonce: &str, keys: &MacKeys) -> KeyEntropy {
        let (_, key) = keys.current();
        // The nonce is followed by a byte that is in none.
        let [a, b, c, d, e, f, g, h, i, j, k, l, rest @ ..] =
            key.sign(&[ENTROPY_DOMAIN, nonce.as_bytes(), b"\0", self.as_str().as_bytes()]);
        let secret = rest.first_chunk().copied().unwrap_or_default();
        KeyEntropy { id: [a, b, c, d, e, f, g, h, i, j, k, l], secret }
    }
}

fn attempt(request: &Value, drawn: [u8; 16], keys: &MacKeys) -> IssueAttempt {
    let (signing, key) = keys.current();
    let fingerprint = key.sign(&[REQUEST_DOMAIN, request.to_string().as_bytes()]);
    IssueAttempt::new(URL_SAFE_NO_PAD.encode(drawn), URL_SAFE_NO_PAD.encode(fingerprint), signing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idempotency::{BUSY_MS, IssueOnce, IssueStep, IssueTurn, KEEP_MS};
    use crate::key::KeyEnv;
    use crate::keys_api::IssueRequest;
    use crate::problem::codes;
    use crate::request_id::RequestId;
    use crate::time::UnixMillis;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn keys(text: &str) -> MacKeys {
        MacKeys::parse(text).unwrap()
    }

    fn attempt(name: &str, drawn: u8) -> IssueAttempt {
        attempt_with(name, drawn, &keys("0123456789abcdef0123456789abcdef"))
    }

    fn attempt_with(name: &str, drawn: u8, keys: &MacKeys) -> IssueAttempt {
        let body = json!({"email": "a@b.co", "name": name, "tier": "pro", "admin_secret": "s"}).to_string();
        let new = IssueRequest::read(body.as_bytes(), None).unwrap().check(NOW).unwrap();
        IdempotencyKey::attempt(&new, [drawn; 16], keys)
    }

    fn begin(known: &mut Option<IssueOnce>, attempt: IssueAttempt, now: UnixMillis) -> IssueTurn {
        IssueOnce::step(known, IssueStep::Begin(attempt), now)
    }

    #[test]
    fn retry_gets_the_first_turn_and_stores_nothing() {
        let mut known = None;
        let first = begin(&mut known, attempt("Ada", 1), NOW);
        let (nonce, at, stores) = first.clone().resolve().unwrap();
        assert!(stores && at == NOW);
        assert_eq!(
            begin(&mut known, attempt("Ada", 1), NOW),
            first,
            "the same step again gets the same turn"
        );
        assert_eq!(begin(&mut known, attempt("Ada", 2), NOW.plus(1)), IssueTurn::InFlight);
        assert_eq!(IssueOnce::step(&mut known, IssueStep::Done, NOW.plus(2)), IssueTurn::Noted);
        let replay = begin(&mut known, attempt("Ada", 3), NOW.plus(KEEP_MS - 1));
        assert_eq!(replay, IssueTurn::Replay { nonce: nonce.clone(), at: NOW });
        assert_eq!(begin(&mut known, attempt("Bob", 4), NOW.plus(3)), IssueTurn::Reused);
        let later = begin(&mut known, attempt("Bob", 5), NOW.plus(KEEP_MS));
        assert!(
            matches!(later, IssueTurn::Issue { nonce: other, .. } if other != nonce),
            "a day later it is free"
        );
    }

    #[test]
    fn turn_without_a_key_is_a_problem() {
        for (turn, code) in [
            (IssueTurn::InFlight, codes::IDEMPOTENCY_CONFLICT),
            (IssueTurn::SigningChanged, codes::IDEMPOTENCY_CONFLICT),
            (IssueTurn::Reused, codes::IDEMPOTENCY_KEY_REUSED),
            (IssueTurn::Noted, codes::INTERNAL),
        ] {
            assert_eq!(turn.clone().resolve().unwrap_err().code(), code, "{turn:?}");
        }
        let replay = IssueTurn::Replay { nonce: "n".to_owned(), at: NOW };
        assert_eq!(replay.resolve(), Ok(("n".to_owned(), NOW, false)), "nothing is stored");
        assert_eq!(
            IssueOnce::step(&mut None, IssueStep::Done, NOW),
            IssueTurn::Noted,
            "and nothing is begun"
        );
    }

    #[test]
    fn failed_or_lost_request_is_resumed_by_the_next() {
        let mut known = None;
        let first = begin(&mut known, attempt("Ada", 1), NOW);
        IssueOnce::step(&mut known, IssueStep::Failed, NOW.plus(1));
        assert_eq!(
            begin(&mut known, attempt("Ada", 2), NOW.plus(2)),
            first,
            "with the same nonce and moment"
        );
        assert_eq!(begin(&mut known, attempt("Ada", 3), NOW.plus(BUSY_MS)), IssueTurn::InFlight);
        assert_eq!(begin(&mut known, attempt("Ada", 4), NOW.plus(2 + BUSY_MS)), first);
    }

    #[test]
    fn stored_state_reveals_neither_key_nor_holder() {
        let mut known = None;
        begin(&mut known, attempt("Ada", 1), NOW);
        let kept = serde_json::to_string(&known).unwrap();
        assert!(!kept.contains("Ada") && !kept.contains("a@b.co"), "{kept}");
        assert_eq!(serde_json::from_str::<Option<IssueOnce>>(&kept).unwrap(), known);
        let key = IdempotencyKey::read(Some(" order-17 ")).unwrap().unwrap();
        assert!(key.name().starts_with("issue_") && !key.name().contains("order"));
        let (own, other) =
            (keys("0123456789abcdef0123456789abcdef"), keys("fedcba9876543210fedcba9876543210"));
        let secret = |key: &IdempotencyKey<'_>, nonce, keys| key.entropy(nonce, keys).secret;
        assert_eq!(secret(&key, "n", &own), secret(&key, "n", &own));
        assert_ne!(secret(&key, "n", &own), secret(&key, "n", &other));
        assert_ne!(secret(&key, "n", &own), secret(&key, "m", &own));
        assert_ne!(
            secret(&key, "n", &own),
            secret(&IdempotencyKey::read(Some("order-18")).unwrap().unwrap(), "n", &own)
        );
    }

    #[test]
    fn replayed_response_is_the_first_byte_for_byte() {
        let signing = keys("0123456789abcdef0123456789abcdef");
        let key = IdempotencyKey::read(Some("order-17")).unwrap().unwrap();
        let issue = |now| {
            let body =
                json!({"email": "a@b.co", "name": "Ada", "tier": "pro", "admin_secret": "s"}).to_string();
            let new = IssueRequest::read(body.as_bytes(), None).unwrap().check(now).unwrap();
            new.issue(KeyEnv::Live, key.entropy("n", &signing), &signing, NOW).response().body
        };
        assert_eq!(issue(NOW), issue(NOW.plus(60_000)));
    }

    #[test]
    fn changed_signing_secret_and_malformed_headers_are_refused() {
        let mut known = None;
        begin(&mut known, attempt("Ada", 1), NOW);
        let other = keys("2:another-secret-of-32-characters!");
        let turn = begin(&mut known, attempt_with("Ada", 2, &other), NOW);
        assert_eq!(turn.resolve().unwrap_err().render(&RequestId([0; 16])).status, 409);
        assert_eq!(IdempotencyKey::read(None), Ok(None));
        for text in ["", " ", "a,b", "a b", "\u{fc}", &"a".repeat(256)] {
            assert!(IdempotencyKey::read(Some(text)).is_err(), "{text:?}");
        }
    }
}
