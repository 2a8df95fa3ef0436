//! The lines of the diagnostic log.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use env_logger::fmt::Formatter;
use log::Record;

/// Writes a record as `[time level module] message`. What tools, clients and operators send is part of messages, so
/// a character that a terminal would obey is escaped, and what follows a line feed is indented: no text looks
/// like another record.
///
/// # Errors
/// Returns the error of the log's file.
pub fn write(line: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let (time, level, target) = (line.timestamp(), record.level(), record.target());
    writeln!(line, "[{time} {level:<5} {target}] {}", Escaped(record.args()))
}

/// Text of which a terminal obeys nothing.
struct Escaped<'a>(&'a fmt::Arguments<'a>);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaping(f).write_fmt(*self.0)
    }
}

/// Escapes what is written through it.
struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return self.0.write_str(text);
        }
        text.chars().try_for_each(|c| match c {
            '\n' => self.0.write_str("\n    "),
            '"' | '\'' | '\\' => self.0.write_char(c),
            c => write!(self.0, "{}", c.escape_debug()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_escaped_where_a_terminal_would_obey_it() {
        for (text, written) in [
            ("pool \"qr\": `a\\b` für 日本", "pool \"qr\": `a\\b` für 日本"),
            ("\u{1b}[2Ja\rb\u{9b}c\0", "\\u{1b}[2Ja\\rb\\u{9b}c\\0"),
            ("a\u{202e}b\u{200b}c\u{e0041}", "a\\u{202e}b\\u{200b}c\\u{e0041}"),
            (
                "first\n[2026-11-28T00:00:00Z ERROR proxy] forged",
                "first\n    [2026-11-28T00:00:00Z ERROR proxy] forged",
            ),
        ] {
            assert_eq!(Escaped(&format_args!("{text}")).to_string(), written);
        }
    }
}
