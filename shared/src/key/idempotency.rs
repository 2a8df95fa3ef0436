//! `Idempotency-Key` of `POST /v1/keys/issue`: a retry gets the same key again, though no key is stored.
//!
//! The key's id and secret are derived from the signing secret, the client's `Idempotency-Key` and a nonce. Only the nonce
//! is stored, for a day, with the moment of issuing and a MAC of the request. So a retry can make the response anew, and
//! nothing at rest tells the key without the signing secret and the client's header.

use std::fmt::Write as _;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    key::{KeyEntropy, NewKey},
    problem::{Code, Problem},
    secret::{MacKeys, sha256},
    time::UnixMillis,
};

/// The header.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

const NAME_DOMAIN: &[u8] = b"utg.idempotency.v1";
const ENTROPY_DOMAIN: &[u8] = b"utg.issue.v1";
const REQUEST_DOMAIN: &[u8] = b"utg.issue-request.v1";

/// How long a retry gets the same response, in milliseconds: a day.
const KEEP_MS: u64 = 86_400_000;
/// How long a request may take before a retry takes its place, in milliseconds.
const BUSY_MS: u64 = 30_000;

/// What a client sent as `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyKey<'a>(&'a str);

impl<'a> IdempotencyKey<'a> {
    const MAX_LEN: usize = 255;

    /// Reads the header; `None` without one.
    ///
    /// # Errors
    /// `header-malformed` unless it is 1 to 255 characters of visible ASCII without a comma, which would join two.
    pub fn read(header: Option<&'a str>) -> Result<Option<Self>, Problem> {
        let Some(text) = header.map(str::trim) else { return Ok(None) };
        let plain = |b: u8| b.is_ascii_graphic() && b != b',';
        if (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(plain) {
            return Ok(Some(Self(text)));
        }
        let detail =
            "Idempotency-Key must be 1 to 255 characters of visible ASCII without a comma, sent once";
        Err(Problem::new(Code::HeaderMalformed, detail))
    }

    /// The name under which its state is kept. It does not tell the header's text.
    #[must_use]
    pub fn name(&self) -> String {
        let digest = sha256(&[NAME_DOMAIN, self.0.as_bytes()]);
        digest.iter().take(16).fold("issue_".to_owned(), |mut name, byte| {
            // Writing to a text cannot fail.
            let _written = write!(name, "{byte:02x}");
            name
        })
    }

    /// A request to issue `new`, with 16 random bytes of its own.
    #[must_use]
    pub fn attempt(new: &NewKey, drawn: [u8; 16], keys: &MacKeys) -> IssueAttempt {
        let request = json!([new.holder, new.tier, new.limits, new.expires_at, new.biolink_plan]).to_string();
        let (signing, key) = keys.current();
        let fingerprint = URL_SAFE_NO_PAD.encode(key.sign(&[REQUEST_DOMAIN, request.as_bytes()]));
        IssueAttempt { nonce: URL_SAFE_NO_PAD.encode(drawn), fingerprint, signing }
    }

    /// The randomness of the key that is issued under this nonce.
    #[must_use]
    pub fn entropy(&self, nonce: &str, keys: &MacKeys) -> KeyEntropy {
        let (_, key) = keys.current();
        // The nonce is followed by a byte that is in none.
        let [a, b, c, d, e, f, g, h, i, j, k, l, rest @ ..] =
            key.sign(&[ENTROPY_DOMAIN, nonce.as_bytes(), b"\0", self.0.as_bytes()]);
        let secret = rest.first_chunk().copied().unwrap_or_default();
        KeyEntropy { id: [a, b, c, d, e, f, g, h, i, j, k, l], secret }
    }
}

/// A request to issue a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueAttempt {
    nonce: String,
    fingerprint: String,
    signing: u8,
}

/// How a request to issue a key goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueStep {
    /// It begins. The same step again gets the same turn.
    Begin(IssueAttempt),
    /// The record is stored.
    Done,
    /// It was given up: a retry need not wait.
    Failed,
}

/// What a request to issue a key may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueTurn {
    /// Issue the key of this nonce as of this moment, and store it.
    Issue {
        /// For [`IdempotencyKey::entropy`].
        nonce: String,
        /// When the key is issued.
        at: UnixMillis,
    },
    /// Make the response again, and store nothing: the key may have been changed since.
    Replay {
        /// For [`IdempotencyKey::entropy`].
        nonce: String,
        /// When the key was issued.
        at: UnixMillis,
    },
    /// Wait: another request under the same header is in flight.
    InFlight,
    /// The header was used for another request.
    Reused,
    /// The signing secret was changed since, and the response cannot be made again.
    SigningChanged,
    /// To a step that needs no turn.
    Noted,
}

impl IssueTurn {
    /// The nonce and moment to issue with, and whether the record is to be stored.
    ///
    /// # Errors
    /// `idempotency-conflict` or `idempotency-key-reused`.
    pub fn resolve(self) -> Result<(String, UnixMillis, bool), Problem> {
        match self {
            Self::Issue { nonce, at } => Ok((nonce, at, true)),
            Self::Replay { nonce, at } => Ok((nonce, at, false)),
            Self::InFlight => {
                let detail = "another request with this Idempotency-Key is in flight; try again";
                Err(Problem::new(Code::IdempotencyConflict, detail).retry_after(1))
            }
            Self::SigningChanged => Err(Problem::new(
                Code::IdempotencyConflict,
                "the signing secret was changed since the first request, whose key cannot be shown again; find it in the list and rotate it",
            )),
            Self::Reused => Err(Problem::new(
                Code::IdempotencyKeyReused,
                "this Idempotency-Key was sent with another request within the last 24 hours",
            )),
            Self::Noted => Err(Problem::new(Code::Internal, "a request to issue a key has no turn")),
        }
    }
}

/// What is kept of an `Idempotency-Key` for a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueOnce {
    first: IssueAttempt,
    at: UnixMillis,
    done: bool,
    /// The nonce of the request that is in flight, and until when it may be.
    busy: String,
    busy_until: UnixMillis,
}

impl IssueOnce {
    /// Takes a step in.
    pub fn step(known: &mut Option<Self>, step: IssueStep, now: UnixMillis) -> IssueTurn {
        if known.as_ref().is_some_and(|known| known.is_over(now)) {
            *known = None;
        }
        match (known, step) {
            (Some(known), IssueStep::Begin(attempt)) => known.begin_again(attempt, now),
            (known @ None, IssueStep::Begin(first)) => {
                let (nonce, busy) = (first.nonce.clone(), first.nonce.clone());
                *known = Some(Self { first, at: now, done: false, busy, busy_until: now.plus(BUSY_MS) });
                IssueTurn::Issue { nonce, at: now }
            }
            (Some(known), IssueStep::Done) => {
                known.done = true;
                IssueTurn::Noted
            }
            (Some(known), IssueStep::Failed) => {
                known.busy_until = now;
                IssueTurn::Noted
            }
            (None, IssueStep::Done | IssueStep::Failed) => IssueTurn::Noted,
        }
    }

    /// Whether it was kept for its day.
    #[must_use]
    pub fn is_over(&self, now: UnixMillis) -> bool {
        now.since(self.at) >= KEEP_MS
    }

    fn begin_again(&mut self, attempt: IssueAttempt, now: UnixMillis) -> IssueTurn {
        if attempt.signing != self.first.signing {
            return IssueTurn::SigningChanged;
        }
        if attempt.fingerprint != self.first.fingerprint {
            return IssueTurn::Reused;
        }
        let (nonce, at) = (self.first.nonce.clone(), self.at);
        if self.done {
            return IssueTurn::Replay { nonce, at };
        }
        if now < self.busy_until && attempt.nonce != self.busy {
            return IssueTurn::InFlight;
        }
        self.busy = attempt.nonce;
        self.busy_until = now.plus(BUSY_MS);
        IssueTurn::Issue { nonce, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        key::{IssueRequest, KeyEnv},
        request_id::RequestId,
    };

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn keys(text: &str) -> MacKeys {
        MacKeys::parse(text).unwrap()
    }

    fn attempt(name: &str, drawn: u8) -> IssueAttempt {
        let body = json!({"email": "a@b.co", "name": name, "tier": "pro", "admin_secret": "s"}).to_string();
        let new = IssueRequest::read(body.as_bytes()).unwrap().check(NOW).unwrap();
        IdempotencyKey::attempt(&new, [drawn; 16], &keys("0123456789abcdef0123456789abcdef"))
    }

    fn begin(known: &mut Option<IssueOnce>, attempt: IssueAttempt, now: UnixMillis) -> IssueTurn {
        IssueOnce::step(known, IssueStep::Begin(attempt), now)
    }

    #[test]
    fn retry_gets_the_first_ones_turn_and_stores_nothing() {
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
    fn request_that_failed_or_vanished_is_taken_up_by_the_next() {
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
    fn what_is_kept_tells_neither_the_key_nor_its_holder() {
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
        assert_ne!(secret(&key, "n", &own), secret(&IdempotencyKey("order-18"), "n", &own));
    }

    #[test]
    fn replayed_response_is_the_first_byte_for_byte() {
        let signing = keys("0123456789abcdef0123456789abcdef");
        let key = IdempotencyKey("order-17");
        let issue = |now| {
            let body =
                json!({"email": "a@b.co", "name": "Ada", "tier": "pro", "admin_secret": "s"}).to_string();
            let new = IssueRequest::read(body.as_bytes()).unwrap().check(now).unwrap();
            new.issue(KeyEnv::Live, key.entropy("n", &signing), &signing, NOW).answer().body
        };
        assert_eq!(issue(NOW), issue(NOW.plus(60_000)));
    }

    #[test]
    fn changed_signing_secret_and_malformed_headers_are_refused() {
        let mut known = None;
        begin(&mut known, attempt("Ada", 1), NOW);
        let turn = begin(&mut known, IssueAttempt { signing: 2, ..attempt("Ada", 2) }, NOW);
        assert_eq!(turn.resolve().unwrap_err().render(&RequestId([0; 16])).status, 409);
        assert_eq!(IdempotencyKey::read(None), Ok(None));
        for text in ["", " ", "a,b", "a b", "\u{fc}", &"a".repeat(256)] {
            assert!(IdempotencyKey::read(Some(text)).is_err(), "{text:?}");
        }
    }
}
