//! The changelog for who calls the API: a page and a feed, from CHANGELOG.md.

use std::mem;

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::html::push_html;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use shared::response::Response;
use shared::time::UnixMillis;

use super::host::Host;
use crate::NAME;
use crate::docs_page::{CHANGELOG_FEED_PATH, DocsPage};
use crate::feed::{Entry, Feed, MEDIA_TYPE};
use shared::document::SERVER;

const CHANGELOG: &str = include_str!("../../../CHANGELOG.md");
/// The line before the changes that readers of the reference see.
const AUDIENCE: &str = "**API clients**";

/// A version with its changes for who calls the API.
struct Version<'a> {
    name: &'a str,
    /// The day of the release; `None` for what is not released.
    released: Option<UnixMillis>,
    /// Headings, such as `Added`, and what is below each, as Markdown.
    changes: Vec<(&'a str, String)>,
}

/// Returns every version, the newest first.
pub(super) fn page(host: Host) -> Markup {
    html! {
        p { "Follow it as a " a href=(CHANGELOG_FEED_PATH) { "feed" } ". What operators must know is in the release's " code { "CHANGELOG.md" } "." }
        @for version in versions(CHANGELOG) {
            h3 id=(version.anchor()) { a href=(format!("#{}", version.anchor())) { (version.title()) } }
            (version.changes(host))
        }
    }
}

/// Returns the feed, which has an entry for each version. What is not released has the time at which this service was
/// built.
pub fn changelog_feed(host: Host, built: UnixMillis) -> Response {
    let entries = versions(CHANGELOG).into_iter().map(|version| Entry {
        anchor: version.anchor(),
        title: version.title(),
        published: version.released,
        // What is not released yet changes with each build.
        updated: version.released.unwrap_or(built),
        html: version.changes(host).into_string(),
    });
    let feed = Feed {
        title: &format!("{NAME}: changes"),
        path: CHANGELOG_FEED_PATH,
        page: DocsPage::Changelog.path(),
        updated: built,
        entries: entries.collect(),
    };
    Response::public(MEDIA_TYPE, feed.to_xml(SERVER))
}

impl Version<'_> {
    fn title(&self) -> String {
        match self.released {
            Some(day) => format!("{}, {}", self.name, day.to_rfc3339().chars().take(10).collect::<String>()),
            None => self.name.to_owned(),
        }
    }

    fn anchor(&self) -> String {
        format!("version-{}", self.name.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "-"))
    }

    fn changes(&self, host: Host) -> Markup {
        html! {
            @for (kind, markdown) in &self.changes {
                h4 { (kind) }
                (PreEscaped(rendered(markdown, host)))
            }
        }
    }
}

/// Reads a text in the format of Keep a Changelog, whose changes are grouped by audience below each heading. Versions
/// without a change for who calls the API are left out.
fn versions(changelog: &str) -> Vec<Version<'_>> {
    let mut versions: Vec<Version<'_>> = Vec::new();
    let (mut kind, mut is_read) = ("", false);
    for line in changelog.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            versions.push(version(title));
            is_read = false;
        } else if let Some(heading) = line.strip_prefix("### ") {
            (kind, is_read) = (heading, false);
        } else if line.starts_with("**") {
            is_read = line == AUDIENCE;
        } else if is_read && let Some(version) = versions.last_mut() {
            if version.changes.last().is_none_or(|(last, _)| *last != kind) {
                version.changes.push((kind, String::new()));
            }
            if let Some((_, text)) = version.changes.last_mut() {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    versions.retain(|version| !version.changes.is_empty());
    versions
}

/// Returns the version of a heading, such as `[1.0.0] - 2026-12-01`.
fn version(title: &str) -> Version<'_> {
    let (name, day) = title.split_once(" - ").unwrap_or((title, ""));
    let released = UnixMillis::from_rfc3339(&format!("{}T00:00:00Z", day.trim()));
    Version { name: name.trim_matches(['[', ']']), released, changes: Vec::new() }
}

/// Returns Markdown as HTML. A link to a file of the repository leads to the page of the same name, or nowhere.
fn rendered(markdown: &str, host: Host) -> String {
    let mut is_dropped = false;
    let events = Parser::new(markdown).filter_map(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let address = destination(&dest_url, host);
            is_dropped = address.is_none();
            let dest_url = address?.into();
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        Event::End(TagEnd::Link) if mem::take(&mut is_dropped) => None,
        other => Some(other),
    });
    let mut html = String::new();
    push_html(&mut html, events);
    html
}

fn destination(address: &str, host: Host) -> Option<String> {
    if address.starts_with("https://") {
        return Some(address.to_owned());
    }
    let file = address.split('#').next().unwrap_or_default();
    let page = DocsPage::parse(file.strip_prefix("docs/")?.strip_suffix(".md")?)?;
    host.serves(page).then(|| page.path().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "# Changelog\n\n## Unreleased\n\n### Added\n\n**API clients**\n\n- One `a`\n  more ([pages.md](docs/pages.md#x)).\n\n**Operators**\n\n- Two\n\n## [1.1.0] - 2027-01-01\n\n## [1.0.0] - 2026-12-01\n\n### Fixed\n\n**API clients**\n\n- Three ([edge](docs/edge.md)).\n";

    #[test]
    fn version_has_what_callers_of_the_api_see() {
        let [unreleased, first] = <[Version<'_>; 2]>::try_from(versions(SAMPLE)).ok().unwrap();
        assert_eq!((unreleased.title(), unreleased.released), ("Unreleased".to_owned(), None));
        let html = unreleased.changes(Host::Edge).into_string();
        assert!(html.contains("<h4>Added</h4><ul>\n<li>One <code>a</code>\nmore (<a href=\"/docs/pages\">pages.md</a>).</li>"), "{html}");
        assert!(!html.contains("Two"), "{html}");
        assert!(unreleased.changes(Host::Direct).into_string().contains("more (pages.md)."));
        assert_eq!(
            (first.title(), first.anchor()),
            ("1.0.0, 2026-12-01".to_owned(), "version-1-0-0".to_owned())
        );
        assert!(first.changes(Host::Edge).into_string().contains("<li>Three (edge).</li>"));
    }

    #[test]
    fn feed_has_every_version_with_a_time() {
        let built = UnixMillis(1_763_712_000_000);
        let feed: atom_syndication::Feed = changelog_feed(Host::Edge, built).body.parse().unwrap();
        assert_eq!(feed.entries().len(), versions(CHANGELOG).len());
        for (entry, version) in feed.entries().iter().zip(versions(CHANGELOG)) {
            assert_eq!(entry.id(), format!("{SERVER}/docs/changelog#{}", version.anchor()));
            let at = u64::try_from(entry.updated().timestamp_millis()).unwrap();
            assert_eq!(at, version.released.unwrap_or(built).0);
            assert!(entry.content().unwrap().value().unwrap().contains("<h4>"), "{}", version.name);
        }
    }
}
