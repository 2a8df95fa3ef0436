//! Reads of the catalog.

use crate::endpoints;
use crate::tool::Tool;

endpoints! {
    /// A read of the catalog of the tools' actions.
    ToolsRoute of ToolsEndpoint
    List: Get "/tools",
    Read(Tool): Get "/tools/{tool}",
    OpenApi: Get "/tools/openapi.json",
}
