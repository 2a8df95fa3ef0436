//! The Markdown of a guide as HTML.

use std::mem;

use biolink::codes;
use maud::html;
use pulldown_cmark::html::push_html;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use shared::method::Method;

use super::super::host::Host;
use super::super::layout::sample;
use super::super::reference::page_of;
use super::super::snippet::{Call, Snippet};
use super::{Source, tables};
use crate::docs_page::DocsPage;
use crate::endpoint::Endpoint;

/// Ends a line that only the edge shows.
const OF_EDGE: &str = "<!-- edge -->";
/// Begins a line that leads to the code of a sample in other languages, which the pages show themselves.
const OTHER_LANGUAGES: &str = "Also in [";

/// Returns the code of a sample: its name, and the text in each language after the shell's, in the order of
/// [`Language::ALL`](super::super::language::Language::ALL).
macro_rules! code {
    ($name:literal) => {
        (
            $name,
            [
                include_str!(concat!("../../../../docs/guides/code/", $name, ".mjs")),
                include_str!(concat!("../../../../docs/guides/code/", $name, ".py")),
                include_str!(concat!("../../../../docs/guides/code/", $name, ".rs")),
                include_str!(concat!("../../../../docs/guides/code/", $name, ".go")),
            ],
        )
    };
}

/// The code that is written for each language.
pub(super) const CODE: [(&str, [&str; 4]); 6] =
    [code!("hook"), code!("list"), code!("push"), code!("retry"), code!("stream"), code!("verify")];

/// Returns the HTML of a guide, without its first heading.
pub(super) fn html_of(text: &str, source: &Source<'_>) -> String {
    let is_shown = |line: &&str| {
        let is_of_edge = source.host == Host::Direct && line.ends_with(OF_EDGE);
        !is_of_edge && !line.starts_with(OTHER_LANGUAGES)
    };
    let text = text.lines().skip(1).filter(is_shown).collect::<Vec<_>>().join("\n");
    let mut renderer = Renderer { source, code: None, is_dropped: false, column: None };
    let events = Parser::new_ext(&text, Options::ENABLE_TABLES).filter_map(|event| renderer.take(event));
    let mut html = String::new();
    push_html(&mut html, events);
    html
}

struct Renderer<'r, 'a> {
    source: &'r Source<'a>,
    /// The first line and the text of the block of code that is open.
    code: Option<(String, String)>,
    /// Whether the link that is open leads nowhere here.
    is_dropped: bool,
    /// The column of the next cell, below a table's head.
    column: Option<usize>,
}

impl Renderer<'_, '_> {
    /// Returns what stands for an event on the page.
    fn take<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let info =
                    if let CodeBlockKind::Fenced(info) = kind { info.to_string() } else { String::new() };
                self.code = Some((info, String::new()));
                None
            }
            Event::Text(text) if let Some((_, code)) = &mut self.code => {
                code.push_str(&text);
                None
            }
            Event::End(TagEnd::CodeBlock) => {
                let (info, code) = self.code.take()?;
                Some(Event::Html(self.block(&info, code.trim_end()).into()))
            }
            Event::Code(code) => Some(self.inline_code(&code)),
            Event::Html(html) | Event::InlineHtml(html) if html.starts_with("<!--") => {
                let name = html.trim().strip_prefix("<!-- table: ")?.strip_suffix(" -->")?;
                tables::of(name, self.source).map(|table| Event::Html(table.into_string().into()))
            }
            Event::Start(Tag::Heading { id, classes, attrs, .. }) => {
                Some(Event::Start(Tag::Heading { level: HeadingLevel::H3, id, classes, attrs }))
            }
            Event::End(TagEnd::Heading(_)) => Some(Event::End(TagEnd::Heading(HeadingLevel::H3))),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let address = self.destination(&dest_url);
                self.is_dropped = address.is_none();
                let dest_url = address?.into();
                Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
            }
            Event::End(TagEnd::Link) if mem::take(&mut self.is_dropped) => None,
            other => Some(self.cell(other)),
        }
    }

    /// Returns an event of a table, whose first column names the row.
    fn cell<'e>(&mut self, event: Event<'e>) -> Event<'e> {
        match event {
            Event::Start(Tag::TableRow) => self.column = Some(0),
            Event::Start(Tag::TableCell) if self.column == Some(0) => {
                return Event::Html("<th scope=\"row\">".into());
            }
            Event::End(TagEnd::TableCell) if let Some(column) = self.column => {
                self.column = Some(column + 1);
                if column == 0 {
                    return Event::Html("</th>".into());
                }
            }
            Event::End(TagEnd::Table) => self.column = None,
            _ => {}
        }
        event
    }

    /// Returns a block of code. One that has a name after its language is the same in every language.
    fn block(&self, info: &str, text: &str) -> String {
        let name = info.split_once(' ').map(|(_, name)| name);
        let written = CODE.into_iter().find(|(code, _)| Some(*code) == name);
        let operation = self.source.operations.iter().find(|operation| Some(operation.id) == name);
        let block = match (written, operation) {
            (Some((_, [js, py, rs, go])), _) => Snippet::of([text, js, py, rs, go]).markup(),
            (None, Some(operation)) => Call::of(operation).snippet().markup(),
            (None, None) => sample(text),
        };
        block.into_string()
    }

    /// Returns code in a line, which leads to what it names: a problem, an operation, or a path of this host.
    fn inline_code<'e>(&self, code: &str) -> Event<'e> {
        let html = html! {
            @match self.address(code) {
                Some(address) => a href=(address) { code { (code) } },
                None => code { (code) },
            }
        };
        Event::InlineHtml(html.into_string().into())
    }

    fn address(&self, code: &str) -> Option<String> {
        if codes::parse(code).is_some() {
            return Some(format!("/problems/{code}"));
        }
        if let Some((method, path)) = code.split_once(' ') {
            let mut operations = self.source.operations.iter();
            let operation = operations.find(|one| one.method == method && one.path == path)?;
            return Some(format!("{}#{}", page_of(operation).path(), operation.id));
        }
        let is_read =
            |endpoint: Endpoint| endpoint.method() == Method::Get && endpoint.path() == code && code != "/";
        (!code.contains('{') && Endpoint::all().any(is_read)).then(|| code.to_owned())
    }

    /// Returns the address on the site; `None` for what only the repository has.
    fn destination(&self, address: &str) -> Option<String> {
        if address.starts_with("https://") {
            return Some(address.to_owned());
        }
        let page = DocsPage::parse(address.strip_suffix(".md")?)?;
        self.source.host.serves(page).then(|| page.path().to_owned())
    }
}
