//! What a proxy in direct mode serves to people and programs: the reference of tools and keys, and the console.

use biolink::codes;
use biolink::page::robots_txt;
use shared::document::{Document, SERVER};
use shared::response::Response;
use shared::time::UnixMillis;

use crate::console;
use crate::docs::{self, Host};
use crate::docs_page::CHANGELOG_FEED_PATH;
use crate::route::{ConsoleFile, Route};
use crate::script::Script;
use crate::{openapi, site};

/// The path of the console's one page.
const CONSOLE_PATH: &str = "/console";

/// Returns every document of direct mode once but the console's. `built` is the time of the build.
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
    all.map(|(path, response)| Document::of(path, response.into_bytes())).collect()
}

/// Returns the document of a file of the built console, whose name is relative to its folder; `None` for one that the
/// console does not serve.
///
/// Why: docs/decisions/direct-mode.md, "The console is a document".
pub fn of_console(name: &str, bytes: Vec<u8>) -> Option<Document> {
    let path = format!("/console/{name}");
    match Route::parse("GET", &path).ok()? {
        Route::Console(ConsoleFile::Page) if path.strip_prefix('/') == Some(console::PAGE) => {
            let page = console::page(String::from_utf8(bytes).ok()?).into_bytes();
            Some(Document::of(CONSOLE_PATH, page))
        }
        Route::Console(ConsoleFile::Part { name, media_type }) => {
            let headers = console::part_headers(name, media_type);
            Some(Document::of(path.clone(), Response { status: 200, headers, body: bytes }))
        }
        _ => None,
    }
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
            assert_eq!(served.body, rendered.body.as_bytes(), "{path}");
            for (name, value) in &rendered.headers {
                assert_eq!(served.header(name), Some(&**value), "{path}");
            }
        }
    }

    #[test]
    fn file_of_the_console_has_the_bytes_and_headers_of_the_edge() {
        let font = vec![0, 159, 146, 150];
        let served = of_console("assets/geist-1a2b.woff2", font.clone()).unwrap();
        assert_eq!(served.path, "/console/assets/geist-1a2b.woff2");
        let kept: Document = serde_json::from_slice(&serde_json::to_vec(&served).unwrap()).unwrap();
        let response = kept.respond("https://api.example.com");
        assert_eq!((response.body.as_slice(), response.header("content-type")), (&*font, Some("font/woff2")));
        let caches = response.headers.iter().filter(|(name, _)| name == "cache-control");
        let caches: Vec<_> = caches.map(|(_, value)| &**value).collect();
        assert_eq!(caches, ["public, max-age=31536000, immutable"]);
        let page = of_console("index.html", b"<!doctype html>".to_vec()).unwrap();
        assert_eq!(page.path, "/console");
        let (page, edge) = (page.respond(""), console::page("<!doctype html>".to_owned()));
        for (name, value) in &edge.headers {
            assert_eq!(page.header(name), Some(&**value), "{name}");
        }
        for name in ["other.html", ".fingerprint", "assets/index.map", "assets/../index.html"] {
            assert_eq!(of_console(name, Vec::new()), None, "{name}");
        }
    }
}
