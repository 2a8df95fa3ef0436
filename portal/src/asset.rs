//! Texts that are the same for every client, but for the server's address. They are rendered when the
//! worker is built and kept beside it as files, because the code that renders them is many times the
//! size of the code that serves them.

use std::borrow::Cow;

#[cfg(feature = "biolink")]
use biolink::codes;
use shared::problem::Code;

use crate::docs_page::{CHANGELOG_FEED_PATH, DocsPage, MARKDOWN};
use crate::script::Script;

/// A text that is rendered at build time ([`rendering`](crate::rendering)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asset {
    /// `GET /`
    Landing,
    /// `GET /docs` and the pages below it
    Docs(DocsPage),
    /// The same page as Markdown: its path with `.md`
    DocsMarkdown(DocsPage),
    /// `GET /docs/changelog.atom`
    ChangelogFeed,
    /// `GET /problems/{code}`
    Problem(Code),
    /// `GET /status`, without the status
    StatusPage,
    /// `GET /docs/tools`, without the tools
    ToolsPage,
    /// `GET /llms.txt`
    LlmsTxt,
    /// `GET /.well-known/api-catalog`
    ApiCatalog,
    /// Tools of the Model Context Protocol.
    McpTools,
    /// The request to the API that each of those tools makes.
    McpRequests,
    /// A script of a page.
    Script(Script),
    /// `GET /assets/search.json`: the index of the reference's search.
    SearchIndex,
    /// `GET /openapi.json`
    OpenApi,
    /// `GET /biolink/openapi.json`
    PagesOpenApi,
}

impl Asset {
    /// Returns every asset once.
    #[cfg(feature = "biolink")]
    pub fn all() -> impl Iterator<Item = Self> {
        let problems = codes::all().map(Self::Problem);
        let scripts = Script::ALL.into_iter().map(Self::Script);
        let others = [
            Self::Landing,
            Self::StatusPage,
            Self::ToolsPage,
            Self::LlmsTxt,
            Self::ApiCatalog,
            Self::McpTools,
            Self::McpRequests,
            Self::SearchIndex,
            Self::ChangelogFeed,
            Self::OpenApi,
            Self::PagesOpenApi,
        ];
        let docs = DocsPage::ALL.into_iter().flat_map(|page| [Self::Docs(page), Self::DocsMarkdown(page)]);
        others.into_iter().chain(docs).chain(problems).chain(scripts)
    }

    /// Returns the path at which clients get it; `None` for what only the worker reads.
    pub fn path(self) -> Option<String> {
        let path = match self {
            Self::Landing => "/",
            Self::Docs(page) => page.path(),
            Self::DocsMarkdown(page) => return Some(page.markdown_path()),
            Self::ChangelogFeed => CHANGELOG_FEED_PATH,
            Self::Problem(code) => return Some(format!("/problems/{}", code.as_str())),
            Self::LlmsTxt => "/llms.txt",
            Self::ApiCatalog => "/.well-known/api-catalog",
            Self::SearchIndex => "/assets/search.json",
            Self::Script(script) => script.path(),
            Self::OpenApi => "/openapi.json",
            Self::PagesOpenApi => "/biolink/openapi.json",
            Self::StatusPage | Self::ToolsPage | Self::McpTools | Self::McpRequests => return None,
        };
        Some(path.to_owned())
    }

    /// Returns what a client gets that accepts these media types: the reference is HTML unless `text/markdown` is named.
    #[must_use]
    pub fn accepted(self, accept: Option<&str>) -> Self {
        match self {
            // By name only: browsers send `*/*`, which takes Markdown too.
            Self::Docs(page) if accept.is_some_and(|accept| accept.contains(MARKDOWN)) => {
                Self::DocsMarkdown(page)
            }
            other => other,
        }
    }

    /// Returns the path of the file, relative to the folder of assets.
    pub fn file(self) -> Cow<'static, str> {
        match self {
            Self::Landing => "landing.html".into(),
            Self::Docs(page) => format!("{}.html", page.path().trim_start_matches('/')).into(),
            Self::DocsMarkdown(page) => page.markdown_path().trim_start_matches('/').to_owned().into(),
            Self::ChangelogFeed => CHANGELOG_FEED_PATH.trim_start_matches('/').into(),
            Self::Problem(code) => format!("problems/{}.html", code.as_str()).into(),
            Self::StatusPage => "status.html".into(),
            Self::ToolsPage => "tools.html".into(),
            Self::LlmsTxt => "llms.txt".into(),
            Self::ApiCatalog => "api-catalog.json".into(),
            Self::McpTools => "mcp-tools.tsv".into(),
            Self::McpRequests => "mcp-requests.json".into(),
            Self::SearchIndex => "assets/search.json".into(),
            Self::Script(script) => script.path().trim_start_matches('/').into(),
            Self::OpenApi => "openapi.json".into(),
            Self::PagesOpenApi => "biolink.json".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn reference_is_markdown_for_who_names_it() {
        let page = Asset::Docs(DocsPage::Limits);
        for accept in [None, Some("text/html,application/xhtml+xml,*/*;q=0.8"), Some("*/*")] {
            assert_eq!(page.accepted(accept), page, "{accept:?}");
        }
        let named = Some("text/markdown, text/html;q=0.8");
        assert_eq!(page.accepted(named), Asset::DocsMarkdown(DocsPage::Limits));
        assert_eq!(Asset::Landing.accepted(named), Asset::Landing);
    }

    #[test]
    fn every_file_has_a_name_of_its_own() {
        let names: HashSet<_> = Asset::all().map(Asset::file).collect();
        assert_eq!(names.len(), Asset::all().count());
        assert!(names.iter().all(|name| !name.starts_with(['/', '.'])), "{names:?}");
    }
}
