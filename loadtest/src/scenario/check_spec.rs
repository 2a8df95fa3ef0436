//! What a scenario file says that a response must be.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The check of a request's 2xx and 3xx. All of it must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CheckSpec {
    /// The size of the body in bytes.
    pub(crate) body_bytes: Option<u64>,
    /// The SHA-256 of the body in hexadecimal digits.
    pub(crate) sha256: Option<String>,
    /// Texts that the body contains.
    pub(crate) contains: Option<OneOrMany>,
    /// JSON paths that select something, or values that they select: `$.a == 1`.
    pub(crate) json: Option<OneOrMany>,
    /// Texts that headers contain, by the name of the header.
    pub(crate) header: BTreeMap<String, String>,
    /// The number of server-sent events.
    pub(crate) events: Option<u32>,
}

/// A text, or several of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}
