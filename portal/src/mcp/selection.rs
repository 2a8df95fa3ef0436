//! The list of tools for one client.

use serde_json::Value;
use shared::key::{Scope, Scopes};
use shared::tool::Tool;

use super::toolset::{Toolset, Toolsets};

/// The scopes of the tools that are operations of an API.
const SCOPES: [Scope; 4] = [Scope::BiolinkRead, Scope::BiolinkWrite, Scope::BiolinkAdmin, Scope::Keys];

/// What a client may call.
#[derive(Clone, Copy, Debug)]
pub struct Permitted {
    /// Whether the key has a plan of the bio-link product.
    pub has_plan: bool,
    /// The scopes of the secret.
    pub scopes: Scopes,
}

impl Permitted {
    /// Everything: for a client whose key cannot be read at the moment. A call asks for plan and scope.
    pub const ALL: Self = Self { has_plan: true, scopes: Scopes::ALL };
}

/// Returns the tools of these toolsets that a client may call, as the text of a JSON array. `table` is the text of
/// [`tools`](super::tools), empty for a later page. `actions` follow.
pub fn select(table: &str, toolsets: &Toolsets, permitted: Permitted, actions: &[String]) -> String {
    let held: Vec<_> = SCOPES.into_iter().filter(|scope| permitted.scopes.contains(*scope)).collect();
    let held: Vec<_> = held.into_iter().map(|scope| scope.to_string()).collect();
    let mut list = String::from("[");
    let mut add = |tool: &str| {
        list.extend((list.len() > 1).then_some(','));
        list.push_str(tool);
    };
    for line in table.lines() {
        // At most five: the tool itself is JSON, whose texts may have tabs escaped but need not be
        // split.
        let mut columns = line.splitn(5, '\t');
        let mut column = || columns.next().unwrap_or_default();
        let (toolset, listed, plan, scope, tool) = (column(), column(), column(), column(), column());
        let is_listed = toolset.parse::<Toolset>().is_ok_and(|toolset| toolsets.list(toolset))
            && (listed == "listed" || toolsets.are_named())
            // A tool that each call would refuse only leads a model into its problem.
            && (permitted.has_plan || plan == "any");
        match scope {
            _ if !is_listed => {}
            "tools" if permitted.scopes.contains(Scope::AllTools) => add(tool),
            "tools" if permitted.scopes.has_tools() => add(&of_scopes(tool, permitted.scopes)),
            "any" => add(tool),
            scope if held.iter().any(|held| held == scope) => add(tool),
            _ => {}
        }
    }
    actions.iter().for_each(|action| add(action));
    list.push(']');
    list
}

/// Returns `call_tool` with the tools of the gateway that a secret may call: their names and what they are for.
fn of_scopes(tool: &str, scopes: Scopes) -> String {
    let Ok(mut tool) = serde_json::from_str::<Value>(tool) else { return tool.to_owned() };
    if let Some(argument) = tool.pointer_mut("/inputSchema/properties/tool").and_then(Value::as_object_mut) {
        let is_held =
            |name: &str| name.parse::<Tool>().is_ok_and(|tool| scopes.contains(Scope::Tool(tool.label())));
        if let Some(Value::Array(names)) = argument.get_mut("enum") {
            names.retain(|name| name.as_str().is_some_and(is_held));
        }
        if let Some(Value::String(purposes)) = argument.get_mut("description") {
            // The description lists the same tools as the enumeration.
            let kept = purposes.split("; ").filter(|purpose| purpose.split(' ').next().is_some_and(is_held));
            *purposes = kept.collect::<Vec<_>>().join("; ");
        }
    }
    tool.to_string()
}
