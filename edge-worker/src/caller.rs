//! The caller of a request, as far as its handler finds out who that is. A handler returns it with its response or
//! problem, and the log lines are written from it: one that fails halfway has still found a key, and its line says which.

use shared::key::{KeyId, KeyRecord, SecretId, Subject, VerifiedKey};
use shared::problem::Problem;
use shared::response::Response;
use shared::tier::Tier;

/// The facts about who sends a request. Empty until the handler knows one.
#[derive(Clone, Default)]
pub(crate) struct Caller {
    /// The key that the request was authenticated with. Its log is written too.
    pub(crate) key: Option<VerifiedKey>,
    /// The key that the request was authenticated with, or is about.
    pub(crate) key_id: Option<KeyId>,
    /// The named secret of the key that the request was authenticated with.
    pub(crate) secret_id: Option<SecretId>,
    pub(crate) tier: Option<Tier>,
    /// The data center whose proxy sent the request.
    pub(crate) data_center: Option<String>,
}

/// A value, and what was found of the caller on the way to it.
pub(crate) struct Found<T> {
    pub(crate) value: T,
    pub(crate) caller: Caller,
}

/// The response of a handler that looks for its caller.
pub(crate) type Answer<T = Response, E = Problem> = Result<Found<T>, Found<E>>;

impl Caller {
    /// Returns the caller who was authenticated with a key.
    pub(crate) fn of(key: &VerifiedKey) -> Self {
        Self { key: Some(*key), ..Self::about(key.id) }
    }

    /// Returns the caller of a request about a key.
    pub(crate) fn about(id: KeyId) -> Self {
        Self { key_id: Some(id), ..Self::default() }
    }

    /// Returns the caller of a request to change a key.
    pub(crate) fn changing(subject: Subject<'_>) -> Self {
        Self { key: subject.by(), ..Self::about(*subject.id()) }
    }

    /// Returns the caller with the tier that the record of the key has, if it is known.
    pub(crate) fn with_tier(self, record: Option<&KeyRecord>) -> Self {
        Self { tier: record.map(|record| record.tier), ..self }
    }

    /// Returns the caller with what the record says of the key that was presented.
    pub(crate) fn with_record(self, record: &KeyRecord, key: &VerifiedKey) -> Self {
        Self { secret_id: record.secret_id(key), tier: Some(record.tier), ..self }
    }

    /// Returns the caller with what this one leaves open as in `outer`, whose request this one's stands for.
    pub(crate) fn within(self, outer: Self) -> Self {
        Self {
            key: self.key.or(outer.key),
            key_id: self.key_id.or(outer.key_id),
            secret_id: self.secret_id.or(outer.secret_id),
            tier: self.tier.or(outer.tier),
            data_center: self.data_center.or(outer.data_center),
        }
    }

    /// Returns the value of a step.
    ///
    /// # Errors
    /// The error of the step, with the caller.
    pub(crate) fn check<T, E>(&self, step: Result<T, E>) -> Result<T, Found<E>> {
        step.map_err(|value| Found { value, caller: self.clone() })
    }

    /// Returns an outcome with the caller.
    pub(crate) fn answer<T, E>(self, outcome: Result<T, E>) -> Answer<T, E> {
        match outcome {
            Ok(value) => Ok(Found { value, caller: self }),
            Err(value) => Err(Found { value, caller: self }),
        }
    }
}

impl<T> Found<T> {
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Found<U> {
        Found { value: change(self.value), caller: self.caller }
    }
}

/// A value from before anything is known of the caller.
impl<T> From<T> for Found<T> {
    fn from(value: T) -> Self {
        Self { value, caller: Caller::default() }
    }
}
