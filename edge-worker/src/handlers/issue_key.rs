//! `POST /v1/keys/issue`.

use shared::{
    caller,
    key::{IssueRequest, KeyEntropy, MAX_BODY},
    problem::{Code, Problem},
    quota::Decision,
};

use crate::{body, edge::Edge, entropy, key_store, log, log::Line, meter, respond::Answer};

const CLIENT_ADDRESS: &str = "cf-connecting-ip";

pub(crate) async fn handle(edge: &Edge<'_>, line: &mut Line) -> Result<Answer, Problem> {
    edge.address.check_confidential(edge.bindings.http_allowed)?;
    let body = body::read(edge.incoming, &edge.head, MAX_BODY).await?;
    let request = IssueRequest::read(&body)?;
    if let Some(secret) = request.admin_secret() {
        check_admin_secret(edge, secret).await?;
    }
    let new = request.check(edge.incoming.now)?;
    let entropy = draw(edge)?;
    let issued = new.issue(edge.bindings.key_env, entropy, &edge.bindings.signing, edge.incoming.now);
    line.key_id = Some(issued.record.id);
    line.tier = Some(issued.record.tier);
    key_store::store(&edge.bindings.keys, &issued.record, edge.incoming).await?;
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        ("cache-control", "no-store".to_owned()),
        ("location", format!("/v1/keys/{}", issued.record.id)),
    ];
    Ok(Answer::Written { status: 201, headers, body: issued.to_json().to_string() })
}

/// Counts the attempt first: of secrets presented at the same moment no more are compared than may be.
async fn check_admin_secret(edge: &Edge<'_>, secret: &str) -> Result<(), Problem> {
    let caller = caller::name(edge.incoming.header(CLIENT_ADDRESS), &edge.bindings.signing);
    match meter::begin_attempt(edge, &caller).await? {
        Decision::Deny(denial, _) => Err(caller::attempts_exceeded(&denial)),
        Decision::Allow(_) if edge.bindings.admin.matches(secret) => {
            meter::end_attempt(edge, caller);
            Ok(())
        }
        Decision::Allow(_) => Err(Problem::new(Code::AdminSecretInvalid, "the admin secret is wrong")),
    }
}

fn draw(edge: &Edge<'_>) -> Result<KeyEntropy, Problem> {
    let drawn = entropy::random().and_then(|id| Ok(KeyEntropy { id, secret: entropy::random()? }));
    drawn.map_err(|fault| {
        log::cause("drawing a key", Some(edge.incoming), fault);
        Problem::new(Code::Internal, "the gateway has no randomness")
    })
}
