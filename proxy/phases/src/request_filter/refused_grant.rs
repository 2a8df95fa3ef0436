//! Says why a grant was refused: in the logs and to the edge.

use shared::grant::{Checked, GrantError, GrantRefusal};
use shared::headers;
use shared::problem::Problem;
use shared::route::ToolCall;

use crate::call::Record;
use crate::observe::refused_grants::Fields;
use crate::state::{EdgeMode, State};
use transport::clock::Monotonic;
use transport::request_head::RawHead;

/// A call that its grant does not admit.
pub(super) enum Refused {
    /// The grant is not good.
    Grant(GrantError),
    /// Something else is wrong.
    Problem(Problem),
}

impl From<GrantError> for Refused {
    fn from(error: GrantError) -> Self {
        Self::Grant(error)
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Returns the problem of a refused call. Logs and counts the reason if the grant is not good.
pub(super) fn problem(
    (state, edge): (&State, &EdgeMode),
    record: &mut Record,
    raw: &RawHead<'_>,
    (call, target): (&ToolCall<'_>, &str),
    data_center: &str,
    refused: Refused,
) -> Problem {
    let error = match refused {
        Refused::Grant(error) => error,
        Refused::Problem(problem) => return problem,
    };
    let only = |name| raw.only(name).ok().flatten();
    let named = only(headers::DATA_CENTER).and_then(|name| std::str::from_utf8(name).ok());
    let refusal = GrantRefusal::of(
        error,
        &Checked {
            text: only(headers::GRANT).unwrap_or_default(),
            call,
            target,
            data_center,
            named,
            keys: &edge.config.load().keys,
            now: record.started.time,
        },
    );
    // Each is counted, but not logged: strangers could fill the disk with lines.
    state.metrics.grants_refused.inc(refusal.reason);
    if let Some(more) = edge.refused.record(refusal.reason, Monotonic::at(record.started.instant)) {
        let (fields, id) = (Fields(&refusal), record.log.request_id);
        log::warn!(
            "grant refused: {fields} request_id={id} data_center={data_center} tool={} unlogged={more}",
            call.tool
        );
    }
    let problem = Problem::from(error).with_header(headers::GRANT_REFUSAL, refusal.to_string());
    record.log.refused_grant = Some(Box::new(refusal));
    problem
}
