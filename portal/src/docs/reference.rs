//! The pages of the reference, from the model.

mod contents;
mod object;
mod operation;

use maud::{Markup, PreEscaped, html};
use shared::problem::Code;
use shared::response::Response;
use shared::tool::Tool;

use super::guides::{Guide, Source};
use super::host::Host;
use super::layout::{self, Page, Section};
use super::model::{Description, Operation};
use super::snippet::language_choice;
use super::text::inline;
use crate::docs_page::DocsPage;
use crate::openapi::SERVER;
use crate::script::Script;

const STYLE: &str = include_str!("reference.css");

/// A page of the reference with the operations that it describes.
struct ReferencePart<'a> {
    page: DocsPage,
    operations: Vec<Operation<'a>>,
}

/// Returns a page of the reference, which the host must serve. `server` is the address that the examples call, such as
/// `https://api.example.com`.
pub fn reference(page: DocsPage, host: Host, server: &str) -> Response {
    serve(&text(page, host), server)
}

/// Returns the HTML of a page, which [`serve`] completes.
pub fn text(page: DocsPage, host: Host) -> String {
    let (gateway, biolink) = (Description::gateway(), Description::biolink());
    let parts = parts(&gateway, &biolink, host);
    let anywhere = common(parts.iter().flat_map(|part| &part.operations));
    let description = if page == DocsPage::Gateway { &gateway } else { &biolink };
    let content = html! {
        div.layout {
            (contents::contents(page, &parts))
            div data-description=(description.path) {
                h1 { (page.title()) }
                p.lead { (page.about()) }
                p.soft { "Keys and ids in examples are made up. A form that has your key takes an id of your account." }
                (language_choice())
                @for part in parts.iter().filter(|part| part.page == page) { (describe(description, part, host, &anywhere)) }
            }
        }
    };
    let page = Page {
        host,
        section: Some(Section::Docs),
        style: STYLE,
        script: Some(Script::Docs),
        wide: true,
        ..Page::new(page.title(), page.about(), &content)
    };
    page.html()
}

/// Returns the HTML of a page as a response, with the address of the server.
pub fn serve(text: &str, server: &str) -> Response {
    // The address may come from the request.
    let server = html! { (server) }.into_string();
    layout::respond(text.replace(SERVER, &server))
}

fn parts<'a>(gateway: &'a Description, biolink: &'a Description, host: Host) -> Vec<ReferencePart<'a>> {
    let (gateway, mut biolink) = (gateway.operations(), biolink.operations());
    // Readers look for the API before its description.
    biolink.sort_by_key(|operation| operation.tag == "description");
    let mut parts = vec![ReferencePart { page: DocsPage::Gateway, operations: gateway }];
    for page in DocsPage::ALL.into_iter().filter(|page| *page != DocsPage::Gateway) {
        let (here, elsewhere) = biolink.into_iter().partition(|operation| page_of(operation.tag) == page);
        parts.push(ReferencePart { page, operations: here });
        biolink = elsewhere;
    }
    parts.retain(|part| host.serves(part.page));
    parts
}

fn page_of(tag: &str) -> DocsPage {
    match tag {
        "products" => DocsPage::Products,
        "analytics" => DocsPage::Analytics,
        "webhooks" | "events" => DocsPage::Webhooks,
        "administration" => DocsPage::Administration,
        _ => DocsPage::Pages,
    }
}

/// Returns true for a tool's operation that has no section: those of qr stand for all tools.
fn is_listed_by_tool(operation: &Operation<'_>) -> bool {
    operation.tag.parse::<Tool>().is_ok_and(|tool| tool != Tool::Qr)
}

/// Returns the heading of an operation. That of a tool stands for all tools.
fn title<'a>(operation: &Operation<'a>) -> &'a str {
    match (operation.tag.parse::<Tool>().ok(), operation.body.is_some()) {
        (Some(_), false) => "Call a tool without a body",
        (Some(_), true) => "Call a tool with a JSON body",
        (None, _) => operation.summary,
    }
}

/// Returns the problems that every operation can have.
fn common<'a>(mut operations: impl Iterator<Item = &'a Operation<'a>>) -> Vec<Code> {
    let first = operations.next().map(|operation| operation.codes.clone()).unwrap_or_default();
    operations.fold(first, |codes, operation| {
        codes.into_iter().filter(|code| operation.codes.contains(code)).collect()
    })
}

fn describe(description: &Description, part: &ReferencePart<'_>, host: Host, anywhere: &[Code]) -> Markup {
    let source = Source { description, operations: &part.operations, host, anywhere };
    let shown: Vec<_> = part.operations.iter().filter(|operation| !is_listed_by_tool(operation)).collect();
    html! {
        @for guide in Guide::on(part.page) { (guide.section(&source)) }
        @for tag in tags(&shown) {
            h2 id=(format!("group-{}", if tag.is_empty() { "gateway" } else { tag })) { (heading(tag)) }
            @match tag.parse::<Tool>().ok() {
                Some(tool) => p { "The same for every tool. The examples call " (tool) "." },
                None => @if !tag.is_empty() { p { (inline(description.about_tag(tag))) } },
            }
            @for operation in shown.iter().filter(|operation| operation.tag == tag) {
                (operation::operation(operation, anywhere))
            }
        }
        div.objects { (object::objects(description, &shown)) }
    }
}

/// Returns the tags of operations in their order, each once.
fn tags<'a>(operations: &[&Operation<'a>]) -> Vec<&'a str> {
    let mut tags = Vec::new();
    for operation in operations {
        if !tags.contains(&operation.tag) {
            tags.push(operation.tag);
        }
    }
    tags
}

fn heading(tag: &str) -> Markup {
    let mut letters = tag.chars();
    match (tag.parse::<Tool>().ok(), letters.next()) {
        (Some(_), _) => html! { "Tool calls" },
        (None, None) => html! { "Keys and status" },
        (None, Some(first)) => html! { (first.to_uppercase().to_string()) (PreEscaped(letters.as_str())) },
    }
}
