//! `/console/session` and `/console/sessions`: browsers that are signed in with a key.

use portal::endpoint::Endpoint;
use portal::session::{self, SessionCall};
use shared::meter::{KeptSession, SessionId, SessionStep};
use shared::problem::Problem;
use shared::request::Head;
use shared::response::Response;

use crate::bindings::Bindings;
use crate::caller::{Answer, Found};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::handlers::read_own_key;
use crate::gateway::key_record;
use crate::gateway::meter_client::step_sessions;
use crate::runtime::client_request::ClientRequest;
use crate::runtime::entropy;

/// Handles a request for sessions.
///
/// # Errors
/// Those of the key, `scope-missing`, `too-many-requests`, `meter-unavailable`, and `internal` if the runtime has no
/// randomness.
pub(crate) async fn respond(
    context: &RequestContext<'_>,
    call: SessionCall,
    named: Option<SessionId>,
) -> Answer {
    let is_secure = context.address.is_secure();
    let own = of_cookie(context.request, context.bindings, is_secure);
    match call {
        SessionCall::Read => match read_own_key::handle(context).await {
            // A meter that is down says nothing about the session. The console must not show a
            // sign-out.
            Err(refused) if refused.value.status() >= 500 => Err(refused),
            Err(refused) => Ok(refused.map(|_| session::state(false))),
            Ok(found) => Ok(found.map(|_| session::state(true))),
        },
        SessionCall::Begin => {
            // Whether the key may be used.
            let Found { caller, .. } = read_own_key::handle(context).await?;
            let begun = begin(context, own).await;
            caller.answer(begun)
        }
        SessionCall::End => {
            if let Some(own) = own {
                // Before the cookie goes: if this fails, the browser can try again.
                step_sessions(context, &own.key.id, SessionStep::End(own.id)).await?;
            }
            Ok(session::end(is_secure).into())
        }
        SessionCall::List | SessionCall::EndAll | SessionCall::EndOne => {
            let Found { value: record, caller } = key_record::read(context, Endpoint::Session(call)).await?;
            let step = match (call, named) {
                (SessionCall::EndAll, _) => SessionStep::EndAll,
                (_, Some(id)) => SessionStep::End(id),
                (_, None) => SessionStep::List,
            };
            let sessions = caller.check(step_sessions(context, &record.id, step).await)?;
            caller.answer(Ok(match call {
                SessionCall::List => session::list(&sessions, own.map(|own| own.id)),
                SessionCall::EndAll => session::end(is_secure),
                _ => Response::no_content(),
            }))
        }
    }
}

/// Signs the browser in with the key that it sends, in place of the session that it had.
async fn begin(context: &RequestContext<'_>, own: Option<KeptSession>) -> Result<Response, Problem> {
    let key = authenticate(context)?;
    let drawn = entropy::random().and_then(|id| Ok((SessionId::new(id), entropy::random()?)));
    let (id, nonce) = drawn.map_err(|error| entropy::unavailable(&error, Some(context.request.id)))?;
    let browser = session::browser(context.request.header("user-agent"));
    // Only of the same key: the meter of this one does not know sessions of another.
    let replaces = own.filter(|own| own.key.id == key.id).map(|own| own.id);
    step_sessions(context, &key.id, SessionStep::Begin { id, browser, replaces }).await?;
    let (keys, is_secure) = (&context.bindings.signing, context.address.is_secure());
    Ok(session::begin(&KeptSession { id, key }, keys, &nonce, is_secure))
}

/// Returns the session that signs a request: that of its cookie, unless it has its own credential.
pub(crate) fn of_request(
    request: &ClientRequest,
    head: &Head<'_>,
    bindings: &Bindings,
    is_secure: bool,
) -> Option<KeptSession> {
    // A request with a credential means that one. The cookie comes along with whatever a page
    // sends.
    let has_own = head.api_key.is_some() || request.header("authorization").is_some();
    if has_own { None } else { of_cookie(request, bindings, is_secure) }
}

fn of_cookie(request: &ClientRequest, bindings: &Bindings, is_secure: bool) -> Option<KeptSession> {
    session::of_cookie(|name| request.header(name), &bindings.signing, is_secure)
}
