//! The addresses of a page on its own host.
//!
//! Why: docs/decisions/pages.md, "Any host that is not the service's own is a customer's".

use crate::page::Slug;

/// Returns the address under which a page's part is served where all pages are, for its address on its own host:
///  `/l/…` is `/{slug}/l/…`, and `/q` is `/q/{slug}`. `None` for a file of the host itself, or an
/// image, which is the same everywhere.
///
/// ```
/// use biolink::{page::Slug, route::address_on_own_host};
///
/// let slug = Slug::parse("ada").unwrap();
/// assert_eq!(address_on_own_host("/?via=qr", &slug).as_deref(), Some("/ada?via=qr"));
/// assert_eq!(address_on_own_host("/robots.txt", &slug), None);
/// ```
pub fn address_on_own_host(target: &str, slug: &Slug) -> Option<String> {
    let (path, query) = target.find('?').and_then(|at| target.split_at_checked(at)).unwrap_or((target, ""));
    if is_file_of_a_host(path) {
        return None;
    }
    let coded = ["/q", "/s"].into_iter().find_map(|kind| {
        let rest = path.strip_prefix(kind)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{kind}/{slug}{rest}{query}"))
    });
    Some(coded.unwrap_or_else(|| match path {
        "/" => format!("/{slug}{query}"),
        _ => format!("/{slug}{path}{query}"),
    }))
}

fn is_file_of_a_host(path: &str) -> bool {
    matches!(path, "/robots.txt" | "/favicon.ico" | "/.well-known/security.txt") || path.starts_with("/i/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_on_a_host_of_its_own_names_the_page() {
        let slug = Slug::parse("ada").unwrap();
        for (target, expected) in [
            ("/", Some("/ada")),
            ("/?a=b", Some("/ada?a=b")),
            ("/l/lnk_1?via=x", Some("/ada/l/lnk_1?via=x")),
            ("/qr.svg", Some("/ada/qr.svg")),
            ("/q", Some("/q/ada")),
            ("/q?a", Some("/q/ada?a")),
            ("/q/flyer", Some("/q/ada/flyer")),
            ("/s/flyer", Some("/s/ada/flyer")),
            ("/seen/x", Some("/ada/seen/x")),
            ("/pages", Some("/ada/pages")),
            ("/v1/keys", Some("/ada/v1/keys")),
            ("/ada", Some("/ada/ada")),
            ("/i/img_1", None),
            ("/robots.txt", None),
            ("/favicon.ico?v=1", None),
        ] {
            assert_eq!(address_on_own_host(target, &slug).as_deref(), expected, "{target}");
        }
    }
}
