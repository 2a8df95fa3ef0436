//! The routes of the operator of bio-link pages.

use shared::{
    key::KeyId,
    method::{Method, Methods},
};

use crate::page::{PageId, Slug};

/// A call of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdminCall<'a> {
    /// What is called.
    pub endpoint: AdminEndpoint,
    /// What it is called for.
    pub target: AdminTarget<'a>,
}

/// What a path of the operator names.
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

/// A path of the operator: what it names, and the endpoints there.
#[derive(Clone, Copy)]
pub struct AdminPlace<'a> {
    target: AdminTarget<'a>,
    endpoints: &'static [AdminEndpoint],
}

impl<'a> AdminPlace<'a> {
    /// Parses the segments after `/admin`; `None` for a path that is not known.
    pub(super) fn parse(segments: [Option<&'a str>; 4]) -> Option<Self> {
        use AdminEndpoint as E;
        let [Some(first), second, action, None] = segments else { return None };
        let (target, actions): (_, [&'static [E]; 3]) = match (first, second) {
            ("pages", Some(name)) => (page(name)?, [&[E::ReadPage], &[E::SuspendPage], &[E::RestorePage]]),
            ("accounts", Some(id)) => (
                AdminTarget::Account(KeyId::parse(id)?),
                [&[E::ReadAccount], &[E::SuspendAccount], &[E::RestoreAccount]],
            ),
            ("denied-hosts", None) => {
                let endpoints = &[E::ReadDeniedHosts, E::ReplaceDeniedHosts];
                return Some(Self { target: AdminTarget::Service, endpoints });
            }
            ("reports", None) => {
                return Some(Self { target: AdminTarget::Service, endpoints: &[E::ListReports] });
            }
            _ => return None,
        };
        let [read, suspend, restore] = actions;
        let endpoints = match action {
            None => read,
            Some("suspend") => suspend,
            Some("restore") => restore,
            Some(_) => return None,
        };
        Some(Self { target, endpoints })
    }

    pub(super) fn methods(self) -> Methods {
        Methods::of(self.endpoints.iter().map(|endpoint| endpoint.method()))
    }

    /// Returns true if a slug names the page.
    pub(super) const fn is_by_slug(self) -> bool {
        matches!(self.target, AdminTarget::Slug(_))
    }

    /// Returns the call of a method on the path.
    pub(super) fn call(self, method: Method) -> Option<AdminCall<'a>> {
        let endpoint = self.endpoints.iter().copied().find(|endpoint| endpoint.method() == method)?;
        Some(AdminCall { endpoint, target: self.target })
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
    use shared::{problem::Code, route::Path};

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
