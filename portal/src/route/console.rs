//! The views of the console: reads of the API that are shown as HTML.

use biolink::{
    codes,
    route::{self as biolink_route, AdminEndpoint, PagesEndpoint, WebhooksEndpoint},
};
use shared::{problem::Problem, route::KeysRoute};

use super::Route;

/// A read of the API that the console shows: `GET /console` and the path of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsoleCall<'a> {
    /// The view.
    pub view: ConsoleView,
    /// The path of the API.
    pub path: &'a str,
    /// The read.
    pub read: ConsoleRead<'a>,
}

/// A read of the API that has a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "`Route` says what each one is")]
pub enum ConsoleRead<'a> {
    Keys(KeysRoute),
    Status,
    Biolink(biolink_route::Route<'a>),
}

/// A view of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`api_path` says what each one shows")]
pub enum ConsoleView {
    OwnKey,
    Keys,
    Key,
    Status,
    Account,
    Pages,
    Page,
    Analytics,
    Webhooks,
    Webhook,
    Deliveries,
    Delivery,
    ReportedPage,
    ReportedAccount,
    Reports,
}

impl<'a> ConsoleCall<'a> {
    /// Returns true for the target of the console or of one of its views, whose HTML is for pages of
    /// the same origin only.
    #[must_use]
    pub fn is_console(target: &str) -> bool {
        let path = target.split('?').next().unwrap_or_default();
        path == "/console" || Self::api_path(path).is_some()
    }

    /// Returns the path of the API behind a path of the console; `None` for another path.
    pub(super) fn api_path(path: &str) -> Option<&str> {
        path.strip_prefix("/console").filter(|rest| rest.starts_with('/'))
    }

    /// Parses the path of the API behind a view.
    ///
    /// # Errors
    /// Returns `path-malformed`, or `route-unknown` for a path that has no view.
    pub(super) fn parse(api_path: &'a str) -> Result<Self, Problem> {
        let call = match Route::parse_api("GET", api_path) {
            Ok(route) => Self::of(route, api_path),
            Err(problem) if problem.code() == codes::PATH_MALFORMED => return Err(problem),
            Err(_) => None,
        };
        call.ok_or_else(|| Problem::new(codes::ROUTE_UNKNOWN, "the console has no view of this path"))
    }

    fn of(route: Route<'a>, path: &'a str) -> Option<Self> {
        let (view, read) = match route {
            Route::Keys(route) => (keys_view(route)?, ConsoleRead::Keys(route)),
            Route::Status => (ConsoleView::Status, ConsoleRead::Status),
            Route::Biolink(route) => (biolink_view(&route)?, ConsoleRead::Biolink(route)),
            _ => return None,
        };
        Some(Self { view, path, read })
    }
}

const fn keys_view(route: KeysRoute) -> Option<ConsoleView> {
    match route {
        KeysRoute::ReadOwn => Some(ConsoleView::OwnKey),
        KeysRoute::List => Some(ConsoleView::Keys),
        KeysRoute::Read(_) => Some(ConsoleView::Key),
        _ => None,
    }
}

const fn biolink_view(route: &biolink_route::Route<'_>) -> Option<ConsoleView> {
    match route {
        biolink_route::Route::Pages(call) => pages_view(call.endpoint),
        biolink_route::Route::Webhooks(call) => webhooks_view(call.endpoint),
        biolink_route::Route::Admin(call) => admin_view(call.endpoint),
        biolink_route::Route::PushProducts(_) | biolink_route::Route::Visit(_) => None,
    }
}

const fn pages_view(endpoint: PagesEndpoint) -> Option<ConsoleView> {
    match endpoint {
        PagesEndpoint::Account => Some(ConsoleView::Account),
        PagesEndpoint::List => Some(ConsoleView::Pages),
        PagesEndpoint::Read => Some(ConsoleView::Page),
        PagesEndpoint::Analytics => Some(ConsoleView::Analytics),
        _ => None,
    }
}

const fn webhooks_view(endpoint: WebhooksEndpoint) -> Option<ConsoleView> {
    match endpoint {
        WebhooksEndpoint::List => Some(ConsoleView::Webhooks),
        WebhooksEndpoint::Read => Some(ConsoleView::Webhook),
        WebhooksEndpoint::Deliveries => Some(ConsoleView::Deliveries),
        WebhooksEndpoint::ReadDelivery => Some(ConsoleView::Delivery),
        _ => None,
    }
}

const fn admin_view(endpoint: AdminEndpoint) -> Option<ConsoleView> {
    match endpoint {
        AdminEndpoint::ReadPage => Some(ConsoleView::ReportedPage),
        AdminEndpoint::ReadAccount => Some(ConsoleView::ReportedAccount),
        AdminEndpoint::ListReports => Some(ConsoleView::Reports),
        _ => None,
    }
}

impl ConsoleView {
    /// Every view once.
    pub const ALL: [Self; 15] = [
        Self::OwnKey,
        Self::Keys,
        Self::Key,
        Self::Status,
        Self::Account,
        Self::Pages,
        Self::Page,
        Self::Analytics,
        Self::Webhooks,
        Self::Webhook,
        Self::Deliveries,
        Self::Delivery,
        Self::ReportedPage,
        Self::ReportedAccount,
        Self::Reports,
    ];

    /// Returns the path of the read, with parameters in braces.
    #[must_use]
    pub const fn api_path(self) -> &'static str {
        match self {
            Self::OwnKey => "/v1/keys/me",
            Self::Keys => "/v1/keys",
            Self::Key => "/v1/keys/{id}",
            Self::Status => "/v1/status",
            Self::Account => PagesEndpoint::Account.path(),
            Self::Pages => PagesEndpoint::List.path(),
            Self::Page => PagesEndpoint::Read.path(),
            Self::Analytics => PagesEndpoint::Analytics.path(),
            Self::Webhooks => WebhooksEndpoint::List.path(),
            Self::Webhook => WebhooksEndpoint::Read.path(),
            Self::Deliveries => WebhooksEndpoint::Deliveries.path(),
            Self::Delivery => WebhooksEndpoint::ReadDelivery.path(),
            Self::ReportedPage => AdminEndpoint::ReadPage.path(),
            Self::ReportedAccount => AdminEndpoint::ReadAccount.path(),
            Self::Reports => AdminEndpoint::ListReports.path(),
        }
    }
}

#[cfg(test)]
mod tests {
    use shared::problem::Code;

    use super::*;

    fn code(method: &str, path: &str) -> Result<ConsoleView, Code> {
        match Route::parse(method, path) {
            Ok(Route::Console(call)) => Ok(call.view),
            Ok(other) => panic!("{other:?}"),
            Err(problem) => Err(problem.code()),
        }
    }

    #[test]
    fn view_has_the_path_of_its_read() {
        assert_eq!(code("GET", "/console/v1/keys/me"), Ok(ConsoleView::OwnKey));
        assert_eq!(code("HEAD", "/console/pages"), Ok(ConsoleView::Pages));
        let Ok(Route::Console(call)) = Route::parse("GET", "/console/admin/pages/Ada") else { panic!() };
        assert_eq!(Route::from(call.read), Route::parse("GET", "/admin/pages/Ada").unwrap());
    }

    #[test]
    fn path_without_a_view_is_route_unknown() {
        for path in [
            "/console/v1/qr/generate",
            "/console/v1/hologram/generate",
            "/console/v1/keys/issue",
            "/console/account/export",
            "/console/ada",
            "/console/docs",
            "/console/console/pages",
            "/consoles/pages",
        ] {
            assert_eq!(code("GET", path), Err(codes::ROUTE_UNKNOWN), "{path}");
        }
        assert_eq!(code("GET", "/console//pages"), Err(codes::PATH_MALFORMED));
        assert_eq!(code("GET", "/console/pages/"), Err(codes::PATH_MALFORMED));
    }

    #[test]
    fn console_is_its_page_and_what_is_below_it() {
        for target in ["/console", "/console?a", "/console/pages?limit=2", "/console/"] {
            assert!(ConsoleCall::is_console(target), "{target}");
        }
        for target in ["/", "/consoles", "/pages/console", "/assets/console.js", "/?/console/"] {
            assert!(!ConsoleCall::is_console(target), "{target}");
        }
    }

    #[test]
    fn view_takes_no_method_that_changes() {
        for method in ["POST", "DELETE", "PATCH", "PUT", "TRACE"] {
            assert_eq!(code(method, "/console/v1/keys/me"), Err(codes::METHOD_NOT_ALLOWED), "{method}");
        }
    }
}
