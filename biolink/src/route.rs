//! The routes of bio-link.

mod admin;
mod endpoint_path;
mod malformed_id;
mod own_host;
mod pages;
mod pages_host;
mod place;
mod request_host;
mod visit;
mod webhooks;

use shared::{
    method::Method,
    problem::Problem,
    route::{Path, unknown_route},
};

use crate::page::{ImageId, SourceId};

pub use admin::{AdminCall, AdminEndpoint, AdminTarget};
pub use endpoint_path::{EndpointCall, EndpointPath};
pub use own_host::address_on_own_host;
pub use pages::{PagesCall, PagesEndpoint, PagesTarget};
pub use pages_host::{PagesHost, ServedBy};
pub use place::Place;
pub use request_host::KnownHosts;
pub use visit::{Visit, VisitEndpoint, VisitPart};
pub use webhooks::{WebhooksCall, WebhooksEndpoint, WebhooksTarget};

/// A request for bio-link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// A call of the pages API.
    Pages(PagesCall),
    /// A call of the webhooks API.
    Webhooks(WebhooksCall),
    /// A call of the operator of pages.
    Admin(AdminCall<'a>),
    /// `POST /hooks/products/{source_id}`: a shop pushes changes.
    PushProducts(SourceId),
    /// `GET /i/{image_id}`: an uploaded image.
    Image(ImageId),
    /// A route of visitors: pages, links, codes, cards and reports.
    Visit(Visit<'a>),
}

impl<'a> Place<'a> {
    /// Parses a path.
    ///
    /// # Errors
    /// Returns `route-unknown`, which names an id that is malformed.
    pub fn parse(path: Path<'a>) -> Result<Self, Problem> {
        Self::find(path).ok_or_else(|| malformed_id::explain(path.as_str()).unwrap_or_else(unknown_route))
    }

    /// Returns the route of a method, or `None` if the path does not take the method.
    pub fn route(self, method: Method) -> Option<Route<'a>> {
        match self {
            Self::Pages(path) => path.call(method).map(Route::Pages),
            Self::Webhooks(path) => path.call(method).map(Route::Webhooks),
            Self::Admin(path) => path.call(method).map(Route::Admin),
            Self::PushProducts(id) => (method == Method::Post).then_some(Route::PushProducts(id)),
            Self::Image(id) => (method == Method::Get).then_some(Route::Image(id)),
            Self::Visit(path) => path.visit(method).map(Route::Visit),
        }
    }
}
