//! The views of the console: reads of the API that are shown as HTML.

use super::{
    admin::{AdminCall, AdminEndpoint},
    pages::{PagesCall, PagesEndpoint},
    place::Place,
    webhooks::{WebhooksCall, WebhooksEndpoint},
};
use crate::{
    key::KeyId,
    method::{Method, Methods},
    problem::{Code, Problem},
};

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
    OwnKey,
    Keys,
    Key(KeyId),
    Status,
    Pages(PagesCall),
    Webhooks(WebhooksCall),
    Admin(AdminCall<'a>),
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
    /// The methods that a view takes.
    pub(super) fn methods() -> Methods {
        Methods::of([Method::Get, Method::Head])
    }

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
        let call = match Place::parse(api_path) {
            Ok(place) => Self::of(place, api_path),
            Err(problem) if problem.code() == Code::PathMalformed => return Err(problem),
            Err(_) => None,
        };
        call.ok_or_else(|| Problem::new(Code::RouteUnknown, "the console has no view of this path"))
    }

    fn of(place: Place<'a>, path: &'a str) -> Option<Self> {
        let (view, read) = match place {
            Place::Own => (ConsoleView::OwnKey, ConsoleRead::OwnKey),
            Place::Keys => (ConsoleView::Keys, ConsoleRead::Keys),
            Place::Key(id) => (ConsoleView::Key, ConsoleRead::Key(id)),
            Place::Status => (ConsoleView::Status, ConsoleRead::Status),
            Place::Pages(place) => {
                let call = place.call(Method::Get)?;
                (pages_view(call.endpoint)?, ConsoleRead::Pages(call))
            }
            Place::Webhooks(place) => {
                let call = place.call(Method::Get)?;
                (webhooks_view(call.endpoint)?, ConsoleRead::Webhooks(call))
            }
            Place::Admin(place) => {
                let call = place.call(Method::Get)?;
                (admin_view(call.endpoint)?, ConsoleRead::Admin(call))
            }
            _ => return None,
        };
        Some(Self { view, path, read })
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
    use super::*;
    use crate::route::Route;

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
            assert_eq!(code("GET", path), Err(Code::RouteUnknown), "{path}");
        }
        assert_eq!(code("GET", "/console//pages"), Err(Code::PathMalformed));
        assert_eq!(code("GET", "/console/pages/"), Err(Code::PathMalformed));
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
            assert_eq!(code(method, "/console/v1/keys/me"), Err(Code::MethodNotAllowed), "{method}");
        }
    }
}
