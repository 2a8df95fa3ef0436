//! The routes without their parameters: what the log calls them and what the reference is generated
//! from.

#[cfg(feature = "biolink")]
use biolink::route::{self as biolink_route, AdminEndpoint, PagesEndpoint, VisitEndpoint, WebhooksEndpoint};
use shared::method::Method;
use shared::route::{CallMethod, KeysEndpoint, ServiceRoute, ToolsEndpoint};
use shared::tool::Tool;

use crate::asset::Asset;
use crate::route::{ConsoleFile, OAuthRoute, PortalRoute, Route, SiteRoute, StatusEndpoint};
#[cfg(feature = "biolink")]
use crate::session::SessionCall;

/// One method on one path template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`Route` says what each one is")]
pub enum Endpoint {
    CallTool(Tool, CallMethod),
    Keys(KeysEndpoint),
    Service(ServiceRoute),
    StatusHistory(StatusEndpoint),
    Tools(ToolsEndpoint),
    Asset(Asset),
    ProblemPage,
    Site(SiteRoute),
    Portal(PortalRoute),
    OAuth(OAuthRoute),
    #[cfg(feature = "biolink")]
    Pages(PagesEndpoint),
    #[cfg(feature = "biolink")]
    Webhooks(WebhooksEndpoint),
    #[cfg(feature = "biolink")]
    Admin(AdminEndpoint),
    Console,
    ConsolePart,
    #[cfg(feature = "biolink")]
    Session(SessionCall),
    #[cfg(feature = "biolink")]
    PushProducts,
    #[cfg(feature = "biolink")]
    Image,
    #[cfg(feature = "biolink")]
    Visit(VisitEndpoint),
    Preflight,
}

impl Endpoint {
    /// Returns the endpoint of a route.
    pub fn of(route: &Route<'_>) -> Self {
        match route {
            Route::CallTool(call) => Self::CallTool(call.tool, call.method),
            Route::Keys(route) => Self::Keys(route.endpoint()),
            Route::Service(route) => Self::Service(*route),
            Route::StatusHistory(route) => Self::StatusHistory(route.endpoint()),
            Route::Tools(route) => Self::Tools(route.endpoint()),
            Route::Asset(Asset::Problem(_)) => Self::ProblemPage,
            Route::Asset(asset) => Self::Asset(*asset),
            Route::Site(route) => Self::Site(*route),
            Route::Portal(route) => Self::Portal(*route),
            Route::Console(ConsoleFile::Page) => Self::Console,
            Route::Console(ConsoleFile::Part { .. }) => Self::ConsolePart,
            Route::OAuth(route) => Self::OAuth(*route),
            #[cfg(feature = "biolink")]
            Route::Session(call, _) => Self::Session(*call),
            #[cfg(feature = "biolink")]
            Route::Biolink(biolink_route::Route::Pages(call)) => Self::Pages(call.endpoint),
            #[cfg(feature = "biolink")]
            Route::Biolink(biolink_route::Route::Webhooks(call)) => Self::Webhooks(call.endpoint),
            #[cfg(feature = "biolink")]
            Route::Biolink(biolink_route::Route::Admin(call)) => Self::Admin(call.endpoint),
            #[cfg(feature = "biolink")]
            Route::Biolink(biolink_route::Route::PushProducts(_)) => Self::PushProducts,
            #[cfg(feature = "biolink")]
            Route::Biolink(biolink_route::Route::Image(_)) => Self::Image,
            #[cfg(feature = "biolink")]
            Route::Biolink(biolink_route::Route::Visit(visit)) => Self::Visit(visit.endpoint()),
            Route::Preflight(_) => Self::Preflight,
        }
    }

    /// Returns every endpoint once; the tools' first. `Preflight` lies on every path and is not
    /// among them.
    #[cfg(feature = "biolink")]
    pub fn all() -> impl Iterator<Item = Self> {
        let calls = Tool::ALL
            .into_iter()
            .flat_map(|tool| [CallMethod::Get, CallMethod::Post].map(|method| Self::CallTool(tool, method)));
        let pages = PagesEndpoint::ALL.into_iter().map(Self::Pages);
        let webhooks = WebhooksEndpoint::ALL.into_iter().map(Self::Webhooks);
        let admin = AdminEndpoint::ALL.into_iter().map(Self::Admin);
        let sessions = SessionCall::ALL.into_iter().map(Self::Session);
        let assets = Asset::all().filter(|asset| asset.path().is_some()).filter_map(|asset| match asset {
            Asset::Problem(_) => None,
            asset => Some(Self::Asset(asset)),
        });
        let keys = KeysEndpoint::ALL.into_iter().map(Self::Keys);
        let service = ServiceRoute::ALL.into_iter().map(Self::Service);
        let tools = ToolsEndpoint::ALL.into_iter().map(Self::Tools);
        let status = StatusEndpoint::ALL.into_iter().map(Self::StatusHistory);
        let own = PortalRoute::ALL.into_iter().map(Self::Portal);
        let oauth = OAuthRoute::ALL.into_iter().map(Self::OAuth);
        let site = SiteRoute::ALL.into_iter().map(Self::Site);
        let visits = VisitEndpoint::ALL.into_iter().map(Self::Visit);
        let others = [Self::ProblemPage, Self::PushProducts, Self::Image, Self::Console, Self::ConsolePart];
        let gateway = calls.chain(keys).chain(service).chain(tools).chain(status);
        let api = gateway.chain(own).chain(oauth).chain(others).chain(pages).chain(webhooks).chain(admin);
        api.chain(assets).chain(sessions).chain(site).chain(visits)
    }

    /// Returns the method.
    pub const fn method(self) -> Method {
        match self {
            Self::CallTool(_, method) => method.method(),
            Self::Keys(endpoint) => endpoint.method(),
            Self::Service(route) => route.method(),
            Self::StatusHistory(endpoint) => endpoint.method(),
            Self::Tools(endpoint) => endpoint.method(),
            Self::Site(route) => route.method(),
            Self::Portal(route) => route.method(),
            Self::OAuth(route) => route.method(),
            #[cfg(feature = "biolink")]
            Self::Pages(endpoint) => endpoint.method(),
            #[cfg(feature = "biolink")]
            Self::Webhooks(endpoint) => endpoint.method(),
            #[cfg(feature = "biolink")]
            Self::Admin(endpoint) => endpoint.method(),
            #[cfg(feature = "biolink")]
            Self::Session(call) => call.method(),
            #[cfg(feature = "biolink")]
            Self::Visit(endpoint) => endpoint.method(),
            #[cfg(feature = "biolink")]
            Self::PushProducts => Method::Post,
            Self::Asset(_) | Self::ProblemPage | Self::Console | Self::ConsolePart => Method::Get,
            #[cfg(feature = "biolink")]
            Self::Image => Method::Get,
            Self::Preflight => Method::Options,
        }
    }

    /// Returns the path, with parameters in braces.
    pub fn path(self) -> String {
        let path = match self {
            Self::CallTool(tool, _) => return format!("/v1/{tool}/{{action}}"),
            Self::Console => "/console",
            Self::ConsolePart => "/console/assets/{file}",
            Self::Keys(endpoint) => endpoint.path(),
            Self::Service(route) => route.path(),
            Self::StatusHistory(endpoint) => endpoint.path(),
            Self::Tools(endpoint) => endpoint.path(),
            Self::Asset(asset) => return asset.path().unwrap_or_default(),
            Self::ProblemPage => "/problems/{code}",
            #[cfg(feature = "biolink")]
            Self::Session(call) => return format!("/console{}", call.path()),
            #[cfg(feature = "biolink")]
            Self::PushProducts => "/hooks/products/{source_id}",
            #[cfg(feature = "biolink")]
            Self::Image => "/i/{image_id}",
            Self::Site(route) => route.path(),
            Self::Portal(route) => route.path(),
            Self::OAuth(route) => route.path(),
            #[cfg(feature = "biolink")]
            Self::Pages(endpoint) => endpoint.path(),
            #[cfg(feature = "biolink")]
            Self::Webhooks(endpoint) => endpoint.path(),
            #[cfg(feature = "biolink")]
            Self::Admin(endpoint) => endpoint.path(),
            #[cfg(feature = "biolink")]
            Self::Visit(endpoint) => endpoint.path(),
            Self::Preflight => "*",
        };
        path.to_owned()
    }
}

/// Returns true if a problem is shown as a page: to visitors, unless they ask for JSON, and to
/// browsers that open an unknown address, or that an agent sends here.
pub fn is_shown_as_page(endpoint: Option<Endpoint>, accept: Option<&str>) -> bool {
    let accept = accept.unwrap_or_default();
    match endpoint {
        #[cfg(feature = "biolink")]
        Some(Endpoint::Visit(_) | Endpoint::Image) => !accept.contains("json"),
        // A browser opens it. A script that asks is shown what is wrong as JSON.
        Some(Endpoint::OAuth(OAuthRoute::Authorize)) => accept.contains("text/html"),
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
            .replace("{file}", "index-1a2b.js")
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
