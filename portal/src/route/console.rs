//! The addresses of the console: the files of its web app.
//!
//! Why: docs/decisions/portal.md, "The worker serves one document for all addresses of the app".

use shared::problem::{Problem, codes};

/// The beginnings of what is the API's.
const OF_API: [&str; 3] = ["session", "sessions", "preview"];
/// Folders with the app's files.
const OF_BUILD: [&str; 2] = ["assets", "licenses"];
/// The types of the app's files, by the end of the name.
const TYPES: [(&str, &str); 6] = [
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("woff2", "font/woff2"),
];

/// A file of the console's web app (`portal/web`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleFile<'a> {
    /// `GET /console`, and the address of each view below it: the app reads the address itself.
    Page,
    /// A script, a style, a font or a picture.
    Part {
        /// The name below the console, such as `assets/index-1a2b3c.js`.
        name: &'a str,
        /// The media type.
        media_type: &'static str,
    },
}

impl<'a> ConsoleFile<'a> {
    /// Parses a path below the console, such as `/pages`.
    ///
    /// # Errors
    /// Returns `route-unknown` for a path that no view and no file can have.
    pub(super) fn parse(below: &'a str) -> Result<Self, Problem> {
        let name = below.trim_start_matches('/');
        let first = name.split('/').next().unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b'.');
        // Two slashes or a dot at the beginning of a segment are in no address of the app.
        let is_known = name.bytes().all(is_plain) && !below.contains("//") && !below.contains("/.");
        if OF_API.contains(&first) || !is_known {
            return Err(unknown());
        }
        // An id in the address of a view may have a dot.
        if !OF_BUILD.contains(&first) {
            return Ok(Self::Page);
        }
        let end = name.rsplit_once('.').map(|(_, end)| end);
        let of_end = TYPES.into_iter().find(|(known, _)| end == Some(known));
        of_end.map(|(_, media_type)| Self::Part { name, media_type }).ok_or_else(unknown)
    }

    /// Returns true for the target of the console, of its files and of what it calls, which pages of the same origin alone may read.
    pub fn is_console(target: &str) -> bool {
        let path = target.split('?').next().unwrap_or_default();
        path == "/console" || below(path).is_some()
    }
}

/// Returns the part of a path below the console; `None` for another path.
pub(super) fn below(path: &str) -> Option<&str> {
    // `/consoles` is another path, and none of the console's.
    path.strip_prefix("/console").filter(|rest| rest.starts_with('/'))
}

fn unknown() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "the console has no view and no file of this path")
}
