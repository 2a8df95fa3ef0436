//! The parts that views have in common.

use maud::{Markup, html};
use serde_json::Value;

/// Columns of numbers, which are aligned at their last digit.
const NUMBERS: [&str; 8] = ["Calls", "Clicks", "Products", "Refusals", "Scans", "Time", "Views", "Visitors"];

/// Returns a text of a response, empty if there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a whole number of a response, 0 if there is none.
pub(super) fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns a flag of a response, false if there is none.
pub(super) fn flag(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns a list of a response, empty if there is none.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the heading of a view, which gets the focus when the view is shown.
pub(super) fn heading(text: impl maud::Render) -> Markup {
    html! { h2 tabindex="-1" { (text) } }
}

/// Returns the beginning of a period: its day, and its time if it is an hour.
pub(super) fn label(start: &str, period: &str) -> String {
    let length = if period == "hour" { 16 } else { 10 };
    start.get(..length).unwrap_or(start).replace('T', " ")
}

/// Returns a moment of a response to the second, or a dash if there is none.
pub(super) fn moment(value: &Value, pointer: &str) -> Markup {
    let text = text(value, pointer);
    let (date, time) = (text.get(..10).unwrap_or_default(), text.get(11..19).unwrap_or_default());
    html! {
        @if text.is_empty() { "–" } @else { time datetime=(text) { (date) " " (time) " UTC" } }
    }
}

/// Returns names with their values.
pub(super) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// The contents of a row's cells. The first is the header of the row.
pub(super) type Row = Vec<Markup>;

/// Returns a table, or a note if it has no rows. On a phone, one with more than two columns of texts
/// shows each row as a block whose cells have the names of their columns. Others are narrow enough.
pub(super) fn table(caption: &str, columns: &[&str], rows: &[Row], empty: &str) -> Markup {
    let head = html! {
        thead { tr { @for column in columns { th.figure[NUMBERS.contains(column)] scope="col" { (column) } } } }
    };
    table_with_head(caption, &head, columns, rows, empty)
}

/// The order of a list whose headings are links that sort it.
pub(super) struct Sorting<'a> {
    /// The list.
    pub(super) path: &'a str,
    /// The query of the view.
    pub(super) query: Option<&'a str>,
    /// The columns that sort it, with the names of their orders.
    pub(super) fields: &'a [(&'a str, &'a str)],
    /// The order of a list whose query names none.
    pub(super) default: &'a str,
}

impl Sorting<'_> {
    /// Returns a table of the list. A heading says whether it sorts the table, and a link in it sorts by it, or
    /// the other way round.
    pub(super) fn table(&self, caption: &str, columns: &[&str], rows: &[Row], empty: &str) -> Markup {
        let head = html! { thead.sorts { tr { @for column in columns { (self.heading(column)) } } } };
        table_with_head(caption, &head, columns, rows, empty)
    }

    fn heading(&self, column: &str) -> Markup {
        let asked = parameter(self.query, "sort");
        let sort = if asked.is_empty() { self.default } else { &asked };
        let order = |field: &str| match sort.strip_prefix('-') {
            Some(sort) if sort == field => Some("descending"),
            None if sort == field => Some("ascending"),
            _ => None,
        };
        let field = self.fields.iter().find(|(name, _)| *name == column).map(|(_, field)| *field);
        html! {
            @match field {
                None => { th scope="col" { (column) } }
                Some(field) => {
                    th scope="col" aria-sort=[order(field)] {
                        a id=(format!("sort-{field}")) href=(self.address(field, order(field))) { (column) }
                    }
                }
            }
        }
    }

    /// Returns the address of the first page of the list in another order.
    fn address(&self, field: &str, order: Option<&str>) -> String {
        let sign = if order == Some("ascending") { "-" } else { "" };
        address(self.path, &format!("sort={sign}{field}"), self.query, &["cursor=", "sort="])
    }
}

fn table_with_head(caption: &str, head: &Markup, columns: &[&str], rows: &[Row], empty: &str) -> Markup {
    let stacks = columns.iter().filter(|column| !NUMBERS.contains(column)).count() > 2;
    let figure = |column| NUMBERS.contains(column).then_some("figure");
    html! {
        @if rows.is_empty() {
            p.soft { (empty) }
        } @else {
            div.scroll tabindex="0" role="region" aria-label=(caption) {
                table.stacks[stacks] {
                    caption { (caption) }
                    (head)
                    tbody {
                        @for row in rows {
                            tr {
                                @if let Some(header) = row.first() { th scope="row" { (header) } }
                                @for (cell, column) in row.iter().zip(columns).skip(1) {
                                    td data-column=[stacks.then_some(column)] class=[figure(column)] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A change that a view offers. The script sends the fields of its form as JSON.
pub(super) struct Change<'a> {
    method: &'static str,
    path: String,
    label: &'a str,
    /// The question before it is sent.
    question: &'a str,
    is_dangerous: bool,
    /// The name of the secret that its response shows once.
    reveals: Option<&'a str>,
    /// The view that is shown after it, with the id of what was made in place of `{id}`.
    next: Option<String>,
}

impl<'a> Change<'a> {
    /// Returns a change that is sent without a question.
    pub(super) fn new(method: &'static str, path: impl Into<String>, label: &'a str) -> Self {
        Self {
            method,
            path: path.into(),
            label,
            question: "",
            is_dangerous: false,
            reveals: None,
            next: None,
        }
    }

    /// Asks before it is sent.
    pub(super) fn asking(self, question: &'a str) -> Self {
        Self { question, ..self }
    }

    /// Marks what cannot be undone, or what others notice.
    pub(super) fn dangerous(self, is_dangerous: bool) -> Self {
        Self { is_dangerous, ..self }
    }

    /// Names the secret that its response shows once.
    pub(super) fn revealing(self, name: &'a str) -> Self {
        Self { reveals: Some(name), ..self }
    }

    /// Shows another view after it, with the id of what was made in place of `{id}`.
    pub(super) fn leading_to(self, view: impl Into<String>) -> Self {
        Self { next: Some(view.into()), ..self }
    }

    /// Returns a form of a template of the console's page. The script fills it with a value, and sends it on the
    /// condition that the value has this ETag still.
    pub(super) fn of_template(&self, template: &str, value: &Value, etag: &str) -> Markup {
        html! {
            form.editor novalidate data-method=(self.method) data-action=(self.path) data-reveals=[self.reveals] data-next=[self.next.as_deref()]
                data-template=(template) data-value=(value.to_string()) data-match=(etag) {}
        }
    }

    /// Returns the form.
    pub(super) fn form(&self, fields: &Markup) -> Markup {
        html! {
            form data-method=(self.method) data-action=(self.path) data-question=(self.question) data-reveals=[self.reveals] data-next=[self.next.as_deref()] {
                (fields)
                button.danger[self.is_dangerous] { (self.label) }
            }
        }
    }

    /// Returns the form without fields.
    pub(super) fn button(&self) -> Markup {
        self.form(&html! {})
    }
}

/// Returns a field that holds one of a few values.
pub(super) fn select(label: &str, name: &str, options: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        label {
            (label)
            select name=(name) {
                @for (value, text) in options {
                    option value=(value) selected[*value == chosen] { (text) }
                }
            }
        }
    }
}

/// Returns the field of an expiry, empty for never.
pub(super) fn expiry(expires_at: &str) -> Markup {
    html! {
        label {
            "Expires (UTC, empty: never)"
            input name="expires_at" type="datetime-local" value=(expires_at.get(..16).unwrap_or_default()) data-nullable;
        }
    }
}

/// Returns a field with a value that the script sends as JSON, not as a text.
pub(super) fn constant(name: &str, json: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(json) data-json; }
}

/// Returns a value of the query, percent-decoded.
pub(super) fn parameter(query: Option<&str>, name: &str) -> String {
    let value =
        query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    percent_encoding::percent_decode_str(value.unwrap_or_default()).decode_utf8_lossy().into_owned()
}

/// Returns the link to what follows, if there is more.
pub(super) fn pager(path: &str, query: Option<&str>, cursor: &str) -> Markup {
    let next = address(path, &format!("cursor={cursor}"), query, &["cursor="]);
    html! {
        @if !cursor.is_empty() { p { a href=(next) { "Next page" } } }
    }
}

/// Returns the address of a view with one parameter, followed by those of the query but for some.
fn address(path: &str, first: &str, query: Option<&str>, left_out: &[&str]) -> String {
    let pairs = query.unwrap_or_default().split('&');
    let kept = pairs.filter(|pair| !pair.is_empty() && !left_out.iter().any(|name| pair.starts_with(name)));
    kept.fold(format!("#{path}?{first}"), |address, pair| address + "&" + pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_sorts_by_its_column_and_the_other_way_round() {
        let head = |query| {
            let sorting = Sorting {
                path: "/v1/keys",
                query: Some(query),
                fields: &[("Name", "name"), ("Issued", "issued_at")],
                default: "-issued_at",
            };
            let cells = vec![html! {}; 3];
            sorting.table("Keys", &["Name", "Tier", "Issued"], &[cells], "None.").into_string()
        };
        let name = |order: &str, sort: &str| {
            format!(
                r##"<th scope="col"{order}><a id="sort-name" href="#/v1/keys?sort={sort}">Name</a></th>"##
            )
        };
        let issued = |order: &str, sort: &str| {
            format!(
                r##"<th scope="col"{order}><a id="sort-issued_at" href="#/v1/keys?sort={sort}">Issued</a>"##
            )
        };
        let (ascending, descending) = (r#" aria-sort="ascending""#, r#" aria-sort="descending""#);
        for (query, expected) in [
            ("q=a%26b&cursor=x", [name("", "name&amp;q=a%26b"), issued(descending, "issued_at&amp;q=a%26b")]),
            ("sort=name", [name(ascending, "-name"), issued("", "issued_at")]),
            ("sort=-name", [name(descending, "name"), issued("", "issued_at")]),
        ] {
            let shown = head(query);
            assert!(shown.contains(r#"<th scope="col">Tier</th>"#), "{query}: {shown}");
            assert!(expected.iter().all(|part| shown.contains(part)), "{query}: {shown}");
        }
    }

    #[test]
    fn cell_has_the_name_of_its_column_whatever_its_text() {
        let row = ["Ada", "<td>", "7", "live"].map(|cell| html! { (cell) }).to_vec();
        let shown = table("Pages", &["Title", "Address", "Views", "Status"], &[row], "None.").into_string();
        assert!(shown.contains("<th scope=\"row\">Ada</th>"), "{shown}");
        assert!(shown.contains("<td data-column=\"Address\">&lt;td&gt;</td>"), "{shown}");
        assert!(shown.contains("<td data-column=\"Views\" class=\"figure\">7</td>"), "{shown}");
    }

    #[test]
    fn table_stacks_with_more_than_two_columns_of_texts() {
        let stacks = |columns: &[&str]| {
            let cells = vec![html! {}; columns.len()];
            table("Pages", columns, &[cells], "None.").into_string().contains("class=\"stacks\"")
        };
        assert!(stacks(&["Title", "Address", "Status"]) && stacks(&["Code", "Route", "Refusals", "Last"]));
        assert!(!stacks(&["Tool", "Calls"]) && !stacks(&["From", "Views", "Visitors", "Clicks", "Scans"]));
    }
}
