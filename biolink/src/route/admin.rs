//! The routes of the operator of bio-link pages.

use shared::{endpoints, key::KeyId, route::Segments};

use super::endpoint_path::EndpointCall;
use crate::page::{PageId, Slug};

/// A call of the operator.
pub type AdminCall<'a> = EndpointCall<AdminEndpoint, AdminTarget<'a>>;

/// The object that a path of the operator names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminTarget<'a> {
    /// All pages.
    Service,
    /// A page.
    Page(PageId),
    /// The page that has this slug, or had it last, as it was written.
    Slug(&'a str),
    /// The account of this key.
    Account(KeyId),
}

endpoints! {
    /// One method on one path template of the operator.
    AdminEndpoint
    ReadPage: Get "/admin/pages/{page_id}",
    SuspendPage: Post "/admin/pages/{page_id}/suspend",
    RestorePage: Post "/admin/pages/{page_id}/restore",
    ReadAccount: Get "/admin/accounts/{id}",
    SuspendAccount: Post "/admin/accounts/{id}/suspend",
    RestoreAccount: Post "/admin/accounts/{id}/restore",
    ReadDeniedHosts: Get "/admin/denied-hosts",
    ReplaceDeniedHosts: Put "/admin/denied-hosts",
    ListReports: Get "/admin/reports",
}

impl AdminEndpoint {
    /// Returns true if a call has a body.
    pub const fn has_body(self) -> bool {
        matches!(self, Self::SuspendPage | Self::SuspendAccount | Self::ReplaceDeniedHosts)
    }
}

impl<'a> AdminTarget<'a> {
    /// Parses the segments of a path; `None` for an id that is malformed.
    pub(super) fn parse(segments: Segments<'a>) -> Option<Self> {
        match segments {
            [_, Some("pages"), Some(name), ..] => page(name),
            [_, Some("accounts"), Some(id), ..] => KeyId::parse(id).map(Self::Account),
            _ => Some(Self::Service),
        }
    }
}

fn page(name: &str) -> Option<AdminTarget<'_>> {
    match PageId::parse(name) {
        Some(id) => Some(AdminTarget::Page(id)),
        None => Slug::parse(name).is_ok().then_some(AdminTarget::Slug(name)),
    }
}

#[cfg(test)]
mod tests {
    use shared::{method::Method, problem::Code, route::Path};

    use super::*;
    use crate::{
        codes,
        route::{Place, Route},
    };

    fn target(path: &str) -> Result<AdminTarget<'_>, Code> {
        let route = Path::parse(path).and_then(Place::parse).map(|place| place.route(Method::Get));
        match route.map_err(|problem| problem.code())? {
            Some(Route::Admin(call)) => Ok(call.target),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn page_is_named_by_id_or_slug() {
        let id = PageId::new([1; 12]);
        let path = format!("/admin/pages/{id}");
        assert_eq!(target(&path), Ok(AdminTarget::Page(id)));
        assert_eq!(target("/admin/pages/Ada"), Ok(AdminTarget::Slug("Ada")));
        for path in [
            "/admin",
            "/admin/pages",
            "/admin/pages/ab",
            "/admin/pages/ada/delete",
            "/admin/pages/ada/suspend/now",
            "/admin/accounts/ada",
            "/admin/denied-hosts/x",
            "/admin/reports/7",
        ] {
            assert_eq!(target(path), Err(codes::ROUTE_UNKNOWN), "{path}");
        }
    }
}
