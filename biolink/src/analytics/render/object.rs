//! A writer of JSON objects.

use shared::json;
use shared::time::UnixMillis;

use super::table::Cell;

/// An object that is being written.
pub(in super::super) struct Object<'a> {
    text: &'a mut String,
    is_empty: bool,
}

impl<'a> Object<'a> {
    /// Writes an object, whose members `write` writes.
    pub(in super::super) fn write(text: &'a mut String, write: impl FnOnce(&mut Self)) {
        text.push('{');
        let mut object = Self { text, is_empty: true };
        write(&mut object);
        object.text.push('}');
    }

    /// Writes the name of a member. Its value must be written to the text next.
    pub(in super::super) fn name(&mut self, name: &str) -> &mut String {
        self.text.push_str(if self.is_empty { "" } else { "," });
        self.is_empty = false;
        push_text(self.text, name);
        self.text.push(':');
        self.text
    }

    pub(in super::super) fn text(&mut self, name: &str, value: &str) {
        push_text(self.name(name), value);
    }

    pub(in super::super) fn number(&mut self, name: &str, value: u64) {
        self.name(name).push_str(itoa::Buffer::new().format(value));
    }

    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.name(name).push_str(if value { "true" } else { "false" });
    }

    pub(in super::super) fn moment(&mut self, name: &str, value: UnixMillis) {
        self.text(name, &value.to_rfc3339());
    }

    pub(super) fn cell(&mut self, name: &str, cell: &Cell) {
        let text = self.name(name);
        match cell {
            Cell::Text(value) => push_text(text, value),
            Cell::Null => text.push_str("null"),
            other => push_plain(text, other),
        }
    }
}

/// Writes a cell that looks the same in every format: a number or a flag.
pub(super) fn push_plain(text: &mut String, cell: &Cell) {
    match cell {
        Cell::Number(number) => text.push_str(itoa::Buffer::new().format(*number)),
        Cell::Flag(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Cell::Ratio(_, 0) | Cell::Null => text.push_str("null"),
        Cell::Ratio(part, whole) => push_ratio(text, *part, *whole),
        Cell::Text(_) => {}
    }
}

/// Writes a ratio with four digits, rounded half up. Without floating point, whose formatting would
/// be a part of the worker for nothing else.
fn push_ratio(text: &mut String, part: u64, whole: u64) {
    let (part, whole) = (u128::from(part), u128::from(whole));
    let ten_thousandths = u64::try_from((part * 20_000 + whole) / (whole * 2)).unwrap_or(u64::MAX);
    text.push_str(itoa::Buffer::new().format(ten_thousandths / 10_000));
    let digits = format!("{:04}", ten_thousandths % 10_000);
    let digits = digits.trim_end_matches('0');
    text.push_str(if digits.is_empty() { "" } else { "." });
    text.push_str(digits);
}

fn push_text(text: &mut String, value: &str) {
    // A text always serializes.
    text.push_str(&json::to_string(value).unwrap_or_default());
}
