//! The reasons why a request cannot be planned.

use std::io;

use thiserror::Error;

/// The reason why a request of a scenario is invalid.
#[derive(Debug, Error)]
#[error("request `{name}`: {reason}")]
pub(crate) struct PlanError {
    /// The name of the request.
    pub(crate) name: String,
    #[source]
    pub(crate) reason: PlanErrorReason,
}

#[derive(Debug, Error)]
pub(crate) enum PlanErrorReason {
    #[error("unknown method `{0}`")]
    Method(String),
    #[error("path `{0}`: expected one that begins with /, for example /v1/idea/generate")]
    Path(String),
    #[error("invalid header `{0}`")]
    Header(String),
    #[error("cannot read the body from {path}: {source}")]
    Body { path: String, source: io::Error },
    #[error("the body `{body}` is not JSON: {source}; for another type, add a header `Content-Type`")]
    Json { body: String, source: serde_json::Error },
    #[error("unknown keys `{name}`: expected one of {known}")]
    Keys { name: String, known: String },
    #[error(
        "`{{{{{0}}}}}` is neither a variable, nor a column of data, nor captured by an earlier step, nor one of n, uuid, hex(8), random(1,100), pick(a|b)"
    )]
    Field(String),
    #[error(
        "check `json = {text}`: {reason}; expected a JSON path, or one and what it selects, for example $.a == 1"
    )]
    JsonCheck { text: String, reason: String },
    #[error("check `sha256 = {0}`: expected 64 hexadecimal digits")]
    Digest(String),
    #[error("capture `{0}`: expected a JSON Pointer (/id), a JSON path ($.id) or a header (header etag)")]
    Capture(String),
    #[error("think `{0}`: expected a duration or two, for example 1s or 1s..3s")]
    Think(String),
    #[error("`capture` and `think` are for the steps of a flow")]
    NotInFlow,
    #[error("a flow without steps: expected at least one [[flow.step]]")]
    NoSteps,
    #[error("weight 0 for all requests: expected at least one above 0")]
    Weight,
}
