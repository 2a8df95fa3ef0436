//! `GET /healthz` and `GET /v1/status`.

use shared::{origin::Failure, problem::Problem};

use crate::{edge::Edge, origin, respond::Answer};

/// The worker runs and is configured; nothing else is asked.
pub(crate) fn health() -> Answer {
    Answer::json(r#"{"status":"ok"}"#.to_owned())
}

/// Which tools are available, as the first origin that answers sees it.
///
/// # Errors
/// `tool-unavailable` when none does: then nothing is known.
pub(crate) async fn tools(edge: &Edge<'_>) -> Result<Answer, Problem> {
    let report = origin::status(edge).await.ok_or_else(|| Failure::Refused.problem())?;
    Ok(Answer::json(report.to_json()))
}
