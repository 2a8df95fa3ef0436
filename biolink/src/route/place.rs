//! The known paths of bio-link, and the methods that each takes.

use shared::{
    method::{Method, Methods},
    route::Path,
};

use super::{admin::AdminPlace, pages::PagesPlace, visit::Visit, webhooks::WebhooksPlace};
use crate::page::SourceId;

/// A known path of bio-link, whatever the method.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "`Route` says what each one is")]
pub enum Place<'a> {
    Pages(PagesPlace),
    Webhooks(WebhooksPlace),
    Admin(AdminPlace<'a>),
    PushProducts(SourceId),
    Visit(Visit<'a>),
}

impl<'a> Place<'a> {
    /// Finds a path; `None` if it is not bio-link's.
    pub(super) fn find(path: Path<'a>) -> Option<Self> {
        let segments = path.segments();
        match segments {
            [Some("admin"), rest @ ..] => AdminPlace::parse(rest).map(Self::Admin),
            [Some("webhooks" | "events"), ..] => WebhooksPlace::parse(segments).map(Self::Webhooks),
            [Some("hooks"), Some("products"), Some(source), None, ..] => {
                SourceId::parse(source).map(Self::PushProducts)
            }
            _ => match PagesPlace::parse(segments) {
                Some(place) => Some(Self::Pages(place)),
                None => Visit::parse(segments).map(Self::Visit),
            },
        }
    }

    /// Returns the methods that the path takes.
    pub fn methods(self) -> Methods {
        let methods = match self {
            Self::Pages(place) => place.methods(),
            Self::Webhooks(place) => place.methods(),
            Self::Admin(place) => place.methods(),
            Self::PushProducts(_) => Methods::of([Method::Post]),
            Self::Visit(visit) => visit.methods(),
        };
        methods.with_head()
    }
}
