//! The views of the console: reads of the API that are shown as HTML.

use biolink::route::{self as biolink_route, AdminEndpoint, PagesEndpoint, WebhooksEndpoint};
use shared::route::{KeysEndpoint, KeysRoute, ServiceRoute};
use shared::status::incident::INCIDENTS_PATH;
use strum::VariantArray;

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
    Incidents,
    Biolink(biolink_route::Route<'a>),
}

/// A view of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
#[allow(missing_docs, reason = "`api_path` says what each one shows")]
pub enum ConsoleView {
    OwnKey,
    History,
    Calls,
    Alerts,
    Secrets,
    Keys,
    Key,
    Status,
    Incidents,
    Account,
    Domains,
    Pages,
    Page,
    Revisions,
    Sources,
    Source,
    SourceRuns,
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
    pub fn is_console(target: &str) -> bool {
        let path = target.split('?').next().unwrap_or_default();
        path == "/console" || Self::api_path(path).is_some()
    }

    /// Returns the path of the API behind a path of the console; `None` for another path.
    pub(super) fn api_path(path: &str) -> Option<&str> {
        // `/consoles` is another path, and none of the console's.
        path.strip_prefix("/console").filter(|rest| rest.starts_with('/'))
    }
}

/// Returns the path template of a read that may have a view.
pub(super) const fn biolink_path(read: &biolink_route::Route<'_>) -> Option<&'static str> {
    match read {
        biolink_route::Route::Pages(call) => Some(call.endpoint.path()),
        biolink_route::Route::Webhooks(call) => Some(call.endpoint.path()),
        biolink_route::Route::Admin(call) => Some(call.endpoint.path()),
        biolink_route::Route::PushProducts(_)
        | biolink_route::Route::Image(_)
        | biolink_route::Route::Visit(_) => None,
    }
}

impl ConsoleView {
    /// Every view once.
    pub const ALL: [Self; Self::VARIANTS.len()] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the path of the read, with parameters in braces.
    pub const fn api_path(self) -> &'static str {
        match self {
            Self::OwnKey => KeysEndpoint::ReadOwn.path(),
            Self::History => KeysEndpoint::ReadHistory.path(),
            Self::Calls => KeysEndpoint::ReadCalls.path(),
            Self::Alerts => KeysEndpoint::ReadAlerts.path(),
            Self::Secrets => KeysEndpoint::ListSecrets.path(),
            Self::Keys => KeysEndpoint::List.path(),
            Self::Key => KeysEndpoint::Read.path(),
            Self::Status => ServiceRoute::Status.path(),
            Self::Incidents => INCIDENTS_PATH,
            Self::Account => PagesEndpoint::Account.path(),
            Self::Domains => PagesEndpoint::ListDomains.path(),
            Self::Pages => PagesEndpoint::List.path(),
            Self::Page => PagesEndpoint::Read.path(),
            Self::Revisions => PagesEndpoint::Revisions.path(),
            Self::Sources => PagesEndpoint::ListSources.path(),
            Self::Source => PagesEndpoint::ReadSource.path(),
            Self::SourceRuns => PagesEndpoint::SourceRuns.path(),
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
