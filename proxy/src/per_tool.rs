//! A table with exactly one entry per tool.

use std::ops::Index;

use shared::tool::Tool;

/// One `T` for each tool, so that looking one up cannot fail.
#[derive(Clone, Debug)]
pub struct PerTool<T>([T; Tool::ALL.len()]);

impl<T> PerTool<T> {
    /// The table that `make` fills.
    pub fn from_fn(make: impl FnMut(Tool) -> T) -> Self {
        Self(Tool::ALL.map(make))
    }

    /// Every tool with its entry.
    pub fn iter(&self) -> impl Iterator<Item = (Tool, &T)> {
        Tool::ALL.into_iter().zip(&self.0)
    }
}

impl<T> PerTool<Option<T>> {
    /// The table without its options; `None` when an entry is missing.
    pub fn all(self) -> Option<PerTool<T>> {
        let entries = self.0.into_iter().collect::<Option<Vec<T>>>()?;
        entries.try_into().ok().map(PerTool)
    }
}

impl<T> Index<Tool> for PerTool<T> {
    type Output = T;

    #[allow(
        clippy::indexing_slicing,
        reason = "an index is a place in Tool::ALL, whose length this array has"
    )]
    fn index(&self, tool: Tool) -> &T {
        &self.0[tool.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_finds_its_own_entry() {
        let table = PerTool::from_fn(|tool| tool);
        assert!(Tool::ALL.into_iter().all(|tool| table[tool] == tool));
    }
}
