//! Texts that are the same for every client, but for the server's address. They are rendered when the
//! worker is built and kept beside it as files, because the code that renders them is many times the
//! size of the code that serves them.

use std::borrow::Cow;

use biolink::codes;
use shared::{problem::Code, response::Response};

use crate::{
    console,
    docs::{self, Host},
    mcp,
    openapi::{self, SERVER},
    route::{DocsPage, Script},
};

/// A text that is rendered at build time.
///
/// ```
/// use portal::asset::Asset;
///
/// let file = Asset::OpenApi.render();
/// let response = Asset::OpenApi.respond(&file, "https://api.example.com");
/// assert!(response.body.contains("https://api.example.com/docs"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asset {
    /// `GET /`
    Landing,
    /// `GET /docs` and the pages below it
    Docs(DocsPage),
    /// `GET /problems/{code}`
    Problem(Code),
    /// `GET /status`, without the status
    StatusPage,
    /// `GET /llms.txt`
    LlmsTxt,
    /// `GET /.well-known/api-catalog`
    ApiCatalog,
    /// Tools of the Model Context Protocol.
    McpTools,
    /// The request to the API that each of those tools makes.
    McpRequests,
    /// `GET /console`
    Console,
    /// A script of a page.
    Script(Script),
    /// `GET /openapi.json`
    OpenApi,
    /// `GET /biolink/openapi.json`
    PagesOpenApi,
}

impl Asset {
    /// Returns every asset once.
    pub fn all() -> impl Iterator<Item = Self> {
        let problems = codes::all().map(Self::Problem);
        let scripts = Script::ALL.into_iter().map(Self::Script);
        let others = [
            Self::Landing,
            Self::StatusPage,
            Self::LlmsTxt,
            Self::ApiCatalog,
            Self::McpTools,
            Self::McpRequests,
            Self::Console,
            Self::OpenApi,
            Self::PagesOpenApi,
        ];
        let docs = DocsPage::ALL.map(Self::Docs);
        others.into_iter().chain(docs).chain(problems).chain(scripts)
    }

    /// Returns the path at which clients get it; `None` for what only the worker reads.
    #[must_use]
    pub fn path(self) -> Option<String> {
        let path = match self {
            Self::Landing => "/",
            Self::Docs(page) => page.path(),
            Self::Problem(code) => return Some(format!("/problems/{}", code.as_str())),
            Self::LlmsTxt => "/llms.txt",
            Self::ApiCatalog => "/.well-known/api-catalog",
            Self::Console => "/console",
            Self::Script(script) => script.path(),
            Self::OpenApi => "/openapi.json",
            Self::PagesOpenApi => "/biolink/openapi.json",
            Self::StatusPage | Self::McpTools | Self::McpRequests => return None,
        };
        Some(path.to_owned())
    }

    /// Returns the path of the file, relative to the folder of assets.
    #[must_use]
    pub fn file(self) -> Cow<'static, str> {
        match self {
            Self::Landing => "landing.html".into(),
            Self::Docs(page) => format!("{}.html", page.path().trim_start_matches('/')).into(),
            Self::Problem(code) => format!("problems/{}.html", code.as_str()).into(),
            Self::StatusPage => "status.html".into(),
            Self::LlmsTxt => "llms.txt".into(),
            Self::ApiCatalog => "api-catalog.json".into(),
            Self::McpTools => "mcp-tools.tsv".into(),
            Self::McpRequests => "mcp-requests.json".into(),
            Self::Console => "console.html".into(),
            Self::Script(script) => script.path().trim_start_matches('/').into(),
            Self::OpenApi => "openapi.json".into(),
            Self::PagesOpenApi => "biolink.json".into(),
        }
    }

    /// Returns the text of the file, with a placeholder for the server's address.
    #[must_use]
    pub fn render(self) -> String {
        let response = match self {
            Self::Landing => docs::landing(Host::Edge),
            Self::Docs(page) => docs::reference(page, Host::Edge, SERVER),
            Self::Problem(code) => docs::problem_page(code, Host::Edge),
            Self::StatusPage => return docs::status_template(),
            Self::LlmsTxt => return docs::llms_txt(SERVER),
            Self::ApiCatalog => return docs::api_catalog(SERVER),
            Self::McpTools => return mcp::tools(),
            Self::McpRequests => return mcp::requests(),
            Self::Console => console::page(),
            Self::Script(script) => docs::script(script),
            Self::OpenApi => openapi::response(&openapi::text(), SERVER),
            Self::PagesOpenApi => openapi::response(&openapi::biolink::text(), SERVER),
        };
        response.body
    }

    /// Returns the response with the text of the file. `server` is the server's address, such as
    /// `https://api.example.com`. It must have no character that HTML or JSON escapes.
    #[must_use]
    pub fn respond(self, file: &str, server: &str) -> Response {
        let text = file.replace(SERVER, server);
        match self {
            Self::Landing | Self::Docs(_) => {
                docs::respond(text).with_headers([("link", docs::SERVICE_LINKS)])
            }
            Self::Problem(_) | Self::StatusPage => docs::respond(text),
            Self::LlmsTxt => Response::public("text/plain; charset=utf-8", text),
            Self::ApiCatalog => {
                Response::public(docs::CATALOG_TYPE, text).with_headers([("link", docs::CATALOG_LINK)])
            }
            Self::Console => docs::respond(text).with_headers([("x-robots-tag", "noindex")]),
            Self::Script(_) => Response::public("text/javascript; charset=utf-8", text),
            Self::OpenApi | Self::PagesOpenApi | Self::McpTools | Self::McpRequests => {
                Response::public("application/json", text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const URL: &str = "https://api.example.com";

    fn linked(response: Response) -> Response {
        response.with_headers([("link", docs::SERVICE_LINKS)])
    }

    #[test]
    fn served_file_is_what_would_be_rendered_for_the_server() {
        let rendered = [
            (Asset::Landing, linked(docs::landing(Host::Edge))),
            (Asset::Docs(DocsPage::Pages), linked(docs::reference(DocsPage::Pages, Host::Edge, URL))),
            (Asset::Problem(codes::KEY_MISSING), docs::problem_page(codes::KEY_MISSING, Host::Edge)),
            (Asset::Console, console::page()),
            (Asset::Script(Script::Docs), docs::script(Script::Docs)),
            (Asset::OpenApi, openapi::response(&openapi::text(), URL)),
            (Asset::PagesOpenApi, openapi::response(&openapi::biolink::text(), URL)),
        ];
        for (asset, rendered) in rendered {
            let served = asset.respond(&asset.render(), URL);
            assert!(served.body == rendered.body && served.headers == rendered.headers, "{asset:?}");
        }
    }

    #[test]
    fn every_file_has_a_name_of_its_own() {
        let names: HashSet<_> = Asset::all().map(Asset::file).collect();
        assert_eq!(names.len(), Asset::all().count());
        assert!(names.iter().all(|name| !name.starts_with(['/', '.'])), "{names:?}");
    }
}
