//! The routes without their parameters: what the log calls them and what the reference is generated
//! from.

use biolink::route::{self as biolink_route, AdminEndpoint, PagesEndpoint, VisitEndpoint, WebhooksEndpoint};
use shared::catalog::CATALOG_PATH;
use shared::method::Method;
use shared::route::{CallMethod, KeysRoute, SecretCall, ToolsRoute};
use shared::tool::Tool;

use crate::asset::Asset;
use crate::route::{ConsoleView, Route, SiteRoute, StatusEndpoint};
use crate::session::SessionCall;

/// One method on one path template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`Route` says what each one is")]
pub enum Endpoint {
    CallTool(Tool, CallMethod),
    IssueKey,
    ReadOwnKey,
    RotateOwnKey,
    RevokeOwnKey,
    ReadHistory,
    ReadCalls,
    ReadAlerts,
    ListSecrets,
    CreateSecret,
    ChangeSecret,
    RevokeSecret,
    RotateSecret,
    ListKeys,
    ReadKey,
    ChangeKey,
    RevokeKey,
    RotateKey,
    RevokeKeySecret,
    KeyChanges,
    Meters,
    Health,
    Status,
    Asset(Asset),
    ProblemPage,
    StatusPage,
    StatusHistory(StatusEndpoint),
    ListTools,
    ReadTool,
    ToolsOpenApi,
    ToolsPage,
    Site(SiteRoute),
    Pages(PagesEndpoint),
    Webhooks(WebhooksEndpoint),
    Admin(AdminEndpoint),
    Console(ConsoleView),
    Preview,
    Session(SessionCall),
    Mcp,
    PushProducts,
    Image,
    Visit(VisitEndpoint),
    Preflight,
}

impl Endpoint {
    /// Returns the endpoint of a route.
    pub fn of(route: &Route<'_>) -> Self {
        match route {
            Route::CallTool(call) => Self::CallTool(call.tool, call.method),
            Route::Keys(KeysRoute::Issue) => Self::IssueKey,
            Route::Keys(KeysRoute::ReadOwn) => Self::ReadOwnKey,
            Route::Keys(KeysRoute::RotateOwn) => Self::RotateOwnKey,
            Route::Keys(KeysRoute::RevokeOwn) => Self::RevokeOwnKey,
            Route::Keys(KeysRoute::ReadHistory) => Self::ReadHistory,
            Route::Keys(KeysRoute::ReadCalls) => Self::ReadCalls,
            Route::Keys(KeysRoute::ReadAlerts) => Self::ReadAlerts,
            Route::Keys(KeysRoute::ListSecrets) => Self::ListSecrets,
            Route::Keys(KeysRoute::Secret(SecretCall::Create)) => Self::CreateSecret,
            Route::Keys(KeysRoute::Secret(SecretCall::Change(_))) => Self::ChangeSecret,
            Route::Keys(KeysRoute::Secret(SecretCall::Revoke(_))) => Self::RevokeSecret,
            Route::Keys(KeysRoute::Secret(SecretCall::Rotate(_))) => Self::RotateSecret,
            Route::Keys(KeysRoute::List) => Self::ListKeys,
            Route::Keys(KeysRoute::Read(_)) => Self::ReadKey,
            Route::Keys(KeysRoute::Change(_)) => Self::ChangeKey,
            Route::Keys(KeysRoute::Revoke(_)) => Self::RevokeKey,
            Route::Keys(KeysRoute::Rotate(_)) => Self::RotateKey,
            Route::Keys(KeysRoute::RevokeSecret(..)) => Self::RevokeKeySecret,
            Route::KeyChanges => Self::KeyChanges,
            Route::Meters => Self::Meters,
            Route::Health => Self::Health,
            Route::Status => Self::Status,
            Route::Asset(Asset::Problem(_)) => Self::ProblemPage,
            Route::Asset(asset) => Self::Asset(*asset),
            Route::StatusPage => Self::StatusPage,
            Route::StatusHistory(route) => Self::StatusHistory(route.endpoint()),
            Route::Tools(ToolsRoute::List) => Self::ListTools,
            Route::Tools(ToolsRoute::Read(_)) => Self::ReadTool,
            Route::Tools(ToolsRoute::OpenApi) => Self::ToolsOpenApi,
            Route::ToolsPage => Self::ToolsPage,
            Route::Site(route) => Self::Site(*route),
            Route::Console(call) => Self::Console(call.view),
            Route::Preview => Self::Preview,
            Route::Session(call, _) => Self::Session(*call),
            Route::Mcp => Self::Mcp,
            Route::Biolink(biolink_route::Route::Pages(call)) => Self::Pages(call.endpoint),
            Route::Biolink(biolink_route::Route::Webhooks(call)) => Self::Webhooks(call.endpoint),
            Route::Biolink(biolink_route::Route::Admin(call)) => Self::Admin(call.endpoint),
            Route::Biolink(biolink_route::Route::PushProducts(_)) => Self::PushProducts,
            Route::Biolink(biolink_route::Route::Image(_)) => Self::Image,
            Route::Biolink(biolink_route::Route::Visit(visit)) => Self::Visit(visit.endpoint()),
            Route::Preflight(_) => Self::Preflight,
        }
    }

    /// Returns every endpoint once; the tools' first. `Preflight` lies on every path and is not
    /// among them.
    pub fn all() -> impl Iterator<Item = Self> {
        const OTHERS: [Endpoint; 32] = [
            Endpoint::IssueKey,
            Endpoint::ReadOwnKey,
            Endpoint::RotateOwnKey,
            Endpoint::RevokeOwnKey,
            Endpoint::ReadHistory,
            Endpoint::ReadCalls,
            Endpoint::ReadAlerts,
            Endpoint::ListSecrets,
            Endpoint::CreateSecret,
            Endpoint::ChangeSecret,
            Endpoint::RevokeSecret,
            Endpoint::RotateSecret,
            Endpoint::ListKeys,
            Endpoint::ReadKey,
            Endpoint::ChangeKey,
            Endpoint::RevokeKey,
            Endpoint::RotateKey,
            Endpoint::RevokeKeySecret,
            Endpoint::KeyChanges,
            Endpoint::Meters,
            Endpoint::Health,
            Endpoint::Status,
            Endpoint::ProblemPage,
            Endpoint::StatusPage,
            Endpoint::ListTools,
            Endpoint::ReadTool,
            Endpoint::ToolsOpenApi,
            Endpoint::ToolsPage,
            Endpoint::Preview,
            Endpoint::Mcp,
            Endpoint::PushProducts,
            Endpoint::Image,
        ];
        let calls = Tool::ALL
            .into_iter()
            .flat_map(|tool| [CallMethod::Get, CallMethod::Post].map(|method| Self::CallTool(tool, method)));
        let pages = PagesEndpoint::ALL.into_iter().map(Self::Pages);
        let webhooks = WebhooksEndpoint::ALL.into_iter().map(Self::Webhooks);
        let admin = AdminEndpoint::ALL.into_iter().map(Self::Admin);
        let console = ConsoleView::ALL.into_iter().map(Self::Console);
        let sessions = SessionCall::ALL.into_iter().map(Self::Session);
        let assets = Asset::all().filter(|asset| asset.path().is_some()).filter_map(|asset| match asset {
            Asset::Problem(_) => None,
            asset => Some(Self::Asset(asset)),
        });
        let site = SiteRoute::ALL.into_iter().map(Self::Site);
        let visits = VisitEndpoint::ALL.into_iter().map(Self::Visit);
        let status = StatusEndpoint::ALL.into_iter().map(Self::StatusHistory);
        let api = calls.chain(OTHERS).chain(status).chain(pages).chain(webhooks).chain(admin);
        api.chain(assets).chain(console).chain(sessions).chain(site).chain(visits)
    }

    /// Returns the method.
    pub const fn method(self) -> Method {
        match self {
            Self::CallTool(_, method) => method.method(),
            Self::IssueKey
            | Self::RotateOwnKey
            | Self::CreateSecret
            | Self::RotateSecret
            | Self::RevokeKey
            | Self::RotateKey
            | Self::Meters
            | Self::PushProducts
            | Self::Preview
            | Self::Mcp => Method::Post,
            Self::RevokeOwnKey | Self::RevokeSecret | Self::RevokeKeySecret => Method::Delete,
            Self::ChangeKey | Self::ChangeSecret => Method::Patch,
            Self::Preflight => Method::Options,
            Self::Pages(endpoint) => endpoint.method(),
            Self::Webhooks(endpoint) => endpoint.method(),
            Self::Visit(endpoint) => endpoint.method(),
            Self::Admin(endpoint) => endpoint.method(),
            Self::Session(call) => call.method(),
            Self::StatusHistory(endpoint) => endpoint.method(),
            Self::ReadOwnKey
            | Self::ReadHistory
            | Self::ReadCalls
            | Self::ReadAlerts
            | Self::ListSecrets
            | Self::ListKeys
            | Self::ReadKey
            | Self::KeyChanges
            | Self::Image
            | Self::Health
            | Self::Status
            | Self::Asset(_)
            | Self::ProblemPage
            | Self::StatusPage
            | Self::ListTools
            | Self::ReadTool
            | Self::ToolsOpenApi
            | Self::ToolsPage
            | Self::Site(_)
            | Self::Console(_) => Method::Get,
        }
    }

    /// Returns the path, with parameters in braces.
    pub fn path(self) -> String {
        let path = match self {
            Self::CallTool(tool, _) => return format!("/v1/{tool}/{{action}}"),
            Self::Console(view) => return format!("/console{}", view.api_path()),
            Self::IssueKey => "/v1/keys/issue",
            Self::ReadOwnKey | Self::RevokeOwnKey => "/v1/keys/me",
            Self::RotateOwnKey => "/v1/keys/me/rotate",
            Self::ReadHistory => "/v1/usage",
            Self::ReadCalls => "/v1/usage/calls",
            Self::ReadAlerts => "/v1/keys/me/alerts",
            Self::ListSecrets | Self::CreateSecret => "/v1/keys/me/secrets",
            Self::ChangeSecret | Self::RevokeSecret => "/v1/keys/me/secrets/{secret_id}",
            Self::RotateSecret => "/v1/keys/me/secrets/{secret_id}/rotate",
            Self::ListKeys => "/v1/keys",
            Self::ReadKey | Self::ChangeKey => "/v1/keys/{id}",
            Self::RevokeKey => "/v1/keys/{id}/revoke",
            Self::RotateKey => "/v1/keys/{id}/rotate",
            Self::RevokeKeySecret => "/v1/keys/{id}/secrets/{secret_id}",
            Self::KeyChanges => "/internal/keys/changes",
            Self::Meters => "/internal/meter",
            Self::Health => "/healthz",
            Self::Status => "/v1/status",
            Self::Asset(asset) => return asset.path().unwrap_or_default(),
            Self::ProblemPage => "/problems/{code}",
            Self::StatusPage => "/status",
            Self::StatusHistory(endpoint) => endpoint.path(),
            Self::ListTools => "/tools",
            Self::ReadTool => "/tools/{tool}",
            Self::ToolsOpenApi => CATALOG_PATH,
            Self::ToolsPage => "/docs/tools",
            Self::Preview => "/console/preview",
            Self::Session(call) => return format!("/console{}", call.path()),
            Self::Mcp => "/mcp",
            Self::PushProducts => "/hooks/products/{source_id}",
            Self::Image => "/i/{image_id}",
            Self::Site(route) => route.path(),
            Self::Pages(endpoint) => endpoint.path(),
            Self::Webhooks(endpoint) => endpoint.path(),
            Self::Admin(endpoint) => endpoint.path(),
            Self::Visit(endpoint) => endpoint.path(),
            Self::Preflight => "*",
        };
        path.to_owned()
    }
}

/// Returns true if a problem is shown as a page: to visitors, unless they ask for JSON, and to
/// browsers that open an unknown address.
pub fn is_shown_as_page(endpoint: Option<Endpoint>, accept: Option<&str>) -> bool {
    let accept = accept.unwrap_or_default();
    match endpoint {
        Some(Endpoint::Visit(_) | Endpoint::Image) => !accept.contains("json"),
        Some(_) => false,
        // An unknown path may be a typo of an API client, which wants a problem.
        None => accept.contains("text/html"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;

    use biolink::page::{DomainId, ImageId, LinkId, PageId, ProductId, Slug, SourceId};
    use biolink::webhooks::{DeliveryId, EndpointId, EventId};
    use shared::key::{KeyId, SecretId};
    use shared::meter::SessionId;
    use shared::status::incident::IncidentId;

    use super::*;

    /// Returns the path of an endpoint, with a value for each parameter.
    pub(crate) fn concrete(endpoint: Endpoint) -> String {
        endpoint
            .path()
            .replace("{action}", "generate")
            .replace("{id}", &KeyId::new([1; 12]).to_string())
            .replace("{incident_id}", &IncidentId::new([1; 12]).to_string())
            .replace("{secret_id}", &SecretId::new([1; 8]).to_string())
            .replace("{session_id}", &SessionId::new([1; 16]).to_string())
            .replace("{code}", if endpoint == Endpoint::ProblemPage { "key-missing" } else { "ada" })
            .replace("{page_id}", &PageId::new([1; 12]).to_string())
            .replace("{link_id}", &LinkId::new([1; 12]).to_string())
            .replace("{product_id}", &ProductId::new([1; 12]).to_string())
            .replace("{webhook_id}", &EndpointId::new([1; 12]).to_string())
            .replace("{delivery_id}", &DeliveryId::numbered(7, [1; 8]).to_string())
            .replace("{event_id}", &EventId::numbered(7, [1; 8]).to_string())
            .replace("{via}", "flyer")
            .replace("{type}", "click")
            .replace("{token}", "AAAAAAAAAAAAAAAAAAAAAA")
            .replace("{source_id}", &SourceId::new([1; 12]).to_string())
            .replace("{image_id}", &ImageId::new([1; 12]).to_string())
            .replace("{domain_id}", &DomainId::new([1; 12]).to_string())
            .replace("{revision}", "7")
            .replace("{tool}", "qr")
            .replace("{slug}", "ada")
    }

    #[test]
    fn endpoints_and_routes_match() {
        let mut methods: Vec<(String, Method)> = Vec::new();
        for endpoint in Endpoint::all() {
            let path = concrete(endpoint);
            let route = Route::parse(endpoint.method().as_str(), &path).unwrap();
            assert_eq!(Endpoint::of(&route), endpoint);
            methods.push((path, endpoint.method()));
        }
        for (path, _) in &methods {
            let Ok(Route::Preflight(taken)) = Route::parse("OPTIONS", path) else { panic!("{path}") };
            let taken: HashSet<_> = taken.iter().filter(|method| *method != Method::Head).collect();
            let listed: HashSet<_> = methods.iter().filter(|(p, _)| p == path).map(|(_, m)| *m).collect();
            assert_eq!(taken, listed, "{path}");
        }
    }

    #[test]
    fn no_page_can_have_the_path_of_an_endpoint() {
        for path in Endpoint::all().map(Endpoint::path) {
            let first = path.split('/').nth(1).unwrap();
            assert!(first == "{slug}" || Slug::parse(first).is_err(), "{path}: {first} must be reserved");
        }
        for first in
            ["llms.txt", "mcp", "console", "admin", "biolink", "docs", "q", ".well-known", "internal"]
        {
            assert!(Slug::parse(first).is_err(), "{first} must be reserved");
        }
    }
}
