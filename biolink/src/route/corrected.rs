//! Addresses of pages that were written or copied with something at their end.

use crate::page::Slug;

/// Returns the address of the page that a target means, if it is a slug with slashes or spaces at its
/// end: `/ada/?a=b` and `/ada%20?a=b` mean `/ada?a=b`. The query stays.
///
/// ```
/// use biolink::route::corrected;
///
/// assert_eq!(corrected("/ada/?a=b").as_deref(), Some("/ada?a=b"));
/// assert_eq!(corrected("/ada"), None);
/// ```
pub fn corrected(target: &str) -> Option<String> {
    let (path, query) = target.find('?').and_then(|at| target.split_at_checked(at)).unwrap_or((target, ""));
    let slug = path.strip_prefix('/')?;
    let mut kept = slug;
    while let Some(rest) = ["/", "%20"].into_iter().find_map(|end| kept.strip_suffix(end)) {
        kept = rest;
    }
    (kept.len() < slug.len() && Slug::parse(kept).is_ok()).then(|| format!("/{kept}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("/docs/", None),
            ("/ada/l/", None),
            ("/a%0db/", None),
            ("ada/", None),
        ] {
            assert_eq!(corrected(target).as_deref(), expected, "{target}");
        }
    }
}
