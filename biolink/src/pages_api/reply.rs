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
    headers: Vec<(String, String)>,
    body: String,
}

impl Reply {
    /// The names of headers that a reply may have.
    const NAMES: [&'static str; 13] = [
        "content-type",
        "cache-control",
        "etag",
        "location",
        "retry-after",
        "idempotency-replayed",
        "allow",
        "www-authenticate",
        "link",
        headers::PROBLEM,
        headers::RATE_LIMIT,
        headers::RATE_LIMIT_POLICY,
        "vary",
    ];

    /// Returns the reply for an outcome.
    #[must_use]
    pub fn new(outcome: Result<Response, Problem>, request_id: &RequestId) -> Self {
        let response = outcome.unwrap_or_else(|problem| problem.render(request_id));
        let headers = response.headers.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned()));
        Self { status: response.status, headers: headers.collect(), body: response.body }
    }

    /// Returns the response. A header that this version does not know is left out.
    #[must_use]
    pub fn into_response(self) -> Response {
        let named = |(name, value): (String, String)| {
            Some((Self::NAMES.into_iter().find(|known| *known == name)?, value.into()))
        };
        Response {
            status: self.status,
            headers: self.headers.into_iter().filter_map(named).collect(),
            body: self.body,
        }
    }

    /// Returns the same reply with more headers.
    pub(super) fn with_headers(mut self, more: impl IntoIterator<Item = Header>) -> Self {
        self.headers.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned())));
        self
    }

    /// Returns true if it is the reply to an earlier call.
    pub(super) fn is_replay(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == "idempotency-replayed")
    }

    /// Returns the code of the problem that it is, if it is one.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == headers::PROBLEM).map(|(_, code)| code.as_str())
    }
}
