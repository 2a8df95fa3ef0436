//! HTML of the reference as Markdown, for agents and for people with an editor.
//!
//! Why: docs/decisions/portal.md, "Markdown of the reference is made from its HTML".

use super::language::Language;
use super::text::unescaped;
use crate::docs_page::DocsPage;
use shared::document::SERVER;

/// Returns what HTML of maud's says as CommonMark with the tables of GitHub. Maud escapes `<` and `>` in texts and
/// attributes, so each of them belongs to a tag.
pub(super) fn of_html(html: &str) -> String {
    let mut writer = Writer::default();
    for (at, part) in operations_in_curl(html).split('<').enumerate() {
        let text = match part.split_once('>') {
            Some((tag, text)) if at > 0 => {
                writer.take_tag(tag);
                text
            }
            _ => part,
        };
        writer.take_text(&unescaped(text));
    }
    writer.end_block();
    format!("{}\n", writer.text.trim_end())
}

/// Returns HTML without the examples of operations in other languages than the shell's: an agent can tell them from
/// that one, and they are half of a page. Guides keep theirs.
fn operations_in_curl(html: &str) -> String {
    let sections = html.split_inclusive("</section>");
    sections
        .flat_map(|section| if section.contains("class=\"op\"") { in_curl(section) } else { vec![section] })
        .collect()
}

fn in_curl(section: &str) -> Vec<&str> {
    let parts = section.split_inclusive("</pre>");
    let in_curl = parts.map(|part| match part.split_once("<pre class=\"in ") {
        Some((before, code)) if !code.starts_with("sh\"") => before,
        _ => part,
    });
    in_curl.collect()
}

#[derive(Default)]
struct Writer {
    text: String,
    /// The line, the code or the row that is not complete.
    line: String,
    /// The number of the last item of each list that is open; `None` for a list without numbers.
    lists: Vec<Option<usize>>,
    /// The address of the link that is open, which leads off the place itself.
    link: Option<String>,
    /// Cells of the row, while a table is open.
    cells: Option<usize>,
    place: Place,
}

/// The place of a text, which decides what is escaped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Prose,
    Code,
    Block,
}

impl Writer {
    fn take_text(&mut self, text: &str) {
        for letter in text.chars() {
            let is_special = match self.place {
                Place::Prose => matches!(letter, '\\' | '*' | '<' | '[' | ']' | '`' | '_'),
                Place::Code | Place::Block => false,
            };
            if is_special || (letter == '|' && self.cells.is_some()) {
                self.line.push('\\');
            }
            let is_break = letter == '\n' && self.place != Place::Block;
            self.line.push(if is_break { ' ' } else { letter });
        }
    }

    fn take_tag(&mut self, tag: &str) {
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        match name {
            "pre" => self.begin_code(attributes),
            "/pre" => {
                self.line.push_str("\n```");
                self.place = Place::Prose;
                self.end_block();
            }
            "/code" if self.place == Place::Code => self.toggle_code(Place::Prose),
            // Colors of code.
            _ if self.place != Place::Prose => {}
            "code" => self.toggle_code(Place::Code),
            "b" | "/b" | "strong" | "/strong" => self.line.push_str("**"),
            "em" | "/em" => self.line.push('*'),
            "small" | "/small" | "br" => self.space(),
            "a" => self.begin_link(attributes),
            "/a" => self.end_link(),
            "table" => {
                self.end_block();
                self.cells = Some(0);
            }
            "tr" | "/caption" | "/thead" | "td" | "th" | "/tr" | "/table" if self.cells.is_some() => {
                self.take_table_tag(name);
            }
            // A cell is one line.
            _ if self.cells.is_some_and(|cells| cells > 0) => self.space(),
            "h1" | "h2" | "h3" | "h4" => {
                self.end_block();
                let level = name.trim_start_matches('h').parse().unwrap_or(1);
                self.line.push_str(&"#".repeat(level));
                self.line.push(' ');
            }
            "ul" | "ol" => self.begin_list(name == "ol"),
            "li" => self.begin_item(),
            "/li" => self.end_line(),
            "/ul" | "/ol" => {
                self.lists.pop();
                self.end_block();
            }
            "span" | "/span" => {}
            _ => self.end_block(),
        }
    }

    fn begin_code(&mut self, attributes: &str) {
        self.end_block();
        self.place = Place::Block;
        let has_class = |language: &Language| attributes.ends_with(&format!(" {}\"", language.class()));
        let language = Language::ALL.into_iter().find(has_class).map_or("", Language::class);
        self.line.push_str(&format!("```{language}\n"));
    }

    fn toggle_code(&mut self, place: Place) {
        self.place = place;
        self.line.push('`');
    }

    fn begin_link(&mut self, attributes: &str) {
        let address = attributes.split("href=\"").nth(1).and_then(|rest| rest.split('"').next());
        // Headings lead to themselves, and places that others lead to have no address.
        self.link = address.map(unescaped).filter(|address| !address.starts_with('#')).map(absolute);
        if self.link.is_some() {
            self.line.push('[');
        }
    }

    fn end_link(&mut self) {
        if let Some(address) = self.link.take() {
            self.line.push_str(&format!("]({address})"));
        }
    }

    fn take_table_tag(&mut self, name: &str) {
        let cells = self.cells.unwrap_or_default();
        match name {
            "/caption" => self.end_block(),
            "td" | "th" => {
                self.trim_line();
                self.line.push_str(if cells == 0 { "| " } else { " | " });
                self.cells = Some(cells + 1);
            }
            "/tr" => {
                self.trim_line();
                self.line.push_str(" |");
                self.end_line();
            }
            "/thead" => {
                self.line = format!("|{}", " --- |".repeat(cells));
                self.end_line();
            }
            "tr" => self.cells = Some(0),
            _ => {
                self.cells = None;
                self.end_block();
            }
        }
    }

    fn begin_list(&mut self, is_numbered: bool) {
        if self.lists.is_empty() {
            self.end_block()
        } else {
            self.end_line()
        }
        self.lists.push(is_numbered.then_some(0));
    }

    fn begin_item(&mut self) {
        self.end_line();
        let indent = "   ".repeat(self.lists.len().saturating_sub(1));
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.line = format!("{indent}{marker}");
    }

    fn space(&mut self) {
        if !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
    }

    fn trim_line(&mut self) {
        self.line.truncate(self.line.trim_end().len());
    }

    fn end_line(&mut self) {
        self.trim_line();
        if !self.line.is_empty() {
            self.text.push_str(&self.line);
            self.text.push('\n');
            self.line.clear();
        }
    }

    /// Ends a block: an empty line follows it.
    fn end_block(&mut self) {
        self.end_line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

/// Returns the address of a link as others can open it. Other pages of the reference are Markdown too.
fn absolute(address: String) -> String {
    let (path, _) = address.split_once('#').unwrap_or((&address, ""));
    match DocsPage::ALL.into_iter().find(|page| page.path() == path) {
        Some(page) => format!("{SERVER}{}", page.markdown_path()),
        None if address.starts_with('/') => format!("{SERVER}{address}"),
        None => address,
    }
}

#[cfg(test)]
mod tests {
    use maud::html;
    use pulldown_cmark::{Options, Parser, html::push_html};

    use super::*;
    use crate::docs::Host;
    use crate::docs::reference::bodies;
    use crate::docs::text::text_of;

    #[test]
    fn blocks_lists_tables_and_links_are_markdown() {
        let html = html! {
            h2 id="a" { a href="#a" { "Read_it" } }
            p { "Send " code { "X-API-Key" } ", see " a href="/docs/limits#bounds" { "limits" } " and " a href="/llms.txt" { "llms.txt" } "." }
            ul { li { "one" ul { li { "two < three" } } } li { b { "four" } } }
            ol { li { "first" } li { "second" } }
            pre class="in sh" { b { "curl" } " -d " i { "'{\"a\":\n1}'" } }
            table {
                thead { tr { th scope="col" { "Field" } th scope="col" { "Meaning" } } }
                tbody { tr { th scope="row" { code { "a|b" } small { "required" } } td { small { "text" } "c" p { "d" } } } }
            }
        };
        let expected = format!(
            "## Read\\_it\n\n\
             Send `X-API-Key`, see [limits]({SERVER}/docs/limits.md) and [llms.txt]({SERVER}/llms.txt).\n\n\
             - one\n   - two \\< three\n\n- **four**\n\n1. first\n2. second\n\n\
             ```sh\ncurl -d '{{\"a\":\n1}}'\n```\n\n\
             | Field | Meaning |\n| --- | --- |\n| `a\\|b` required | text c d |\n"
        );
        assert_eq!(of_html(&html.into_string()), expected);
    }

    /// Oracle: a parser of CommonMark, whose HTML says the same as the page.
    #[test]
    fn page_and_its_markdown_have_the_same_words() {
        for (page, html) in bodies(Host::Edge) {
            let html = operations_in_curl(&html);
            let twin = of_html(&html);
            let mut again = String::new();
            push_html(&mut again, Parser::new_ext(&twin, Options::ENABLE_TABLES));
            let words = |html: &str| {
                text_of(html).chars().filter(|letter| !letter.is_whitespace()).collect::<String>()
            };
            assert_eq!(words(&again), words(&html), "{}", page.path());
            for level in ["h1", "h2", "h3", "pre", "table", "li"] {
                let count = |html: &str| {
                    html.matches(&format!("<{level}>")).count() + html.matches(&format!("<{level} ")).count()
                };
                assert_eq!(count(&again), count(&html), "{}: {level}", page.path());
            }
        }
    }
}
