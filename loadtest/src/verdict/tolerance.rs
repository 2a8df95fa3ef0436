//! Responses other than 2xx and 3xx that a scenario expects.

use super::Evidence;
use super::error::ConditionError;
use super::filter::Filter;
use super::measure::StatusFilter;
use super::parse::split_filter;
use crate::summary::{GroupKey, OutcomeKey};
use shared::problem::codes;

/// An expected kind of response, such as `429`, `5xx in stopped`, `401 key-revoked` or `failed`.
#[derive(Clone, Debug)]
pub(crate) struct Tolerance {
    text: String,
    outcome: ToleratedOutcome,
    filter: Filter,
}

#[derive(Clone, Debug)]
enum ToleratedOutcome {
    Failed,
    Status { status: StatusFilter, code: Option<String> },
}

impl Tolerance {
    /// Parses a tolerance.
    ///
    /// # Errors
    /// Returns an error that says what was expected.
    pub(crate) fn parse(text: &str) -> Result<Self, ConditionError> {
        let invalid = || ConditionError::Tolerance(text.to_owned());
        let (outcome, filter) = split_filter(text);
        let mut words = outcome.split_whitespace();
        let outcome = match words.next() {
            Some("failed") => ToleratedOutcome::Failed,
            Some(status) => {
                let status = StatusFilter::parse(status).ok_or_else(invalid)?;
                ToleratedOutcome::Status { status, code: words.next().map(str::to_owned) }
            }
            None => return Err(invalid()),
        };
        if words.next().is_some() {
            return Err(invalid());
        }
        Ok(Self { text: text.to_owned(), outcome, filter })
    }

    /// Checks that the request and the phase exist.
    pub(crate) fn validate(&self, requests: &[String], phases: &[String]) -> Result<(), ConditionError> {
        self.filter.validate(&self.text, requests, phases)
    }

    /// Returns true if the calls of a group are expected. While an event happens, that of the phase
    /// before it and that of the phase after it is expected.
    pub(super) fn covers(&self, key: &GroupKey, evidence: &Evidence<'_>) -> bool {
        self.covers_outcome(key.outcome)
            && self.filter.has_request(key.request, evidence)
            && (self.filter.has_phase(key.phase, evidence)
                || (key.phase % 2 == 1
                    && [key.phase - 1, key.phase + 1]
                        .iter()
                        .any(|&phase| self.filter.has_phase(phase, evidence))))
    }

    /// Returns true if the limit of a key may refuse calls of a request, in any phase.
    pub(super) fn allows_limit(&self, request: &str) -> bool {
        let code = Some(codes::QUOTA_EXCEEDED.as_str());
        self.covers_outcome(OutcomeKey::Completed { status: 429, code, failed_check: None })
            && self.filter.is_about(request)
    }

    fn covers_outcome(&self, outcome: OutcomeKey) -> bool {
        match (&self.outcome, outcome) {
            (ToleratedOutcome::Failed, OutcomeKey::Failed(_)) => true,
            (
                ToleratedOutcome::Status { status: wanted, code: wanted_code },
                OutcomeKey::Completed { status, code, failed_check: None },
            ) => {
                // A class never covers a wrong key or path.
                let is_named = *wanted == StatusFilter::One(status) || !matches!(status, 401 | 404);
                wanted.has(status)
                    && is_named
                    && wanted_code.as_deref().is_none_or(|wanted| code == Some(wanted))
            }
            _ => false,
        }
    }
}
