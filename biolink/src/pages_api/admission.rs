//! The decision of an account on a call.

use serde::{Deserialize, Serialize};
use shared::{problem::Problem, response::Response};

use super::{calls::HourStatus, reply::Reply};
use crate::page::PageId;

/// The response of an account to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The account has handled or refused the call.
    Reply(Reply),
    /// The account allows the call, and others handle it.
    Admit(Admission),
}

/// The admission of a call that others handle than the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// The pages that the call is about.
    pub pages: Vec<PageId>,
    /// The rest of the account's hour.
    pub(super) hour: HourStatus,
}

impl Admission {
    /// Adds to the outcome of the call what is left of the account's hour.
    ///
    /// # Errors
    /// Returns the problem of the outcome.
    pub fn complete(&self, outcome: Result<Response, Problem>) -> Result<Response, Problem> {
        let headers = self.hour.headers();
        match outcome {
            Ok(response) => Ok(response.with_headers(headers)),
            // The call was counted, whatever came of it.
            Err(problem) => Err(problem.with_headers(headers)),
        }
    }
}
