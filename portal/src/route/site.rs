//! The portal's own routes, beside its texts.

use shared::endpoints;

endpoints! {
    /// A file of the host itself that crawlers, browsers and security researchers look for.
    SiteRoute
    Robots: Get "/robots.txt",
    Favicon: Get "/favicon.ico",
    SecurityTxt: Get "/.well-known/security.txt",
}

endpoints! {
    /// A page that is made for each request, or a service of the portal.
    PortalRoute
    StatusPage: Get "/status",
    ToolsPage: Get "/docs/tools",
    Preview: Post "/console/preview",
    Mcp: Post "/mcp",
}
