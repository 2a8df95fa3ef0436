//! The refusals of paths.

use crate::problem::{Problem, codes};

/// Returns the refusal of a path that no part of the service knows.
pub fn unknown_route() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "no route has this path; tools are called at /v1/{tool}/{action}")
}

/// Returns the refusal of a malformed path.
pub(super) fn malformed(detail: &'static str) -> Problem {
    Problem::new(codes::PATH_MALFORMED, detail)
}
