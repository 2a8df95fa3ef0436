//! Reads of the catalog.

use crate::tool::Tool;

/// A read of the catalog of the tools' actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolsRoute {
    /// `GET /tools`
    List,
    /// `GET /tools/{tool}`
    Read(Tool),
    /// `GET /tools/openapi.json`
    OpenApi,
}
