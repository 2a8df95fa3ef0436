//! Errors as OAuth has them (RFC 6749, section 5.2).

use std::borrow::Cow;

use serde_json::json;
use shared::problem::Problem;
use shared::response::Response;

/// A refusal for a client of OAuth, which reads `error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthError {
    status: u16,
    error: &'static str,
    description: Cow<'static, str>,
}

impl OAuthError {
    /// Returns a refusal with 400.
    pub(super) fn new(error: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Self { status: 400, error, description: description.into() }
    }

    /// Returns the refusal of a code or refresh token.
    pub(super) fn invalid_grant() -> Self {
        Self::new("invalid_grant", "the code or refresh token is not valid, has ended, or was used before")
    }

    /// Returns the refusal of a body that is not the one of the request.
    pub fn of_body(problem: &Problem) -> Self {
        Self { status: problem.status(), ..Self::new("invalid_request", problem.detail().to_owned()) }
    }

    /// Returns what a refusal of the key's meter means to a client. One that is out of reach or asked too often says
    /// nothing about the grant.
    pub fn of_grant(problem: &Problem) -> Self {
        let description = problem.detail().to_owned();
        match problem.status() {
            status @ (429 | 500..) => Self { status, ..Self::new("temporarily_unavailable", description) },
            _ => Self::new("invalid_grant", description),
        }
    }

    /// Returns what is wrong, in words.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the response.
    pub fn response(&self) -> Response {
        // Quotes and other characters have no place in it (RFC 6749, section 5.2).
        let is_text = |c: &char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
        let description: String = self.description.chars().filter(is_text).collect();
        let body = json!({ "error": self.error, "error_description": description });
        Response { status: self.status, ..Response::json(body.to_string()) }
    }
}
