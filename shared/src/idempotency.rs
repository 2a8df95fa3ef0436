//! The state machine behind `Idempotency-Key`: the first request issues a key, and its retries get
//! the same one.
//!
//! A meter keeps it at the edge, and the proxy does in direct mode. What is derived from the header to
//! issue a key is in [`keys_api`](crate::keys_api).

mod key;

pub use key::{IDEMPOTENCY_KEY, IdempotencyKey};

use serde::{Deserialize, Serialize};

use crate::problem::{Problem, codes};
use crate::time::UnixMillis;

/// Time for which a retry gets the same response, in milliseconds: a day.
pub const KEEP_MS: u64 = 86_400_000;
/// Time after which a retry replaces a request that is still in flight, in milliseconds.
pub const BUSY_MS: u64 = 30_000;

/// A request to issue a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueAttempt {
    nonce: String,
    fingerprint: String,
    signing: u8,
}

impl IssueAttempt {
    /// Makes an attempt from its nonce, the MAC of the request, and the version of the key that
    /// signed it.
    pub const fn new(nonce: String, fingerprint: String, signing: u8) -> Self {
        Self { nonce, fingerprint, signing }
    }
}

/// A step of a request to issue a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueStep {
    /// It begins. The same step again gets the same turn.
    Begin(IssueAttempt),
    /// The record is stored.
    Done,
    /// It was given up, and nothing is stored: a retry need not wait, and stores.
    Failed,
}

/// The decision on a step of a request to issue a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueTurn {
    /// Issue the key of this nonce as of this moment, and store it.
    Issue {
        /// For [`IdempotencyKey::entropy`](crate::idempotency::IdempotencyKey::entropy).
        nonce: String,
        /// The moment at which the key is issued.
        at: UnixMillis,
    },
    /// Make the response again, and store nothing: the key may have been changed since.
    Replay {
        /// For [`IdempotencyKey::entropy`](crate::idempotency::IdempotencyKey::entropy).
        nonce: String,
        /// The moment at which the key was issued.
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
    /// Returns the nonce and moment to issue with, and whether the record is to be stored.
    ///
    /// # Errors
    /// Returns `idempotency-conflict` or `idempotency-key-reused`.
    pub fn resolve(self) -> Result<(String, UnixMillis, bool), Problem> {
        match self {
            Self::Issue { nonce, at } => Ok((nonce, at, true)),
            Self::Replay { nonce, at } => Ok((nonce, at, false)),
            Self::InFlight => {
                let detail = "another request with this Idempotency-Key is in flight; try again";
                Err(Problem::new(codes::IDEMPOTENCY_CONFLICT, detail).retry_after(1))
            }
            Self::SigningChanged => Err(Problem::new(
                codes::IDEMPOTENCY_CONFLICT,
                "the signing secret was changed since the first request, whose key cannot be shown again; find it in the list and rotate it",
            )),
            Self::Reused => Err(Problem::new(
                codes::IDEMPOTENCY_KEY_REUSED,
                "this Idempotency-Key was sent with another request within the last 24 hours",
            )),
            Self::Noted => Err(Problem::new(codes::INTERNAL, "a request to issue a key has no turn")),
        }
    }
}

/// The state of one `Idempotency-Key`, kept for a day.
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
                // Kept with its nonce: a retry makes the same key, should the failed write have
                // come through after all.
                (known.done, known.busy_until) = (false, now);
                IssueTurn::Noted
            }
            (None, IssueStep::Done | IssueStep::Failed) => IssueTurn::Noted,
        }
    }

    /// Returns true if the day is over, so that the state can be dropped.
    pub fn is_over(&self, now: UnixMillis) -> bool {
        now.since(self.at) >= KEEP_MS
    }

    /// Returns true if it was stored by a clock that was far ahead of `now`.
    pub fn is_from_future(&self, now: UnixMillis) -> bool {
        self.at.max(self.busy_until) > now.latest_stored()
    }

    /// Returns the moment from which it is over.
    pub(crate) fn ends_at(&self) -> UnixMillis {
        self.at.plus(KEEP_MS)
    }

    fn begin_again(&mut self, attempt: IssueAttempt, now: UnixMillis) -> IssueTurn {
        // First, because the fingerprint is signed too and would differ for that reason alone.
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
        // The same attempt may arrive twice, since the message to a meter is repeated. It must not
        // wait for itself.
        if now < self.busy_until && attempt.nonce != self.busy {
            return IssueTurn::InFlight;
        }
        self.busy = attempt.nonce;
        self.busy_until = now.plus(BUSY_MS);
        // With the first nonce and moment: both requests make the same key, whichever of them is
        // stored.
        IssueTurn::Issue { nonce, at }
    }
}
