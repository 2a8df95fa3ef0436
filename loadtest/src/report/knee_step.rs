//! A step of a search for the knee.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A step of a search for the knee: a rate, and what happened to it. It counts what most of its runs
/// say.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KneeStep {
    /// Calls per second.
    pub(crate) rate: f64,
    /// True if most of its runs passed.
    pub(crate) passed: bool,
    /// The number of runs: 1 if the first one passed, otherwise 2 or 3.
    pub(crate) runs: u32,
    /// The 99th percentile of the latencies of the last run.
    pub(crate) p99_ms: f64,
    /// The failed check of the last run that failed, and what was found.
    pub(crate) failed_check: Option<String>,
}

impl KneeStep {
    /// Returns the result of the runs.
    pub(crate) fn result(&self) -> String {
        let counted = |what: &str, runs: u32| match self.runs {
            1 => what.to_owned(),
            of => format!("{what} {runs} of {of} times"),
        };
        if self.passed { counted("passed", self.runs.min(2)) } else { counted("failed", 2) }
    }
}

impl fmt::Display for KneeStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s {}, p99 {:.2} ms", self.rate, self.result(), self.p99_ms)?;
        self.failed_check.as_ref().map_or(Ok(()), |check| write!(f, "; {check}"))
    }
}
