//! A table with exactly one entry per tool.

use std::ops::Index;

use shared::tool::Tool;

/// One `T` for each tool. A lookup cannot fail.
#[derive(Clone, Debug)]
pub struct PerTool<T>([T; Tool::ALL.len()]);

impl<T> PerTool<T> {
    /// Creates the table with `make(tool)` for each tool.
    pub fn from_fn(make: impl FnMut(Tool) -> T) -> Self {
        Self(Tool::ALL.map(make))
    }

    /// Returns an iterator over all tools with their entries.
    pub fn iter(&self) -> impl Iterator<Item = (Tool, &T)> {
        Tool::ALL.into_iter().zip(&self.0)
    }

    /// Returns an iterator over all entries, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> PerTool<Option<T>> {
    /// Returns the entries, or `None` if one is missing.
    pub fn all(self) -> Option<PerTool<T>> {
        let entries = self.0.into_iter().collect::<Option<Vec<T>>>()?;
        entries.try_into().ok().map(PerTool)
    }
}

impl<T> Index<Tool> for PerTool<T> {
    type Output = T;

    #[allow(
        clippy::indexing_slicing,
        reason = "Tool::index is less than the length of Tool::ALL, which is that of this array"
    )]
    fn index(&self, tool: Tool) -> &T {
        &self.0[tool.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_returns_the_entry_of_the_tool() {
        let table = PerTool::from_fn(|tool| tool);
        assert!(Tool::ALL.into_iter().all(|tool| table[tool] == tool));
    }
}
