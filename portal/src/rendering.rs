//! The text of each asset, rendered when the worker is built, and the response with it.

use shared::document::SERVER;
use shared::response::Response;
#[cfg(feature = "biolink")]
use shared::time::UnixMillis;

use crate::asset::Asset;
use crate::docs;
#[cfg(feature = "biolink")]
use crate::docs::Host;
use crate::feed::MEDIA_TYPE;
#[cfg(feature = "biolink")]
use crate::{mcp, openapi};

/// `Vary` of a page that is served as HTML or Markdown.
const VARY: &str = "accept-encoding, accept";

/// Returns every asset with the text of its file, as [`render`] does.
#[cfg(feature = "biolink")]
pub fn render_all(built: UnixMillis) -> Vec<(Asset, String)> {
    let pages = docs::pages(Host::Edge).into_iter().map(|(page, text)| (Asset::Docs(page), text));
    let markdown = docs::markdown_pages(Host::Edge).into_iter();
    let markdown = markdown.map(|(page, text)| (Asset::DocsMarkdown(page), text));
    let others = Asset::all().filter(|asset| !matches!(asset, Asset::Docs(_) | Asset::DocsMarkdown(_)));
    pages.chain(markdown).chain(others.map(|asset| (asset, render(asset, built)))).collect()
}

/// Returns the text of the file of an asset, with a placeholder for the server's address. `built` is the time of the
/// build.
#[cfg(feature = "biolink")]
pub fn render(asset: Asset, built: UnixMillis) -> String {
    let response = match asset {
        Asset::Landing => docs::landing(Host::Edge, SERVER),
        Asset::Docs(page) => docs::reference(page, Host::Edge, SERVER),
        Asset::DocsMarkdown(page) => return docs::markdown(page, Host::Edge),
        Asset::ChangelogFeed => docs::changelog_feed(Host::Edge, built),
        Asset::Problem(code) => docs::problem_page(code, Host::Edge),
        Asset::StatusPage => return docs::status_template(),
        Asset::ToolsPage => return docs::tools_template(),
        Asset::LlmsTxt => return docs::llms_txt(SERVER),
        Asset::ApiCatalog => return docs::api_catalog(SERVER),
        Asset::SearchIndex => return docs::search_index(Host::Edge),
        Asset::McpTools => return mcp::tools(),
        Asset::McpRequests => return mcp::requests(),
        Asset::Script(script) => docs::script(script),
        Asset::OpenApi => openapi::response(&openapi::text(), SERVER),
        Asset::PagesOpenApi => openapi::response(&openapi::biolink::text(), SERVER),
    };
    response.body
}

/// Returns the response with the text of the file. `server` is the server's address, such as
/// `https://api.example.com`. It must have no character that HTML or JSON escapes.
pub fn respond(asset: Asset, file: &str, server: &str) -> Response {
    // The files are rendered once for all hosts, with a name that no host can have.
    let text = file.replace(SERVER, server);
    match asset {
        Asset::Landing => docs::respond(text).with_headers([("link", docs::SERVICE_LINKS)]),
        // One address has two forms, so that a cache must ask for `accept` too.
        Asset::Docs(_) => docs::respond(text).with_headers([("link", docs::SERVICE_LINKS), ("vary", VARY)]),
        Asset::DocsMarkdown(_) => docs::respond_markdown(text).with_headers([("vary", VARY)]),
        Asset::ChangelogFeed => Response::public(MEDIA_TYPE, text),
        Asset::Problem(_) | Asset::StatusPage | Asset::ToolsPage => docs::respond(text),
        Asset::LlmsTxt => Response::public("text/plain; charset=utf-8", text),
        Asset::ApiCatalog => {
            Response::public(docs::CATALOG_TYPE, text).with_headers([("link", docs::CATALOG_LINK)])
        }
        Asset::Script(_) => Response::public("text/javascript; charset=utf-8", text),
        Asset::SearchIndex | Asset::OpenApi | Asset::PagesOpenApi | Asset::McpTools | Asset::McpRequests => {
            Response::public("application/json", text)
        }
    }
}

#[cfg(test)]
mod tests {
    use biolink::codes;

    use super::*;
    use crate::docs_page::DocsPage;
    use crate::script::Script;

    const URL: &str = "https://api.example.com";

    fn linked(response: Response) -> Response {
        response.with_headers([("link", docs::SERVICE_LINKS)])
    }

    #[test]
    fn served_file_is_what_would_be_rendered_for_the_server() {
        let rendered = [
            (Asset::Landing, linked(docs::landing(Host::Edge, URL))),
            (
                Asset::Docs(DocsPage::Pages),
                linked(docs::reference(DocsPage::Pages, Host::Edge, URL)).with_headers([("vary", VARY)]),
            ),
            (Asset::Problem(codes::KEY_MISSING), docs::problem_page(codes::KEY_MISSING, Host::Edge)),
            (Asset::Script(Script::Docs), docs::script(Script::Docs)),
            (Asset::OpenApi, openapi::response(&openapi::text(), URL)),
            (Asset::PagesOpenApi, openapi::response(&openapi::biolink::text(), URL)),
        ];
        for (asset, rendered) in rendered {
            let served = respond(asset, &render(asset, UnixMillis(0)), URL);
            assert!(served.body == rendered.body && served.headers == rendered.headers, "{asset:?}");
        }
    }
}
