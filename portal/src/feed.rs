//! Feeds in the Atom syndication format (RFC 4287).

use quick_xml::escape::escape;
use shared::time::UnixMillis;

use crate::NAME;

/// The media type.
pub const MEDIA_TYPE: &str = "application/atom+xml";

/// A feed of a page.
#[derive(Clone, Debug)]
pub struct Feed<'a> {
    /// The title.
    pub title: &'a str,
    /// The path of the feed.
    pub path: &'a str,
    /// The path of the page for people.
    pub page: &'a str,
    /// The time of the last change if no entry has a later one.
    pub updated: UnixMillis,
    /// The entries, the newest first.
    pub entries: Vec<Entry>,
}

/// An entry of a feed.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The place on the page, which names the entry for good.
    pub anchor: String,
    /// The title.
    pub title: String,
    /// The time of its first text.
    pub published: Option<UnixMillis>,
    /// The time of its last change.
    pub updated: UnixMillis,
    /// What it says, as HTML.
    pub html: String,
}

impl Feed<'_> {
    /// Returns the feed as XML. `server` is the server's address, such as `https://api.example.com`. Texts must have no
    /// character that XML forbids, such as U+0000.
    pub fn to_xml(&self, server: &str) -> String {
        let Self { title, path, page, .. } = self;
        let server = escape(server);
        // Readers compare this with what they have, so it moves only with an entry.
        let updated =
            self.entries.iter().map(|entry| entry.updated).max().unwrap_or(self.updated).to_rfc3339();
        let entries: String =
            self.entries.iter().map(|entry| entry.to_xml(&format!("{server}{page}"))).collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
             <feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">\n\
             <title>{title}</title>\n<id>{server}{path}</id>\n<updated>{updated}</updated>\n\
             <link rel=\"self\" type=\"{MEDIA_TYPE}\" href=\"{server}{path}\"/>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"{server}{page}\"/>\n\
             <author><name>{NAME}</name></author>\n{entries}</feed>\n",
            title = escape(*title)
        )
    }
}

impl Entry {
    fn to_xml(&self, page: &str) -> String {
        let published = self.published.map(|at| format!("<published>{}</published>\n", at.to_rfc3339()));
        let address = format!("{page}#{}", escape(&self.anchor));
        format!(
            "<entry>\n<title>{}</title>\n<id>{address}</id>\n<updated>{}</updated>\n{}\
             <link rel=\"alternate\" type=\"text/html\" href=\"{address}\"/>\n<content type=\"html\">{}</content>\n</entry>\n",
            escape(&self.title),
            self.updated.to_rfc3339(),
            published.unwrap_or_default(),
            escape(&self.html)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(anchor: &str, updated: u64) -> Entry {
        Entry {
            anchor: anchor.to_owned(),
            title: "A & <b>".to_owned(),
            published: Some(UnixMillis(updated - 1_000)),
            updated: UnixMillis(updated),
            html: "<p>\"a\" &amp; b</p>".to_owned(),
        }
    }

    /// Oracle: another implementation of RFC 4287.
    #[test]
    fn feed_is_what_a_reader_of_atom_reads() {
        let entries = vec![entry("two", 1_763_712_000_000), entry("one", 1_763_000_000_000)];
        let feed =
            Feed { title: "News & more", path: "/a.atom", page: "/a", updated: UnixMillis(0), entries };
        let read: atom_syndication::Feed = feed.to_xml("https://api.example.com").parse().unwrap();
        assert_eq!((read.title().as_str(), read.id()), ("News & more", "https://api.example.com/a.atom"));
        assert_eq!(read.updated().to_rfc3339(), "2025-11-21T08:00:00+00:00");
        assert_eq!(read.authors().len(), 1);
        let links: Vec<_> = read.links().iter().map(|link| (link.rel(), link.href())).collect();
        assert_eq!(
            links,
            [("self", "https://api.example.com/a.atom"), ("alternate", "https://api.example.com/a")]
        );
        let [first, second] = read.entries() else { panic!("{read:?}") };
        assert_eq!((first.title().as_str(), first.id()), ("A & <b>", "https://api.example.com/a#two"));
        assert_ne!(first.id(), second.id());
        assert_eq!(first.published().unwrap().to_rfc3339(), "2025-11-21T07:59:59+00:00");
        let content = first.content().unwrap();
        assert_eq!((content.content_type(), content.value()), (Some("html"), Some("<p>\"a\" &amp; b</p>")));
    }

    #[test]
    fn feed_without_an_entry_has_a_time() {
        let feed =
            Feed { title: "a", path: "/a.atom", page: "/a", updated: UnixMillis(1_000), entries: Vec::new() };
        let read: atom_syndication::Feed = feed.to_xml("").parse().unwrap();
        assert_eq!(read.updated().timestamp(), 1);
    }
}
