//! A request as a scenario file has it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::check_spec::CheckSpec;

/// A kind of request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestSpec {
    pub(crate) name: String,
    #[serde(default = "get")]
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(default = "one")]
    pub(crate) weight: u32,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<String>,
    /// File with the body, in place of `body`.
    pub(crate) body_file: Option<String>,
    /// Size in bytes of a generated body, in place of `body`.
    pub(crate) body_bytes: Option<u32>,
    /// Name of the pool of keys.
    pub(crate) keys: Option<String>,
    /// What a 2xx or 3xx must be beside its status.
    pub(crate) check: Option<CheckSpec>,
    /// Variables of the following steps of a flow, and where their values are in the response.
    #[serde(default)]
    pub(crate) capture: BTreeMap<String, String>,
    /// The time until the next step of a flow: `1s`, or between two times as in `1s..3s`.
    pub(crate) think: Option<String>,
}

const fn one() -> u32 {
    1
}

fn get() -> String {
    "GET".to_owned()
}
