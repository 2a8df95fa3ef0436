//! Diagnostic log lines: an event, then `key=value` fields. They never contain a key, a secret, a
//! query, an address or a user agent.

use std::fmt::{Display, Write};

use shared::request_id::RequestId;
use worker::console_error;

/// A field of a log line.
pub(crate) type Field<'a> = (&'a str, &'a dyn Display);

/// The name of an event. It is made where its text is written, so that a test finds those that go through a parameter too,
/// and compares all with the guide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event(pub(crate) &'static str);

/// Logs an internal error, of which the client sees only the outcome.
pub(crate) fn error(event: Event, id: Option<RequestId>, fields: &[Field<'_>]) {
    let id = id.as_ref().map(|id| ("request_id", id as &dyn Display));
    console_error!("{}", format(event.0, id.into_iter().chain(fields.iter().copied())));
}

/// Returns `event: key=value key="another value"`.
fn format<'a>(event: &str, fields: impl Iterator<Item = Field<'a>>) -> String {
    let mut line = event.to_owned();
    for (nth, (key, value)) in fields.enumerate() {
        let value = value.to_string();
        // Quoted otherwise, so that no text of a client can end the line or begin a field.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'=';
        line.push_str(if nth == 0 { ": " } else { " " });
        // Writing to a `String` cannot fail.
        let _written = if !value.is_empty() && value.bytes().all(is_plain) {
            write!(line, "{key}={value}")
        } else {
            write!(line, "{key}={value:?}")
        };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fields: &[Field<'_>]) -> String {
        format("origin call failed", fields.iter().copied())
    }

    #[test]
    fn line_is_an_event_with_fields() {
        assert_eq!(line(&[]), "origin call failed");
        assert_eq!(
            line(&[("origin", &"fra"), ("status", &502), ("error", &"no response within 300 ms")]),
            r#"origin call failed: origin=fra status=502 error="no response within 300 ms""#
        );
    }

    #[test]
    fn value_cannot_forge_a_field_or_a_line() {
        assert_eq!(
            line(&[("error", &"a\" origin=b\nc"), ("name", &""), ("pair", &"a=b")]),
            r#"origin call failed: error="a\" origin=b\nc" name="" pair="a=b""#
        );
    }
}
