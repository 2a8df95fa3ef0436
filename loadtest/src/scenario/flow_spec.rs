//! The steps of users, and the data of calls.

use serde::Deserialize;

use super::request_spec::RequestSpec;

/// The steps of a user, one after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowSpec {
    pub(crate) name: String,
    /// The share of the rate that begins it.
    #[serde(default = "one")]
    pub(crate) weight: u32,
    /// Name of the pool of keys. All steps of a user have the same key.
    pub(crate) keys: Option<String>,
    #[serde(rename = "step")]
    pub(crate) steps: Vec<RequestSpec>,
}

const fn one() -> u32 {
    1
}

impl FlowSpec {
    /// Returns the steps as requests, whose names continue that of the flow.
    pub(crate) fn requests(&self) -> impl Iterator<Item = RequestSpec> {
        self.steps.iter().map(|step| {
            let keys = step.keys.clone().or_else(|| self.keys.clone());
            RequestSpec { name: format!("{}/{}", self.name, step.name), keys, ..step.clone() }
        })
    }
}

/// Rows that calls take values from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataSpec {
    pub(crate) name: String,
    /// A file of CSV with a head, or of JSON: a list of objects. Its path is relative to that of the scenario.
    pub(crate) file: String,
    #[serde(default)]
    pub(crate) order: RowOrder,
}

/// The order in which rows are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RowOrder {
    /// One after the other, and again from the first.
    #[default]
    Turns,
    /// Any row.
    Random,
}
