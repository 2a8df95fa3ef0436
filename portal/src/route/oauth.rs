//! The routes of the authorization server.

use shared::endpoints;

endpoints! {
    /// A request of OAuth 2.1, by which agents of other people's servers sign in.
    OAuthRoute
    ResourceMetadata: Get "/.well-known/oauth-protected-resource",
    McpMetadata: Get "/.well-known/oauth-protected-resource/mcp",
    ServerMetadata: Get "/.well-known/oauth-authorization-server",
    Register: Post "/oauth/register",
    Authorize: Get "/oauth/authorize",
    ReadConsent: Get "/oauth/consent",
    Consent: Post "/oauth/consent",
    Token: Post "/oauth/token",
    Revoke: Post "/oauth/revoke",
}
