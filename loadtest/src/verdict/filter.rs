//! The part of a run that a condition or a tolerance is about.

use super::Evidence;
use super::error::ConditionError;
use crate::summary::GroupKey;

/// The name of the phase before the first event.
pub(super) const BEFORE: &str = "before";

/// A request and a phase, each by name. `None` is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) request: Option<String>,
    pub(super) phase: Option<String>,
}

impl Filter {
    pub(super) const fn is_empty(&self) -> bool {
        self.request.is_none() && self.phase.is_none()
    }

    /// Returns true if the calls of a group belong to the filter's request, or to one whose name
    /// continues it after a slash.
    pub(super) fn has_request(&self, request: u16, evidence: &Evidence<'_>) -> bool {
        self.is_about(evidence.requests.get(usize::from(request)).map_or("", String::as_str))
    }

    /// Returns true if the filter has the request with this name.
    pub(super) fn is_about(&self, request: &str) -> bool {
        self.request.as_deref().is_none_or(|wanted| is_or_continues(request, wanted))
    }

    /// Returns true if the phase has the name of the filter's phase.
    pub(super) fn has_phase(&self, phase: u16, evidence: &Evidence<'_>) -> bool {
        match self.phase.as_deref() {
            None => true,
            Some(BEFORE) => phase == 0,
            Some(wanted) => evidence.timeline.phase_name(phase) == *wanted,
        }
    }

    pub(super) fn has(&self, key: &GroupKey, evidence: &Evidence<'_>) -> bool {
        self.has_request(key.request, evidence) && self.has_phase(key.phase, evidence)
    }

    /// Returns an error if the request or the phase is not one of the scenario's.
    pub(super) fn validate(
        &self,
        text: &str,
        requests: &[String],
        phases: &[String],
    ) -> Result<(), ConditionError> {
        let unknown = |kind, name: &String, known: Vec<String>| ConditionError::UnknownName {
            text: text.to_owned(),
            kind,
            name: name.clone(),
            known: known.join(", "),
        };
        if let Some(name) = &self.request
            && !requests.iter().any(|request| is_or_continues(request, name))
        {
            return Err(unknown("request", name, requests.to_vec()));
        }
        match &self.phase {
            Some(name) if name != BEFORE && !phases.contains(name) => {
                let known = std::iter::once(BEFORE.to_owned()).chain(phases.iter().cloned());
                Err(unknown("phase", name, known.collect()))
            }
            _ => Ok(()),
        }
    }
}

fn is_or_continues(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
