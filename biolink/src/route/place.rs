//! The known paths of bio-link, and the methods that each takes.

use shared::{
    method::{Method, Methods},
    route::Path,
};

use super::{
    admin::{AdminEndpoint, AdminTarget},
    endpoint_path::EndpointPath,
    pages::{PagesEndpoint, PagesTarget},
    visit::VisitPath,
    webhooks::{WebhooksEndpoint, WebhooksTarget},
};
use crate::page::{ImageId, SourceId};

/// A known path of bio-link, whatever the method.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "`Route` says what each one is")]
pub enum Place<'a> {
    Pages(EndpointPath<PagesTarget>),
    Webhooks(EndpointPath<WebhooksTarget>),
    Admin(EndpointPath<AdminTarget<'a>>),
    PushProducts(SourceId),
    Image(ImageId),
    Visit(VisitPath<'a>),
}

impl<'a> Place<'a> {
    /// Finds a path; `None` if it is not bio-link's.
    pub(super) fn find(path: Path<'a>) -> Option<Self> {
        let segments = path.segments();
        match segments {
            [Some("admin"), ..] => {
                EndpointPath::find::<AdminEndpoint>(segments, AdminTarget::parse(segments)).map(Self::Admin)
            }
            [Some("webhooks" | "events"), ..] => {
                let target = WebhooksTarget::parse(segments);
                EndpointPath::find::<WebhooksEndpoint>(segments, target).map(Self::Webhooks)
            }
            [Some("pages" | "account" | "analytics" | "images" | "domains"), ..] => {
                EndpointPath::find::<PagesEndpoint>(segments, PagesTarget::parse(segments)).map(Self::Pages)
            }
            [Some("hooks"), Some("products"), Some(source), None, ..] => {
                SourceId::parse(source).map(Self::PushProducts)
            }
            [Some("i"), Some(image), None, ..] => ImageId::parse(image).map(Self::Image),
            _ => VisitPath::find(segments).map(Self::Visit),
        }
    }

    /// Returns the methods that the path takes.
    pub fn methods(self) -> Methods {
        let methods = match self {
            Self::Pages(path) => path.methods::<PagesEndpoint>(),
            Self::Webhooks(path) => path.methods::<WebhooksEndpoint>(),
            Self::Admin(path) => path.methods::<AdminEndpoint>(),
            Self::PushProducts(_) => Methods::of([Method::Post]),
            Self::Image(_) => Methods::of([Method::Get]),
            Self::Visit(path) => path.methods(),
        };
        methods.with_head()
    }
}
