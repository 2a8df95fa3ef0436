//! The refusals of paths.

use crate::action::Action;
use crate::problem::{Problem, codes};
use crate::tool::Tool;

/// Returns the refusal of a path that no part of the service knows.
pub fn unknown_route() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "no route has this path; tools are called at /v1/{tool}/{action}")
}

/// Returns the refusal of a malformed path.
pub(super) fn malformed(detail: &'static str) -> Problem {
    Problem::new(codes::PATH_MALFORMED, detail)
}

/// Returns the refusal of a tool's name, with the nearest ones.
pub(super) fn unknown_tool(segment: &str) -> Problem {
    let shown: String = segment.chars().take(Action::MAX_LEN).collect();
    let nearest = Tool::nearest(segment).iter().map(|tool| tool.as_str()).collect::<Vec<_>>();
    Problem::new(
        codes::TOOL_UNKNOWN,
        format!("`{shown}` is not a tool; the nearest are {}", nearest.join(", ")),
    )
    .with_member("nearest", nearest)
}
