//! The scripts of the pages.

use crate::{response::Response, route::Script};

/// Returns a script as a response.
#[must_use]
pub fn script(script: Script) -> Response {
    let text = match script {
        Script::Docs => include_str!("../../assets/docs.js"),
        Script::Console => include_str!("../../assets/console.js"),
    };
    Response::public("text/javascript; charset=utf-8", text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_is_small_and_can_be_cached() {
        for name in Script::ALL {
            let response = script(name);
            assert!(gzip_size(&response.body) <= 6 * 1024, "{name:?}");
            assert_eq!(response.header("cache-control"), Some("public, max-age=300"));
            assert!(response.header("etag").is_some());
        }
    }

    fn gzip_size(text: &str) -> usize {
        use std::io::Write as _;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap().len()
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
