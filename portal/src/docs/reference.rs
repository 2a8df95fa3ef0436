//! The pages of the reference, from the model.

mod contents;
mod object;
mod operation;

use std::collections::BTreeSet;
use std::iter;

use maud::{Markup, html};
use shared::problem::Code;
use shared::response::Response;
use shared::tool::Tool;

use super::guides::{Guide, Source};
use super::host::Host;
use super::layout::{self, Page, Section};
use super::markdown::of_html;
use super::model::{Description, Object, Operation};
use super::search::Entry;
use super::snippet::language_choice;
use super::text::inline;
use crate::docs_page::{CHANGELOG_FEED_PATH, DocsPage, MARKDOWN};
use crate::feed::MEDIA_TYPE;
use crate::openapi::SERVER;
use crate::script::Script;

const STYLE: &str = include_str!("reference.css");

/// The whole reference of a host.
struct Reference<'a> {
    host: Host,
    gateway: &'a Description,
    chapters: Vec<Chapter<'a>>,
    /// The problems that every operation can have.
    anywhere: Vec<Code>,
}

/// A page of the reference with what it describes.
struct Chapter<'a> {
    page: DocsPage,
    description: &'a Description,
    operations: Vec<Operation<'a>>,
    objects: Vec<Object<'a>>,
}

impl<'a> Chapter<'a> {
    /// Returns the operations that have a section: those of qr stand for all tools.
    fn shown(&self) -> impl Iterator<Item = &Operation<'a>> {
        let is_listed =
            |operation: &&Operation<'_>| operation.tag.parse::<Tool>().is_ok_and(|tool| tool != Tool::Qr);
        self.operations.iter().filter(move |operation| !is_listed(operation))
    }
}

/// Returns a page of the reference, which the host must serve. `server` is the address that the examples call, such as
/// `https://api.example.com`.
pub fn reference(page: DocsPage, host: Host, server: &str) -> Response {
    serve(&text(page, host), server)
}

/// Returns the HTML of a page, which [`serve`] completes.
pub fn text(page: DocsPage, host: Host) -> String {
    let (gateway, biolink) = (Description::gateway(), Description::biolink());
    let reference = Reference::new(&gateway, &biolink, host);
    let chapter = reference.chapters.iter().find(|chapter| chapter.page == page);
    chapter.map(|chapter| reference.html(chapter)).unwrap_or_default()
}

/// Returns the HTML of every page that the host serves, as [`text`] does.
pub fn pages(host: Host) -> Vec<(DocsPage, String)> {
    let (gateway, biolink) = (Description::gateway(), Description::biolink());
    let reference = Reference::new(&gateway, &biolink, host);
    reference.chapters.iter().map(|chapter| (chapter.page, reference.html(chapter))).collect()
}

/// Returns every page that the host serves as Markdown, with a placeholder for the server's address.
pub fn markdown_pages(host: Host) -> Vec<(DocsPage, String)> {
    bodies(host).into_iter().map(|(page, html)| (page, of_html(&html))).collect()
}

/// Returns a page as [`markdown_pages`] does.
pub fn markdown(page: DocsPage, host: Host) -> String {
    let found = markdown_pages(host).into_iter().find(|(other, _)| *other == page);
    found.map(|(_, text)| text).unwrap_or_default()
}

/// Returns the content of every page that the host serves, without what leads through it.
pub(super) fn bodies(host: Host) -> Vec<(DocsPage, String)> {
    let (gateway, biolink) = (Description::gateway(), Description::biolink());
    let reference = Reference::new(&gateway, &biolink, host);
    let body =
        |chapter: &Chapter<'_>| html! { (heading(chapter.page)) (reference.body(chapter)) }.into_string();
    reference.chapters.iter().map(|chapter| (chapter.page, body(chapter))).collect()
}

/// Returns the index of the search, which the pages' script reads.
pub fn search_index(host: Host) -> String {
    let (gateway, biolink) = (Description::gateway(), Description::biolink());
    let reference = Reference::new(&gateway, &biolink, host);
    let entries: Vec<_> = reference.chapters.iter().flat_map(|chapter| reference.entries(chapter)).collect();
    // Texts always serialize.
    serde_json::to_string(&entries).unwrap_or_default()
}

/// Returns the HTML of a page as a response, with the address of the server.
pub fn serve(text: &str, server: &str) -> Response {
    // The address may come from the request.
    let server = html! { (server) }.into_string();
    layout::respond(text.replace(SERVER, &server))
}

impl<'a> Reference<'a> {
    fn new(gateway: &'a Description, biolink: &'a Description, host: Host) -> Self {
        let mut operations: Vec<_> = gateway.operations().into_iter().chain(biolink.operations()).collect();
        let anywhere = common(&operations);
        let mut chapters = Vec::new();
        for page in DocsPage::ALL.into_iter().filter(|page| host.serves(*page)) {
            let description = if page.is_of_edge() { biolink } else { gateway };
            let (here, elsewhere) = operations.into_iter().partition(|operation| page_of(operation) == page);
            chapters.push(Chapter { page, description, operations: here, objects: Vec::new() });
            operations = elsewhere;
        }
        let mut reference = Self { host, gateway, chapters, anywhere };
        reference.place_objects();
        reference
    }

    /// Gives each object to the page that uses it first. There are enough of those of pages for a separate one.
    fn place_objects(&mut self) {
        let mut placed = BTreeSet::new();
        let mut places = Vec::new();
        for chapter in &self.chapters {
            let page = if chapter.page == DocsPage::Pages { DocsPage::Objects } else { chapter.page };
            let used = object::used(chapter.description, &chapter.operations);
            let first =
                used.into_iter().filter(|object| placed.insert((chapter.description.path, object.name)));
            places.extend(first.map(|object| (page, object)));
        }
        for (page, object) in places {
            if let Some(chapter) = self.chapters.iter_mut().find(|chapter| chapter.page == page) {
                chapter.objects.push(object);
            }
        }
    }

    fn html(&self, chapter: &Chapter<'a>) -> String {
        let content = html! {
            div.layout {
                (contents::contents(chapter.page, &self.chapters))
                div data-description=(chapter.description.path) { (self.content(chapter)) }
            }
        };
        let page = Page {
            host: self.host,
            section: Some(Section::Docs),
            style: STYLE,
            script: Some(Script::Docs),
            wide: true,
            // The largest of the others have no room for it.
            card: chapter.page == DocsPage::Start,
            alternates: &alternates(chapter.page),
            ..Page::new(chapter.page.title(), chapter.page.about(), &content)
        };
        page.html()
    }

    fn content(&self, chapter: &Chapter<'a>) -> Markup {
        html! {
            (heading(chapter.page))
            @if chapter.page != DocsPage::Changelog {
                p.soft { "Keys and ids in examples are made up. A form that has your key takes an id of your account." }
                (language_choice())
            }
            (self.body(chapter))
            (self.neighbors(chapter.page))
        }
    }

    fn body(&self, chapter: &Chapter<'a>) -> Markup {
        let place = Place { reference: self, chapter };
        html! {
            @for guide in Guide::on(chapter.page) { (self.guide(&guide)) }
            (place.operations())
            (place.objects())
        }
    }

    fn guide(&self, guide: &Guide) -> Markup {
        let operations: Vec<_> = self.chapters.iter().flat_map(|chapter| &chapter.operations).collect();
        guide.section(&Source {
            gateway: self.gateway,
            operations: &operations,
            host: self.host,
            anywhere: &self.anywhere,
        })
    }

    /// Returns what the search finds on a page.
    fn entries(&self, chapter: &Chapter<'a>) -> Vec<Entry> {
        let place = Place { reference: self, chapter };
        let address = |id: &str| format!("{}#{id}", chapter.page.path());
        let page = chapter.page.title();
        let guides = Guide::on(chapter.page)
            .map(|guide| Entry::new(guide.title(), page, address(guide.id), &self.guide(&guide)));
        let operations = chapter.shown().map(|operation| {
            let route = format!("{} {}", operation.method, operation.path);
            Entry::new(
                title(operation),
                &route,
                address(operation.id),
                &operation::operation(operation, &place),
            )
        });
        let objects = chapter.objects.iter();
        let objects = objects.map(|object| {
            Entry::new(object.name, page, address(object.name), &object::describe(object, &place))
        });
        guides.chain(operations).chain(objects).collect()
    }

    /// Returns the links to the page before and the one after.
    fn neighbors(&self, page: DocsPage) -> Markup {
        let pages = || self.chapters.iter().map(|chapter| chapter.page);
        html! {
            nav.neighbors aria-label="Neighboring pages" {
                @if let Some(before) = pages().rev().find(|other| *other < page) {
                    a rel="prev" href=(before.path()) { small { "Previous" } (before.title()) }
                }
                @if let Some(after) = pages().find(|other| *other > page) {
                    a rel="next" href=(after.path()) { small { "Next" } (after.title()) }
                }
            }
        }
    }
}

fn heading(page: DocsPage) -> Markup {
    html! {
        h1 { (page.title()) }
        p.lead { (page.about()) }
    }
}

/// Returns the other forms of a page: media types and paths.
fn alternates(page: DocsPage) -> Vec<(&'static str, String)> {
    let feed = (page == DocsPage::Changelog).then(|| (MEDIA_TYPE, CHANGELOG_FEED_PATH.to_owned()));
    iter::once((MARKDOWN, page.markdown_path())).chain(feed).collect()
}

/// A page of the reference, and the others that it leads to.
#[derive(Clone, Copy)]
struct Place<'r, 'a> {
    reference: &'r Reference<'a>,
    chapter: &'r Chapter<'a>,
}

impl<'r, 'a> Place<'r, 'a> {
    fn operations(&self) -> Markup {
        let shown: Vec<_> = self.chapter.shown().collect();
        html! {
            @if !shown.is_empty() {
                h2 id="operations" { a href="#operations" { "Operations" } }
                @for tag in tags(&shown) {
                    p { @match tag.parse::<Tool>().ok() {
                        Some(tool) => { "The same for every tool. The examples call " (tool) "." },
                        None => (inline(self.chapter.description.about_tag(tag))),
                    } }
                }
                @for operation in &shown { (operation::operation(operation, self)) }
            }
        }
    }

    fn objects(&self) -> Markup {
        html! {
            @if !self.chapter.objects.is_empty() {
                div.objects {
                    h2 id="objects" { a href="#objects" { "Objects" } }
                    @for object in &self.chapter.objects { (object::describe(object, self)) }
                }
            }
        }
    }

    /// Returns the name of an object with a link to what describes it.
    fn object(&self, name: &str) -> Markup {
        let description = self.chapter.description.path;
        let found = self.reference.chapters.iter().find(|chapter| {
            chapter.description.path == description
                && chapter.objects.iter().any(|object| object.name == name)
        });
        let path = |page: DocsPage| if page == self.chapter.page { "" } else { page.path() };
        html! {
            @match found {
                Some(chapter) => a href=(format!("{}#{name}", path(chapter.page))) { (name) },
                None => (name),
            }
        }
    }
}

/// The paths of the gateway's own description.
const GATEWAY_DESCRIPTION: [&str; 3] = ["/openapi.json", "/docs", "/problems/{code}"];

/// Returns the page that describes an operation.
pub(super) fn page_of(operation: &Operation<'_>) -> DocsPage {
    match operation.tag {
        "keys" => DocsPage::Keys,
        "administration" if operation.path.starts_with("/v1/keys") => DocsPage::ManageKeys,
        "administration" if operation.path.starts_with("/v1/status") => DocsPage::Service,
        "description" if GATEWAY_DESCRIPTION.contains(&&*operation.path) => DocsPage::Service,
        "usage" | "status" => DocsPage::Service,
        "links" => DocsPage::Links,
        "revisions" => DocsPage::Revisions,
        "images" => DocsPage::Images,
        "domains" => DocsPage::Domains,
        "account" | "description" => DocsPage::Account,
        "products" => DocsPage::Products,
        "analytics" => DocsPage::Analytics,
        "webhooks" => DocsPage::Webhooks,
        "events" => DocsPage::Events,
        "administration" => DocsPage::Administration,
        tag if tag.parse::<Tool>().is_ok() => DocsPage::Calls,
        _ => DocsPage::Pages,
    }
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
fn common(operations: &[Operation<'_>]) -> Vec<Code> {
    let mut codes = operations.first().map(|operation| operation.codes.clone()).unwrap_or_default();
    codes.retain(|code| operations.iter().all(|operation| operation.codes.contains(code)));
    codes
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
