//! `POST /v1/keys/issue`.

use shared::{
    key::{IssueRequest, KeyEntropy, MAX_BODY},
    problem::{Code, Problem},
    written::Written,
};

use crate::{admin, body, edge::Edge, entropy, key_changes, key_store, log, log::Line};

pub(crate) async fn handle(edge: &Edge<'_>, line: &mut Line) -> Result<Written, Problem> {
    edge.address.check_confidential(edge.bindings.http_allowed)?;
    let body = body::read(edge.incoming, &edge.head, MAX_BODY).await?;
    let request = IssueRequest::read(&body)?;
    if let Some(secret) = request.admin_secret() {
        admin::check(edge, secret).await?;
    }
    let new = request.check(edge.incoming.now)?;
    let entropy = draw(edge)?;
    let issued = new.issue(edge.bindings.key_env, entropy, &edge.bindings.signing, edge.incoming.now);
    line.key_id = Some(issued.record.id);
    line.tier = Some(issued.record.tier);
    if issued.beyond_text {
        key_changes::note_issued(edge, &issued.record).await?;
    }
    key_store::store(&edge.bindings.keys, &issued.record, edge.incoming).await?;
    Ok(issued.answer())
}

/// Fresh randomness for a key.
///
/// # Errors
/// `internal`, when the runtime has none.
pub(super) fn draw(edge: &Edge<'_>) -> Result<KeyEntropy, Problem> {
    let drawn = entropy::random().and_then(|id| Ok(KeyEntropy { id, secret: entropy::random()? }));
    drawn.map_err(|fault| {
        log::cause("drawing a key", Some(edge.incoming), fault);
        Problem::new(Code::Internal, "the gateway has no randomness")
    })
}
