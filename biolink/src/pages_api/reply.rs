//! A response on its way from the account's object to the isolate that sends it.

use serde::{Deserialize, Serialize};

use shared::{
    headers::{self, Header},
    problem::Problem,
    request_id::RequestId,
    response::Response,
};

/// A response in a form that can be sent between objects and stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    status: u16,
    headers: Vec<Header>,
    body: String,
}

impl Reply {
    /// Returns the reply for an outcome.
    pub fn new(outcome: Result<Response, Problem>, request_id: &RequestId) -> Self {
        let Response { status, headers, body } = outcome.unwrap_or_else(|problem| problem.render(request_id));
        Self { status, headers, body }
    }

    /// Returns the response.
    pub fn into_response(self) -> Response {
        Response { status: self.status, headers: self.headers, body: self.body }
    }

    /// Returns the same reply with more headers.
    pub(super) fn with_headers(mut self, more: impl IntoIterator<Item = Header>) -> Self {
        self.headers.extend(more);
        self
    }

    /// Returns true if it is the reply to an earlier call.
    pub(super) fn is_replay(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == "idempotency-replayed")
    }

    /// Returns the code of the problem that it is, if it is one.
    pub fn problem(&self) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == headers::PROBLEM).map(|(_, code)| &**code)
    }
}
