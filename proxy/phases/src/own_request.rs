//! The requests that the gateway serves itself, in direct mode.

use super::fail_to_proxy::{refuse, respond};
use super::gateway::Gateway;
use super::throttle::throttle_refusal;
use crate::call::Record;
use direct::{HandlerOutcome, OwnRequest};
use transport::hooks::Handler;
use transport::incoming::Incoming;
use transport::response::Response;

/// The handler of a request for the keys API or the documentation.
pub struct OwnHandler<'a>(pub(crate) OwnRequest<'a>);

impl Handler<Gateway> for OwnHandler<'_> {
    async fn respond(self, gateway: &Gateway, incoming: &mut Incoming<'_>, record: &mut Record) -> Response {
        let state = &gateway.state;
        let HandlerOutcome { reply, quota } = self.0.serve(incoming).await;
        record.log.quota = quota;
        match reply {
            Ok(reply) => respond(state, None, record, reply),
            Err(problem) => {
                let problem = throttle_refusal(state, || incoming.address(), problem);
                refuse(state, None, record, &problem)
            }
        }
    }
}
