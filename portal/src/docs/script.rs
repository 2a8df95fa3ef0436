//! The scripts of the pages.

use shared::response::Response;

use crate::script::Script;

const DOCS: &str = include_str!("../../assets/docs.js");

/// Returns a script as a response.
pub fn script(script: Script) -> Response {
    let text = match script {
        Script::Docs => DOCS,
    };
    Response::public("text/javascript; charset=utf-8", compact(text))
}

/// Returns a script without indentation and without lines that are comments. A text over several
/// lines would be changed, so scripts have none.
fn compact(script: &str) -> String {
    let lines = script.lines().map(str::trim_start);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with("/**"));
    code.flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the most bytes that a script may have before it is compressed.
    const fn limit(script: Script) -> usize {
        match script {
            Script::Docs => 8_600,
        }
    }

    #[test]
    fn script_is_small_and_can_be_cached() {
        for name in Script::ALL {
            let response = script(name);
            assert!(response.body.len() <= limit(name), "{name:?}: {}", response.body.len());
            assert_eq!(response.header("cache-control"), Some("public, max-age=300"));
            assert!(response.header("etag").is_some());
        }
    }

    #[test]
    fn script_has_no_indentation_and_no_comments() {
        assert_eq!(compact("// a\n{\n  /** b */\n\n  c(`d`); // e\n}\n"), "{\nc(`d`); // e\n}\n");
        assert!(DOCS.lines().all(|line| line.matches('`').count() % 2 == 0), "a text over several lines");
    }

    #[test]
    fn script_keeps_nothing_and_evaluates_nothing() {
        for name in Script::ALL {
            let text = script(name).body;
            for word in ["localStorage", "sessionStorage", "cookie", "innerHTML", "eval(", "https://"] {
                assert!(!text.contains(word), "{name:?}: {word}");
            }
        }
    }
}
