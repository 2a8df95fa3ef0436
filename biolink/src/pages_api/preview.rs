//! A page as visitors would see it, before it is stored.

use shared::{fields::Fields, problem::Problem, response::Response, time::UnixMillis};

use super::account::for_each_url;
use crate::page::{IdSource, ImageUrl, PageView, Reader, Slug, document::Locale, render};

/// Returns the page that a body of `POST /pages` would make. `base` is the address below which pages are
/// shown, and `locale` the language of a page that names none. No account is asked: the slug may be another page's, and
/// images may be of another account.
///
/// # Errors
/// As `POST /pages` of what the body alone says: `body-malformed`, `fields-invalid` or `body-too-large`.
pub fn preview(
    body: &[u8],
    base: &str,
    locale: Option<Locale>,
    now: UnixMillis,
) -> Result<Response, Problem> {
    let mut members = Fields::read(body)?.into_members();
    for_each_url(&mut members, "#", &mut |_, url| {
        if let Some(id) = ImageUrl::own(url.strip_prefix(base).unwrap_or(url)) {
            *url = ImageUrl::Own(id).to_string();
        }
    });
    // Nothing keeps these ids.
    let input = Reader::new(None, IdSource::new([0; 16])).with_locale(locale).page(members)?;
    let slug = input.slug.unwrap_or_else(|| Slug::drawn("preview".to_owned()));
    let path = format!("/{slug}");
    let view = PageView {
        document: &input.document,
        slug: &slug,
        base,
        path: &path,
        now,
        published_at: now,
        image: None,
    };
    Ok(render(&view).unique())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use shared::problem::codes;

    use super::*;
    use crate::page::ImageId;

    const BASE: &str = "http://127.0.0.1:8787";

    fn shown(body: &Value) -> Result<Response, Problem> {
        preview(body.to_string().as_bytes(), BASE, None, UnixMillis(1_763_712_000_000))
    }

    #[test]
    fn preview_shows_what_is_not_stored() {
        let id = ImageId::new([1; 12]);
        let image = format!("{BASE}/i/{id}");
        let links = [json!({ "title": "News", "url": "https://example.com/news" })];
        let page = json!({ "title": "Ada", "avatar": { "url": image, "alt": "Ada" }, "links": links });
        let response = shown(&page).unwrap();
        let html = &response.body;
        let avatar = format!(r#"src="/i/{id}""#);
        for text in ["<h1>Ada</h1>", ">News<", &avatar, "/preview/l/"] {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert_eq!(response.header("cache-control"), Some("private, no-cache"));
        assert!(!html.contains("/seen/"), "a preview is no view");
    }

    #[test]
    fn preview_of_invalid_fields_names_each() {
        let problem = shown(&json!({ "bio": 7, "links": [{ "url": "javascript:alert(1)" }] })).err().unwrap();
        assert_eq!(problem.code(), codes::FIELDS_INVALID);
        let body = problem.render(&shared::request_id::RequestId([0; 16])).body;
        for pointer in ["#/title", "#/bio", "#/links/0/title", "#/links/0/url"] {
            assert!(body.contains(&format!("\"{pointer}\"")), "{pointer}: {body}");
        }
    }
}
