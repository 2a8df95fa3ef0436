//! The rights of a session of the console.
//!
//! Why: docs/decisions/portal.md, "What outlasts a session needs the key itself".

use biolink::route::{self as biolink_route, PagesEndpoint, WebhooksEndpoint};
use shared::problem::{Problem, codes};
use shared::route::KeysEndpoint;

use crate::endpoint::Endpoint;
use crate::requirement::Requirement;
use crate::route::{PortalRoute, Route};
use crate::session::SessionCall;

/// The right of a session of the console to a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionAccess {
    /// It signs the request.
    Signs,
    /// The key itself must be sent, for what outlasts the session.
    KeyRequired,
    /// Nothing: the cookie is not read.
    None,
}

impl SessionAccess {
    /// Returns what a session may do with a route. Tools and agents take a key that is sent and nothing else. What shows
    /// a secret, or ends the key or what it owns, outlasts a sign-out and needs the key.
    pub const fn of(route: &Route<'_>) -> Self {
        match route {
            // What an agent gets outlasts the session, so its holder sends the key.
            Route::CallTool(_) | Route::Portal(PortalRoute::Mcp) | Route::OAuth(_) => Self::None,
            Route::Session(call, _) => of_session(*call),
            Route::Keys(route) => of_keys(route.endpoint()),
            Route::Biolink(biolink_route::Route::Pages(call)) => of_pages(call.endpoint),
            Route::Biolink(biolink_route::Route::Webhooks(call)) => of_webhooks(call.endpoint),
            Route::Biolink(
                biolink_route::Route::Admin(_)
                | biolink_route::Route::PushProducts(_)
                | biolink_route::Route::Image(_)
                | biolink_route::Route::Visit(_),
            )
            | Route::Service(_)
            | Route::Asset(_)
            | Route::StatusHistory(_)
            | Route::Tools(_)
            | Route::Site(_)
            | Route::Portal(PortalRoute::StatusPage | PortalRoute::ToolsPage | PortalRoute::Preview)
            | Route::Console(_)
            | Route::Preflight(_) => Self::Signs,
        }
    }
}

const fn of_session(call: SessionCall) -> SessionAccess {
    match call {
        // A session neither begins another one nor needs to be valid to be ended.
        SessionCall::Begin | SessionCall::End => SessionAccess::None,
        SessionCall::Read | SessionCall::List | SessionCall::EndAll | SessionCall::EndOne => {
            SessionAccess::Signs
        }
    }
}

/// A change of what a key is needs the key: its secrets, or the key itself.
const fn of_keys(endpoint: KeysEndpoint) -> SessionAccess {
    match Endpoint::Keys(endpoint).requires() {
        Requirement::ScopesOfSecret | Requirement::EveryScope => SessionAccess::KeyRequired,
        _ => SessionAccess::Signs,
    }
}

const fn of_pages(endpoint: PagesEndpoint) -> SessionAccess {
    use PagesEndpoint as E;
    match endpoint {
        // A source that may push shows its secret; the export has the holder.
        E::CreateSource | E::PatchSource | E::Export | E::Erase => SessionAccess::KeyRequired,
        E::List
        | E::Read
        | E::Revisions
        | E::ReadRevision
        | E::ListSources
        | E::ReadSource
        | E::SourceRuns
        | E::Analytics
        | E::LiveAnalytics
        | E::ListImages
        | E::ReadImage
        | E::ListDomains
        | E::ReadDomain
        | E::Account
        | E::Create
        | E::Replace
        | E::Patch
        | E::Delete
        | E::Publish
        | E::Unpublish
        | E::Restore
        | E::AddLink
        | E::PatchLink
        | E::DeleteLink
        | E::OrderLinks
        | E::DeleteSource
        | E::RefreshSource
        | E::ResetAnalytics
        | E::UploadImage
        | E::DeleteImage
        | E::CreateDomain
        | E::PatchDomain
        | E::DeleteDomain
        | E::VerifyDomain => SessionAccess::Signs,
    }
}

const fn of_webhooks(endpoint: WebhooksEndpoint) -> SessionAccess {
    use WebhooksEndpoint as E;
    match endpoint {
        E::Create | E::ReadSecret | E::RotateSecret => SessionAccess::KeyRequired,
        E::List
        | E::Read
        | E::Patch
        | E::Delete
        | E::Test
        | E::Deliveries
        | E::ReadDelivery
        | E::Retry
        | E::Replay
        | E::Stats
        | E::Schema
        | E::Samples
        | E::Events
        | E::ReadEvent => SessionAccess::Signs,
    }
}

/// Returns the refusal of what needs the key itself.
pub fn sign_in_required() -> Problem {
    Problem::new(
        codes::SIGN_IN_REQUIRED,
        "a signed-in browser must send the key itself for this; type it again",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::endpoint::Endpoint;
    use crate::endpoint::tests::concrete;
    use crate::openapi::{self, SERVER, biolink};

    /// Returns every operation, as its method and path, with what a session may do.
    fn operations() -> impl Iterator<Item = (Endpoint, String, SessionAccess)> {
        let calls_tool = |endpoint: &Endpoint| matches!(endpoint, Endpoint::CallTool(..));
        Endpoint::all().filter(move |endpoint| !calls_tool(endpoint)).map(|endpoint| {
            let (method, path) = (endpoint.method().as_str(), concrete(endpoint));
            let access = SessionAccess::of(&Route::parse(method, &path).unwrap());
            (endpoint, format!("{method} {}", endpoint.path()), access)
        })
    }

    fn named(access: SessionAccess) -> Vec<String> {
        let mut names: Vec<_> =
            operations().filter(|(_, _, own)| *own == access).map(|(_, name, _)| name).collect();
        names.sort();
        names
    }

    #[test]
    fn session_signs_all_but_tools_secrets_and_ends() {
        let expected = [
            "DELETE /account/data",
            "DELETE /v1/keys/me",
            "DELETE /v1/keys/me/secrets/{secret_id}",
            "GET /account/export",
            "GET /webhooks/{webhook_id}/secret",
            "PATCH /pages/{page_id}/product-sources/{source_id}",
            "PATCH /v1/keys/me/secrets/{secret_id}",
            "POST /pages/{page_id}/product-sources",
            "POST /v1/keys/me/rotate",
            "POST /v1/keys/me/secrets",
            "POST /v1/keys/me/secrets/{secret_id}/rotate",
            "POST /webhooks",
            "POST /webhooks/{webhook_id}/secret/rotate",
        ];
        assert_eq!(named(SessionAccess::KeyRequired), expected);
        let unread = [
            "DELETE /console/session",
            "GET /.well-known/oauth-authorization-server",
            "GET /.well-known/oauth-protected-resource",
            "GET /.well-known/oauth-protected-resource/mcp",
            "GET /oauth/authorize",
            "GET /oauth/consent",
            "POST /mcp",
            "POST /oauth/consent",
            "POST /oauth/register",
            "POST /oauth/revoke",
            "POST /oauth/token",
            "PUT /console/session",
        ];
        assert_eq!(named(SessionAccess::None), unread);
        let call = Route::parse("GET", "/v1/qr/generate").unwrap();
        assert_eq!(SessionAccess::of(&call), SessionAccess::None);
    }

    fn resolve<'v>(document: &'v Value, schema: &'v Value) -> &'v Value {
        schema["$ref"].as_str().map_or(schema, |target| document.pointer(&target[1..]).unwrap())
    }

    /// Returns true if a schema has the text of a key or of a secret.
    fn shows_secret(document: &Value, schema: &Value, depth: u8) -> bool {
        let schema = resolve(document, schema);
        let is_secret = |(name, member): (&String, &Value)| {
            let is_text = resolve(document, member)["type"] == "string";
            matches!(name.as_str(), "secret" | "key") && is_text || shows_secret(document, member, depth - 1)
        };
        let parts = ["allOf", "oneOf", "anyOf"].map(|name| schema[name].as_array());
        depth > 0
            && (schema["properties"].as_object().into_iter().flatten().any(is_secret)
                || shows_secret(document, &schema["items"], depth - 1)
                || parts.into_iter().flatten().flatten().any(|part| shows_secret(document, part, depth - 1)))
    }

    #[test]
    fn what_shows_a_secret_needs_the_key() {
        let documents = [openapi::document(SERVER), biolink::document(SERVER)];
        let mut signed = Vec::new();
        for (endpoint, name, _) in operations().filter(|(_, _, access)| *access == SessionAccess::Signs) {
            let method = endpoint.method().as_str().to_lowercase();
            for document in &documents {
                let responses = document["paths"][endpoint.path()][&method]["responses"].as_object();
                let made = responses.into_iter().flatten().filter(|(status, _)| status.starts_with('2'));
                let schemas = made.map(|(_, response)| &response["content"]["application/json"]["schema"]);
                signed
                    .extend(schemas.filter(|schema| shows_secret(document, schema, 6)).map(|_| name.clone()));
            }
        }
        signed.sort();
        let expected = [
            // The secret of pushes is null once it was shown.
            "GET /pages/{page_id}/product-sources",
            "GET /pages/{page_id}/product-sources/{source_id}",
            // The id of a secret.
            "GET /v1/usage",
            "POST /pages/{page_id}/product-sources/{source_id}/refresh",
            // They need the admin secret.
            "POST /v1/keys/issue",
            "POST /v1/keys/{id}/rotate",
        ];
        assert_eq!(signed, expected);
    }
}
