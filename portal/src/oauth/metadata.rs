//! The documents by which a client finds the endpoints (RFC 9728, RFC 8414), and the challenge that leads to them.

use serde_json::json;
use shared::response::Response;

use super::scope;
use crate::NAME;
use crate::mcp::CHALLENGE;
use crate::route::OAuthRoute;

/// Returns the metadata of a protected resource: the gateway as a whole, or its endpoint of MCP.
pub fn resource_metadata(base: &str, is_mcp: bool) -> Response {
    let resource = if is_mcp { format!("{base}/mcp") } else { base.to_owned() };
    let body = json!({
        "resource": resource,
        "authorization_servers": [base],
        "scopes_supported": scope::SUPPORTED,
        "bearer_methods_supported": ["header"],
        "resource_name": NAME,
    });
    Response::json(body.to_string())
}

/// Returns the metadata of the authorization server.
pub fn server_metadata(base: &str) -> Response {
    let at = |route: OAuthRoute| format!("{base}{}", route.path());
    let body = json!({
        "issuer": base,
        "authorization_endpoint": at(OAuthRoute::Authorize),
        "token_endpoint": at(OAuthRoute::Token),
        "registration_endpoint": at(OAuthRoute::Register),
        "revocation_endpoint": at(OAuthRoute::Revoke),
        "scopes_supported": scope::SUPPORTED,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    });
    Response::json(body.to_string())
}

/// Returns the challenge of a 401 at the endpoint of MCP (RFC 6750, section 3; RFC 9728, section 5.1). `was_sent` says
/// whether the request had a token, which is then refused.
pub fn challenge(base: &str, was_sent: bool) -> String {
    let error = if was_sent { r#", error="invalid_token""# } else { "" };
    let (path, scope) = (OAuthRoute::McpMetadata.path(), scope::SUPPORTED.join(" "));
    format!(r#"{CHALLENGE}, resource_metadata="{base}{path}", scope="{scope}"{error}"#)
}
