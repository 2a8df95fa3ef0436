//! Addresses that were written or copied with something at their end.

use biolink::page::Slug;
use biolink::route::{Route as BiolinkRoute, address_on_own_host};

use super::{PortalRoute, Route};

/// Returns the address that a target means, if it is one that people open, with slashes or spaces at its
/// end: `/ada/?a=b` and `/ada%20?a=b` mean `/ada?a=b`. The query stays. With `slug`, the target is one of
/// the page's own host.
///
/// ```
/// use portal::route::corrected;
///
/// assert_eq!(corrected("/ada/?a=b", None).as_deref(), Some("/ada?a=b"));
/// assert_eq!(corrected("/ada", None), None);
/// ```
pub fn corrected(target: &str, slug: Option<&Slug>) -> Option<String> {
    let (path, query) = target.find('?').and_then(|at| target.split_at_checked(at)).unwrap_or((target, ""));
    let mut kept = path;
    while let Some(rest) = ["/", "%20"].into_iter().find_map(|end| kept.strip_suffix(end)) {
        kept = rest;
    }
    // The path `/` is right as it is.
    if kept.len() == path.len() || kept.is_empty() {
        return None;
    }
    let below = slug.and_then(|slug| address_on_own_host(kept, slug));
    // Only to what exists: a redirect to a 404 would hide the address that was wrong.
    let (route, _) = Route::read("GET", below.as_deref().unwrap_or(kept)).ok()?;
    is_opened(&route).then(|| format!("{kept}{query}"))
}

/// Returns the target that answers in place of this one, for programs whose settings have a slash at the
/// end. They send a body, which not all of them send again after a redirect.
pub fn answered_as(target: &str) -> Option<&'static str> {
    (target == "/mcp/").then_some("/mcp")
}

/// Returns true for what people open. A path of the API is refused: its clients are programs, which get
/// the path right once they are told.
const fn is_opened(route: &Route<'_>) -> bool {
    matches!(
        route,
        Route::Biolink(BiolinkRoute::Visit(_))
            | Route::Asset(_)
            | Route::Portal(PortalRoute::StatusPage | PortalRoute::ToolsPage)
            | Route::Site(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "/ada/l/lnk_0AgdWcQJ2oM02HLGs";

    #[test]
    fn end_of_an_address_is_corrected() {
        for (target, expected) in [
            ("/ada/", Some("/ada")),
            ("/ada%20", Some("/ada")),
            ("/ada%20/%20?utm_source=a%20b/", Some("/ada?utm_source=a%20b/")),
            ("/Ada/?", Some("/Ada?")),
            ("/ada", None),
            ("/ada?a=/", None),
            ("/", None),
            ("//", None),
            ("//evil.example/", None),
            ("//evil.example/docs/", None),
            ("/\\evil.example/", None),
            ("/s/ada/flyer/?a=b", Some("/s/ada/flyer?a=b")),
            ("/q/ada//", Some("/q/ada")),
            ("/q/ada/flyer%20", Some("/q/ada/flyer")),
            ("/ada/report/", Some("/ada/report")),
            ("/ada/card.vcf/", Some("/ada/card.vcf")),
            ("/docs/", Some("/docs")),
            ("/docs/pages/", Some("/docs/pages")),
            ("/docs/tools/?q=a", Some("/docs/tools?q=a")),
            ("/status/", Some("/status")),
            ("/console/", None),
            ("/ada/l/", None),
            ("/ada/unknown/", None),
            ("/a%0db/", None),
            ("ada/", None),
            ("/v1/keys/me/", None),
            ("/pages/", None),
            ("/webhooks/", None),
            ("/mcp/", None),
        ] {
            assert_eq!(corrected(target, None).as_deref(), expected, "{target}");
        }
        assert_eq!(corrected(&format!("{LINK}/"), None).as_deref(), Some(LINK));
    }

    #[test]
    fn end_of_an_address_on_its_own_host_is_corrected() {
        let slug = Slug::parse("ada").unwrap();
        for (target, expected) in [
            ("/s/flyer/?a=b", Some("/s/flyer?a=b")),
            ("/q/", Some("/q")),
            ("/report/", Some("/report")),
            ("/robots.txt/", Some("/robots.txt")),
            ("/", None),
            ("//evil.example/", None),
            ("/docs/", None),
            ("/v1/keys/me/", None),
        ] {
            assert_eq!(corrected(target, Some(&slug)).as_deref(), expected, "{target}");
        }
    }
}
