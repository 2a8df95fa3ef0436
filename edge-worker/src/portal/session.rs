//! `/console/session`: the key that a browser keeps.

use portal::session::{self, SessionCall};
use shared::problem::Problem;
use shared::response::Response;

use crate::bindings::Bindings;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::runtime::client_request::ClientRequest;
use crate::runtime::entropy;

/// Handles a request for the session.
///
/// # Errors
/// To begin one, as [`authenticate`], and `internal` if the runtime has no randomness.
pub(crate) fn respond(context: &RequestContext<'_>, call: SessionCall) -> Result<Response, Problem> {
    let is_secure = context.address.is_secure();
    match call {
        SessionCall::Read => Ok(session::state(authenticate(context).is_ok())),
        SessionCall::Begin => {
            authenticate(context)?;
            let request = context.request;
            let nonce = entropy::random().map_err(|error| entropy::unavailable(&error, Some(request.id)))?;
            let key = context.head.api_key.unwrap_or_default();
            Ok(session::begin(key, &context.bindings.signing, &nonce, request.now, is_secure))
        }
        SessionCall::End => Ok(session::end(is_secure)),
    }
}

/// Returns the key that the browser of a request keeps.
pub(crate) fn key(request: &ClientRequest, bindings: &Bindings, is_secure: bool) -> Option<String> {
    session::key(|name| request.header(name), &bindings.signing, request.now, is_secure)
}
