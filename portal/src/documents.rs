//! What a proxy in direct mode serves to people and programs: the reference of tools and keys.

use biolink::codes;
use biolink::page::robots_txt;
use shared::document::{Document, SERVER};
use shared::response::Response;
use shared::time::UnixMillis;

use crate::docs::{self, Host};
use crate::docs_page::CHANGELOG_FEED_PATH;
use crate::script::Script;
use crate::{openapi, site};

/// Returns every document of direct mode once. `built` is the time of the build.
pub fn of_direct_mode(built: UnixMillis) -> Vec<Document> {
    let problems = codes::all()
        .map(|code| (format!("/problems/{}", code.as_str()), docs::problem_page(code, Host::Direct)));
    let scripts = Script::ALL.into_iter().map(|script| (script.path().to_owned(), docs::script(script)));
    let pages = docs::pages(Host::Direct).into_iter();
    let pages = pages.map(|(page, text)| (page.path().to_owned(), docs::serve(&text, SERVER)));
    let markdown = docs::markdown_pages(Host::Direct).into_iter();
    let markdown = markdown.map(|(page, text)| (page.markdown_path(), docs::respond_markdown(text)));
    let index = Response::public("application/json", docs::search_index(Host::Direct));
    let others = [
        ("/", docs::landing(Host::Direct, SERVER)),
        ("/openapi.json", openapi::response(&openapi::text(), SERVER)),
        ("/robots.txt", robots_txt()),
        ("/favicon.ico", site::favicon()),
        ("/assets/search.json", index),
        (CHANGELOG_FEED_PATH, docs::changelog_feed(Host::Direct, built)),
    ];
    let others = others.map(|(path, response)| (path.to_owned(), response));
    let all = others.into_iter().chain(pages).chain(markdown).chain(problems).chain(scripts);
    all.map(|(path, response)| Document::of(path, response)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs_page::DocsPage;

    #[test]
    fn document_is_what_would_be_rendered_for_the_server() {
        let server = "https://api.example.com";
        let documents = of_direct_mode(UnixMillis(0));
        let of =
            |path: &str| documents.iter().find(|document| document.path == path).unwrap().respond(server);
        for (path, rendered) in [
            ("/docs", docs::reference(DocsPage::Start, Host::Direct, server)),
            ("/openapi.json", openapi::response(&openapi::text(), server)),
            ("/problems/key-missing", docs::problem_page(codes::KEY_MISSING, Host::Direct)),
            ("/robots.txt", robots_txt()),
            ("/favicon.ico", site::favicon()),
        ] {
            let served = of(path);
            assert_eq!(served.body, rendered.body, "{path}");
            for (name, value) in &rendered.headers {
                assert_eq!(served.header(name), Some(&**value), "{path}");
            }
        }
    }
}
