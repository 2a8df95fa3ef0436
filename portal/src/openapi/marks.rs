//! Marks in the text of a description. What they stand for follows from the table of problems, which
//! the worker has anyway: without them, a third of the text would be problems.

use std::fmt::Write as _;

use biolink::codes;
use serde_json::Value;
use shared::{
    problem::{Code, Problem},
    request_id::RequestId,
};

use super::SERVER;

/// Begins a mark, as JSON writes it: `"\u0001` and the kind, a space, the codes separated by
/// commas, and perhaps a space with further text.
const MARK: &str = "\"\\u0001";
const TITLES: &str = "t";
const EXAMPLES: &str = "e";

/// Returns the mark for the codes with their titles, as a text.
pub(super) fn titles(codes: &[Code]) -> Value {
    mark(TITLES, codes)
}

/// Returns the mark for an example of each code, as an object.
pub(super) fn examples(codes: &[Code]) -> Value {
    mark(EXAMPLES, codes)
}

fn mark(kind: &str, codes: &[Code]) -> Value {
    let codes: Vec<_> = codes.iter().map(|code| code.as_str()).collect();
    format!("\u{1}{kind} {}", codes.join(",")).into()
}

/// Returns a text with what its marks stand for, and with the address of the server.
pub(super) fn complete(text: &str, server: &str) -> String {
    let mut parts = text.split(MARK);
    let mut completed = String::with_capacity(text.len().saturating_mul(2));
    completed.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (mark, rest) = part.split_once('"').unwrap_or((part, ""));
        let mut words = mark.splitn(3, ' ');
        let (kind, codes, more) = (words.next(), words.next().unwrap_or_default(), words.next());
        let codes = codes.split(',').filter_map(codes::parse);
        if kind == Some(EXAMPLES) {
            write_examples(&mut completed, codes)
        } else {
            write_titles(&mut completed, codes, more)
        }
        completed.push_str(rest);
    }
    completed.replace(SERVER, server)
}

/// Writes "`code`: Title." for each code. No title has a character that JSON escapes.
fn write_titles(text: &mut String, codes: impl Iterator<Item = Code>, more: Option<&str>) {
    let mut separator = '"';
    for code in codes {
        // Writing to a text cannot fail.
        let _written = write!(text, "{separator}`{}`: {}.", code.as_str(), code.title());
        separator = ' ';
    }
    if let Some(more) = more {
        let _written = write!(text, " {more}");
    }
    text.push('"');
}

fn write_examples(text: &mut String, codes: impl Iterator<Item = Code>) {
    let mut separator = '{';
    for code in codes {
        let problem = Problem::new(code, code.about()).render(&RequestId([0x5a; 16]));
        let _written = write!(text, "{separator}\"{}\":{{\"value\":{}}}", code.as_str(), problem.body);
        separator = ',';
    }
    text.push('}');
}
