//! Code with its strings, comments and keywords marked up, for the stylesheet to color.

use maud::{Markup, PreEscaped, html};

use super::language::Language;

/// The few rules of a language that its colors need.
struct Syntax {
    /// The begin of a comment that ends with the line.
    comment: &'static str,
    /// The begin and the end of each kind of string, and whether a backslash escapes in it. Longer ones come first.
    strings: &'static [(&'static str, &'static str, bool)],
    keywords: &'static [&'static str],
}

const SHELL: Syntax = Syntax {
    comment: "# ",
    strings: &[("'", "'", false), ("\"", "\"", true)],
    keywords: &["curl", "export", "for", "do", "done", "if", "then", "fi", "while"],
};

/// Names and strings are marked; `null` and the like, hundreds of which stand in one page, say what they are.
const JSON: Syntax = Syntax { comment: "\0", strings: &[("\"", "\"", true)], keywords: &[] };

impl Syntax {
    const fn of(language: Language) -> Self {
        match language {
            Language::Curl => SHELL,
            Language::JavaScript => Self {
                comment: "// ",
                strings: &[("`", "`", true), ("\"", "\"", true), ("'", "'", true)],
                keywords: &[
                    "async", "await", "const", "else", "export", "for", "function", "if", "import", "let",
                    "new", "of", "return", "throw", "while",
                ],
            },
            Language::Python => Self {
                comment: "# ",
                strings: &[("'''", "'''", false), ("\"", "\"", true), ("'", "'", true)],
                keywords: &[
                    "as", "def", "except", "for", "from", "if", "import", "in", "not", "raise", "return",
                    "try", "while", "with",
                ],
            },
            Language::Rust => Self {
                comment: "// ",
                strings: &[("r##\"", "\"##", false), ("r#\"", "\"#", false), ("\"", "\"", true)],
                keywords: &[
                    "else", "fn", "for", "if", "let", "loop", "match", "mut", "return", "use", "while",
                ],
            },
            Language::Go => Self {
                comment: "// ",
                strings: &[("`", "`", false), ("\"", "\"", true)],
                keywords: &["else", "for", "func", "if", "import", "nil", "range", "return", "var"],
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    String,
    Comment,
    Keyword,
}

/// Returns code of an example.
pub(super) fn code(text: &str, language: Language) -> Markup {
    markup(text, &Syntax::of(language))
}

/// Returns a text that is JSON, a command, or neither.
pub(super) fn sample(text: &str) -> Markup {
    match text.split([' ', '\n']).next() {
        Some("curl") => markup(text, &SHELL),
        Some("{" | "[") => markup(text, &JSON),
        Some(first) if first.starts_with(['{', '[']) => markup(text, &JSON),
        _ => escaped(text),
    }
}

/// Returns a text as the content of an element, where a quotation mark stands for itself. Samples are full of them.
fn escaped(text: &str) -> Markup {
    PreEscaped(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

fn markup(text: &str, syntax: &Syntax) -> Markup {
    html! {
        @for (kind, part) in parts(text, syntax) {
            @let part = escaped(part);
            @match kind {
                Kind::Plain => (part),
                Kind::String => i { (part) },
                Kind::Comment => em { (part) },
                Kind::Keyword => b { (part) },
            }
        }
    }
}

/// Returns the text in parts, which together are the text.
fn parts<'a>(text: &'a str, syntax: &Syntax) -> Vec<(Kind, &'a str)> {
    let (mut parts, mut plain, mut at) = (Vec::new(), 0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = part(rest, syntax);
        if kind != Kind::Plain {
            parts.extend(
                text.get(plain..at).filter(|plain| !plain.is_empty()).map(|plain| (Kind::Plain, plain)),
            );
            parts.extend(rest.get(..length).map(|part| (kind, part)));
            plain = at + length;
        }
        at += length;
    }
    parts.extend(text.get(plain..).filter(|plain| !plain.is_empty()).map(|plain| (Kind::Plain, plain)));
    parts
}

/// Returns the kind and the length of the part that a text begins with. A text must not be empty.
fn part(text: &str, syntax: &Syntax) -> (Kind, usize) {
    if text.starts_with(syntax.comment) {
        return (Kind::Comment, text.find('\n').unwrap_or(text.len()));
    }
    for (begin, end, escapes) in syntax.strings {
        if let Some(inside) = text.strip_prefix(begin) {
            let length = begin.len() + string_length(inside, end, *escapes);
            let is_name = text.get(length..).is_some_and(|rest| rest.starts_with(": "))
                && syntax.comment == JSON.comment;
            return (if is_name { Kind::Keyword } else { Kind::String }, length);
        }
    }
    let word = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    match text.get(..word) {
        Some(name) if syntax.keywords.contains(&name) => (Kind::Keyword, word),
        // Rust's raw strings begin with a letter.
        Some("r") | None => (Kind::Plain, 1),
        Some("") => (Kind::Plain, text.chars().next().map_or(1, char::len_utf8)),
        Some(_) => (Kind::Plain, word),
    }
}

/// Returns the length of a string with its end.
fn string_length(inside: &str, end: &str, escapes: bool) -> usize {
    let mut is_escaped = false;
    for (at, letter) in inside.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if escapes && letter == '\\' {
            is_escaped = true;
        } else if inside.get(at..).is_some_and(|rest| rest.starts_with(end)) {
            return at + end.len();
        }
    }
    inside.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_keywords_are_marked() {
        for (language, text, expected) in [
            (
                Language::Curl,
                "curl -d '{\"a\":\"#1\"}' x # é",
                "<b>curl</b> -d <i>'{\"a\":\"#1\"}'</i> x <em># é</em>",
            ),
            (
                Language::Rust,
                "let a = r#\"{\"b\"}\"#; // c",
                "<b>let</b> a = <i>r#\"{\"b\"}\"#</i>; <em>// c</em>",
            ),
            (Language::Python, "data=r'''{'a'}'''.b", "data=r<i>'''{'a'}'''</i>.b"),
            (Language::Go, "letter := `\\`", "letter := <i>`\\`</i>"),
            (Language::JavaScript, "\"a\\\"b\" + https://c", "<i>\"a\\\"b\"</i> + https://c"),
        ] {
            assert_eq!(code(text, language).into_string(), expected);
        }
        assert_eq!(sample("{\"a\": \"b\"}").into_string(), "{<b>\"a\"</b>: <i>\"b\"</i>}");
        assert_eq!(sample("if <b> & \"c\"").into_string(), "if &lt;b&gt; &amp; \"c\"");
        assert_eq!(sample("HTTP/1.1 401\nif: \"x\"").into_string(), "HTTP/1.1 401\nif: \"x\"");
    }

    #[test]
    fn string_without_an_end_is_kept() {
        assert_eq!(code("a 'b\\", Language::JavaScript).into_string(), "a <i>'b\\</i>");
    }
}
