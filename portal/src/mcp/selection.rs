//! The list of tools for one client.

use super::toolset::{Toolset, Toolsets};

/// Returns the tools of these toolsets, as the text of a JSON array. `table` is the text of
/// [`tools`](super::tools), empty for a later page. Without a plan, those that need one are left out. `actions` follow.
pub fn select(table: &str, toolsets: &Toolsets, has_plan: bool, actions: &[String]) -> String {
    let listed = table.lines().filter_map(|line| {
        let (toolset, rest) = line.split_once('\t')?;
        let (plan, tool) = rest.split_once('\t')?;
        let is_listed = toolsets.list(toolset.parse::<Toolset>().ok()?) && (has_plan || plan == "any");
        is_listed.then_some(tool)
    });
    format!("[{}]", listed.chain(actions.iter().map(String::as_str)).collect::<Vec<_>>().join(","))
}
