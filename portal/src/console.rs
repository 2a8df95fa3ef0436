//! The console: a web app (`portal/web`), whose files the service serves as they were built.
//!
//! Why: docs/decisions/portal.md, "Elements are made one by one, and Trusted Types are required".

use shared::headers::Header;
use shared::problem::{Problem, codes};
use shared::response::Response;

/// The name of its one document.
pub const PAGE: &str = "console/index.html";
/// What the app may load: its own files and calls of the service, and no text becomes HTML but the preview's.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; \
    connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types preview";

/// Returns the response with the app's document.
pub fn page(html: String) -> Response {
    Response::page("text/html; charset=utf-8", html).with_headers([
        ("content-security-policy", POLICY),
        ("referrer-policy", "no-referrer"),
        ("x-robots-tag", "noindex"),
    ])
}

/// Returns the headers of another file of the app. The name of a file in `assets` has the hash of what is in it.
pub fn part_headers(name: &str, media_type: &'static str) -> Vec<Header> {
    let is_hashed = name.starts_with("assets/");
    let kept = if is_hashed { "public, max-age=31536000, immutable" } else { "public, max-age=300" };
    let all = [("content-type", media_type), ("cache-control", kept), ("x-content-type-options", "nosniff")];
    all.map(|(name, value)| (name.into(), value.into())).into()
}

/// Returns the refusal of a file that there is not: one of an older build, for instance.
pub fn unknown_file() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "the console has no file of this name; load the console again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_asked_for_again_and_its_hashed_files_are_not() {
        let page = page("<!doctype html>".to_owned());
        assert_eq!(page.header("cache-control"), Some("public, max-age=0, must-revalidate"));
        assert!(page.header("etag").is_some());
        let cache = |name: &str| part_headers(name, "text/javascript")[1].1.clone();
        assert_eq!(cache("assets/index-1a2b.js"), "public, max-age=31536000, immutable");
        assert_eq!(cache("licenses/geist-OFL.txt"), "public, max-age=300");
    }

    #[test]
    fn policy_has_no_exception() {
        assert!(!POLICY.contains("unsafe") && !POLICY.contains('*') && !POLICY.contains("http"), "{POLICY}");
    }
}
