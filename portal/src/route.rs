//! Every route of the service at the edge: those of the gateway, of bio-link and of the portal.

mod console;
#[cfg(feature = "biolink")]
mod corrected;
mod oauth;
mod site;
mod status;

#[cfg(feature = "biolink")]
use biolink::codes;
#[cfg(feature = "biolink")]
use biolink::route::{self as biolink_route, ServedBy};
#[cfg(feature = "biolink")]
use shared::meter::SessionId;
use shared::method::{Method, Methods};
use shared::problem::Problem;
#[cfg(not(feature = "biolink"))]
use shared::problem::codes;
use shared::route::{
    self as gateway, EndpointRoute, KeysRoute, Path, Segments, ServiceRoute, Target, ToolCall, ToolsRoute,
    on_path,
};

use crate::asset::Asset;
use crate::docs_page::DocsPage;
use crate::script::Script;
#[cfg(feature = "biolink")]
use crate::session::{SessionCall, SessionPath};

pub use console::ConsoleFile;
#[cfg(feature = "biolink")]
pub use corrected::{answered_as, corrected};
pub use oauth::OAuthRoute;
pub use site::{PortalRoute, SiteRoute};
pub use status::{STATUS_FEED_PATH, StatusEndpoint, StatusRoute};

/// A request that the service accepts. A request is exactly one of these or a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// `GET|POST /v1/{tool}/{action}`
    CallTool(ToolCall<'a>),
    /// A request of the keys API.
    Keys(KeysRoute),
    /// A request for the state of the service, or of one part of it to another.
    Service(ServiceRoute),
    /// A text that is the same for every client.
    Asset(Asset),
    /// A request for the status history or for incidents.
    StatusHistory(StatusRoute),
    /// A read of the catalog of the tools' actions.
    Tools(ToolsRoute),
    /// A file of the host itself.
    Site(SiteRoute),
    /// A file of the console.
    Console(ConsoleFile<'a>),
    /// A request for the sessions of the console, and the session that it names.
    #[cfg(feature = "biolink")]
    Session(SessionCall, Option<SessionId>),
    /// A request for a page that is made for each request, or a service of the portal.
    Portal(PortalRoute),
    /// A request of OAuth.
    OAuth(OAuthRoute),
    /// A request for bio-link.
    #[cfg(feature = "biolink")]
    Biolink(biolink_route::Route<'a>),
    /// `OPTIONS` on any path: the methods that the path takes, none if it is unknown.
    Preflight(Methods),
}

impl<'a> Route<'a> {
    /// Parses the method and the target of a request. Returns its route and the parts of the target.
    /// An `OPTIONS` is never refused.
    ///
    /// # Errors
    /// As [`Target::parse`] and [`Route::parse`].
    pub fn read(method: &str, target: &'a str) -> Result<(Self, Target<'a>), Problem> {
        match Target::parse(target) {
            Ok(target) => Self::parse(method, target.path).map(|route| (route, target)),
            // A preflight gets its headers whatever the path is, or browsers would hide the problem
            // of the call itself.
            Err(_) if method.parse::<Method>() == Ok(Method::Options) => {
                Ok((Self::Preflight(Methods::NONE), Target::ASTERISK))
            }
            Err(problem) => Err(problem),
        }
    }

    /// Returns the one route that `method` and `path` name.
    ///
    /// # Errors
    /// As [`gateway::Route::parse`], and `route-unknown` for a path that no part of the service knows. An
    /// `OPTIONS` is never refused.
    pub fn parse(method: &str, path: &'a str) -> Result<Self, Problem> {
        let below = console::below(path);
        #[cfg(feature = "biolink")]
        if let Some(path) = below.and_then(SessionPath::parse) {
            let session = |method| path.call(method).map(|call| Self::Session(call, path.id));
            return on_path(method.parse().ok(), path.methods(), Self::Preflight, session);
        }
        match below {
            Some(_) if path == PortalRoute::Preview.path() => Self::parse_api(method, path),
            Some(below) => Self::parse_file(method.parse().ok(), below),
            None if path == "/console" => Self::parse_file(method.parse().ok(), ""),
            None => Self::parse_api(method, path),
        }
    }

    fn parse_file(method: Option<Method>, below: &'a str) -> Result<Self, Problem> {
        let file = ConsoleFile::parse(below);
        if method == Some(Method::Options) && file.is_err() {
            return Ok(Self::Preflight(Methods::NONE));
        }
        let file = file?;
        let methods = Methods::of([Method::Get]).with_head();
        on_path(method, methods, Self::Preflight, |method| {
            (method == Method::Get).then_some(Self::Console(file))
        })
    }

    fn parse_api(method: &str, path: &'a str) -> Result<Self, Problem> {
        Ok(match gateway::Route::parse(method, path)? {
            gateway::Route::CallTool(call) => Self::CallTool(call),
            gateway::Route::Keys(route) => Self::Keys(route),
            gateway::Route::Service(route) => Self::Service(route),
            gateway::Route::Tools(route) => Self::Tools(route),
            gateway::Route::Preflight(methods) => Self::Preflight(methods),
            gateway::Route::Other(method, path) => return Self::parse_other(method, path),
        })
    }

    // Not inlined: calls of tools would get a function of 8 KB, which a new isolate optimizes for long.
    #[inline(never)]
    fn parse_other(method: Option<Method>, path: Path<'a>) -> Result<Self, Problem> {
        match Self::find_other(method, path) {
            Err(_) if method == Some(Method::Options) => Ok(Self::Preflight(Methods::NONE)),
            read => read,
        }
    }

    fn find_other(method: Option<Method>, path: Path<'a>) -> Result<Self, Problem> {
        let segments = path.segments();
        if let Some(route) = StatusRoute::find(segments, method, Self::Preflight, Self::StatusHistory)? {
            return Ok(route);
        }
        if let Some(route) = PortalRoute::find(segments, method, Self::Preflight, Self::Portal)? {
            return Ok(route);
        }
        if let Some(route) = OAuthRoute::find(segments, method, Self::Preflight, Self::OAuth)? {
            return Ok(route);
        }
        if let Some(route) = SiteRoute::find(segments, method, Self::Preflight, Self::Site)? {
            return Ok(route);
        }
        if let Some(asset) = asset(segments) {
            let methods = Methods::of([Method::Get]).with_head();
            return on_path(method, methods, Self::Preflight, |_| Some(Self::Asset(asset)));
        }
        Self::find_of_biolink(method, path)
    }

    #[cfg(feature = "biolink")]
    fn find_of_biolink(method: Option<Method>, path: Path<'a>) -> Result<Self, Problem> {
        let place = biolink_route::Place::parse(path)?;
        let route = |method| place.route(method).map(Self::Biolink);
        on_path(method, place.methods(), Self::Preflight, route)
    }

    #[cfg(not(feature = "biolink"))]
    fn find_of_biolink(_: Option<Method>, _: Path<'a>) -> Result<Self, Problem> {
        Err(Problem::new(codes::ROUTE_UNKNOWN, "no part of this worker has the path"))
    }

    /// Returns the host that serves it, where pages have their own.
    #[cfg(feature = "biolink")]
    pub const fn served_by(&self) -> ServedBy {
        match self {
            Self::Biolink(biolink_route::Route::Visit(_) | biolink_route::Route::Image(_)) => ServedBy::Pages,
            Self::Preflight(_) | Self::Site(_) => ServedBy::Both,
            _ => ServedBy::Api,
        }
    }
}

fn asset(segments: Segments<'_>) -> Option<Asset> {
    match segments {
        [None, ..] => Some(Asset::Landing),
        [Some("openapi.json"), None, ..] => Some(Asset::OpenApi),
        [Some("biolink"), Some("openapi.json"), None, ..] => Some(Asset::PagesOpenApi),
        [Some("llms.txt"), None, ..] => Some(Asset::LlmsTxt),
        [Some(".well-known"), Some("api-catalog"), None, ..] => Some(Asset::ApiCatalog),
        [Some("docs"), None, ..] => Some(Asset::Docs(DocsPage::Start)),
        [Some("docs.md"), None, ..] => Some(Asset::DocsMarkdown(DocsPage::Start)),
        // Before the pages, which would take it for the name of one.
        [Some("docs"), Some("changelog.atom"), None, ..] => Some(Asset::ChangelogFeed),
        [Some("docs"), Some(page), None, ..] => match page.strip_suffix(".md") {
            Some(page) => DocsPage::parse(page).map(Asset::DocsMarkdown),
            None => DocsPage::parse(page).map(Asset::Docs),
        },
        [Some("problems"), Some(code), None, ..] => codes::parse(code).map(Asset::Problem),
        [Some("assets"), Some("search.json"), None, ..] => Some(Asset::SearchIndex),
        [Some("assets"), Some(name), None, ..] => Script::parse(name).map(Asset::Script),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
