//! The cursor of the list of tools: the beginning of a page.

use shared::tool::Tool;

/// The last tool of MCP that the page before has. Its text is its name, so the list continues at the right place
/// although a description has changed in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListCursor {
    pub(super) tool: Tool,
    pub(super) name: String,
}

impl ListCursor {
    /// Reads a cursor. Returns `None` if no page could have ended with it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (tool, _) = text.split_once('_')?;
        Some(Self { tool: tool.parse().ok()?, name: text.to_owned() })
    }

    /// Returns true if a tool of MCP comes after the page.
    pub(super) fn is_before(&self, tool: Tool, name: &str) -> bool {
        // By order and not by equality: the action at the cursor may have gone since.
        (self.tool.index(), &*self.name) < (tool.index(), name)
    }
}
