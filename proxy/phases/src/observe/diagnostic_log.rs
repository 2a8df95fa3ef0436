//! The lines of the diagnostic log.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use env_logger::fmt::Formatter;
use log::Record;
use serde_json::json;

use config::{DiagnosticFormat, LogConfig};

/// Whether records are JSON. The logger is made before the configuration is read, and outlives each.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Sets level and format of the records that follow.
pub fn configure(config: LogConfig) {
    log::set_max_level(config.level);
    IS_JSON.store(config.diagnostics == DiagnosticFormat::Json, Ordering::Relaxed);
}

/// Writes a record, as `[time level module] message` or as a JSON object of these. What tools, clients and operators send is part of messages, so
/// a character that a terminal would obey is escaped, and what follows a line feed is indented: no text looks
/// like another record.
///
/// # Errors
/// Returns the error of the log's file.
pub fn write(line: &mut Formatter, record: &Record<'_>) -> io::Result<()> {
    let (time, level, target) = (line.timestamp(), record.level(), record.target());
    if IS_JSON.load(Ordering::Relaxed) {
        return writeln!(line, "{}", json_line(&time.to_string(), level, target, record.args()));
    }
    writeln!(line, "[{time} {level:<5} {target}] {}", Escaped(record.args()))
}

/// Returns a record as a JSON object, whose message is whole for a parser and shows a terminal nothing that it obeys.
fn json_line(time: &str, level: log::Level, target: &str, message: &fmt::Arguments<'_>) -> String {
    let line =
        json!({ "time": time, "level": level.as_str(), "module": target, "message": message.to_string() });
    let mut escaped = String::new();
    for c in line.to_string().chars() {
        // The second half lets letters of any language stand, and escapes those that a terminal
        // obeys.
        if matches!(c, ' '..='~') || !c.is_ascii() && c.escape_debug().len() == 1 {
            escaped.push(c);
        } else {
            // Ignored: a `String` takes everything.
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _infallible = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    escaped
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
    use serde_json::Value;

    use super::*;

    #[test]
    fn json_line_holds_any_message_and_nothing_a_terminal_obeys() {
        for text in [
            "a \"b\" c\\d für 日本",
            "\u{1b}[2Ja\rb\u{9b}c\0\u{7f}",
            "a\u{202e}b\u{e0041}",
            "first\n{\"level\":\"ERROR\"}",
        ] {
            let line =
                json_line("2026-11-28T00:00:00Z", log::Level::Warn, "proxy::reload", &format_args!("{text}"));
            let read: Value = serde_json::from_str(&line).unwrap();
            assert_eq!((&read["message"], &read["level"]), (&text.into(), &"WARN".into()));
            assert!(line.chars().all(|c| matches!(c, ' '..='~') || c.escape_debug().len() == 1), "{line}");
        }
    }

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
