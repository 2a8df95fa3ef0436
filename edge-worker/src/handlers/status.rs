//! `GET /healthz` and `GET /v1/status`.

use shared::status::StatusReport;

use crate::{edge::Edge, origin, respond::Answer};

/// The worker runs and is configured; nothing else is asked.
pub(crate) fn health() -> Answer {
    Answer::json(r#"{"status":"ok"}"#.to_owned())
}

/// Which tools are available, as the first origin that answers sees it. When none does, none is.
pub(crate) async fn tools(edge: &Edge<'_>) -> Result<Answer, shared::problem::Problem> {
    let report = origin::status(edge).await.unwrap_or_else(|| StatusReport::new(|_| false));
    Ok(Answer::json(report.to_json()))
}
