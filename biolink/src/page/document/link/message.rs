//! The text with which a link begins a message: `mailto:` (RFC 6068), `sms:` (RFC 5724) and WhatsApp.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{LinkUrlError, MAX_URL};

/// What is written as it is: the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How the texts of a kind of message are written.
pub(super) struct Form {
    /// The parameters, in their order. Any other, such as `bcc`, would send the message to others or attach to it.
    pub(super) names: &'static [&'static str],
    /// What a refusal says of them.
    pub(super) expected: &'static str,
    /// A line break, encoded.
    pub(super) line_break: &'static str,
    /// Whether `+` is a space, as in forms.
    pub(super) has_plus: bool,
}

pub(super) const EMAIL: Form = Form {
    names: &["subject", "body"],
    expected: "`subject` and `body`",
    line_break: "%0D%0A",
    has_plus: false,
};
pub(super) const SMS: Form =
    Form { names: &["body"], expected: "`body`", line_break: "%0A", has_plus: false };
pub(super) const WHATSAPP: Form =
    Form { names: &["text"], expected: "`text`", line_break: "%0A", has_plus: true };

impl Form {
    /// Reads the parameters of an address, and returns them in their one normal form: nothing, or from the `?`.
    pub(super) fn read(&self, parameters: &str) -> Result<String, LinkUrlError> {
        let mut texts = vec![None; self.names.len()];
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').ok_or(LinkUrlError::Message(self.expected))?;
            let place = self.names.iter().position(|known| known.eq_ignore_ascii_case(name));
            let text = place.and_then(|place| texts.get_mut(place)).filter(|text| text.is_none());
            *text.ok_or(LinkUrlError::Message(self.expected))? = Some(self.text(name, value)?);
        }
        let texts = self.names.iter().zip(texts).filter_map(|(name, text)| Some((name, text?)));
        let written: Vec<_> = texts
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| format!("{name}={}", self.encode(&text)))
            .collect();
        if written.is_empty() { Ok(String::new()) } else { Ok(format!("?{}", written.join("&"))) }
    }

    fn text(&self, name: &str, value: &str) -> Result<String, LinkUrlError> {
        if value.len() > MAX_URL {
            return Err(LinkUrlError::TooLong);
        }
        let value = if self.has_plus { value.replace('+', " ") } else { value.to_owned() };
        let decoded = percent_decode_str(&value).decode_utf8().map_err(|_| LinkUrlError::Text)?;
        let text = decoded.trim().replace("\r\n", "\n");
        let is_one_line = name.eq_ignore_ascii_case("subject");
        let is_bad = |c: char| {
            (c.is_control() && (is_one_line || c != '\n'))
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        if text.chars().any(is_bad) { Err(LinkUrlError::Text) } else { Ok(text) }
    }

    fn encode(&self, text: &str) -> String {
        let lines: Vec<_> =
            text.split('\n').map(|line| utf8_percent_encode(line, ESCAPED).to_string()).collect();
        lines.join(self.line_break)
    }
}
