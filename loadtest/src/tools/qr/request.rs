//! The fields of a QR code request, parsed with all errors together.

use serde_json::Value;
use thiserror::Error;

/// The capacity of a QR code in bytes (version 40, level L).
pub(super) const MAX_URL_BYTES: usize = 2953;
const DEFAULT_SIZE: u32 = 256;
const MIN_SIZE: u32 = 64;
const MAX_SIZE: u32 = 4096;

/// A request for a QR code.
pub(super) struct QrRequest<'a> {
    pub(super) url: &'a str,
    /// The side in pixels, 64 to 4,096.
    pub(super) size: u32,
    pub(super) format: Format,
}

/// An image format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Svg,
    Png,
}

/// An invalid field, as the response shows it.
#[derive(Debug, Error)]
#[error("{field}: {message}")]
pub(super) struct FieldError {
    pub(super) field: &'static str,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl<'a> QrRequest<'a> {
    /// Parses `url`, `size` and `format` and ignores other fields. `preferred` is the default
    /// format.
    ///
    /// # Errors
    /// Returns one error per invalid field.
    pub(super) fn parse(fields: &'a Value, preferred: Format) -> Result<Self, Vec<FieldError>> {
        let url = parse_url(fields.get("url"));
        let size = parse_size(fields.get("size"));
        let format = parse_format(fields.get("format"), preferred);
        match (url, size, format) {
            (Ok(url), Ok(size), Ok(format)) => Ok(Self { url, size, format }),
            (url, size, format) => Err([url.err(), size.err(), format.err()].into_iter().flatten().collect()),
        }
    }
}

fn parse_url(value: Option<&Value>) -> Result<&str, FieldError> {
    let error = |code, message: String| Err(FieldError { field: "url", code, message });
    let url = match value {
        None | Some(Value::Null) => {
            return error("required", "missing url: expected the URL to encode".to_owned());
        }
        Some(Value::String(url)) => url.as_str(),
        Some(other) => return error("not-a-string", format!("invalid url {other}: expected a string")),
    };
    if url.len() > MAX_URL_BYTES {
        let message = format!("the url has {} bytes: expected at most {MAX_URL_BYTES}", url.len());
        return error("too-long", message);
    }
    if !is_absolute_url(url) {
        let message =
            format!("invalid url `{url}`: expected an absolute URL, for example https://example.com");
        return error("not-a-url", message);
    }
    Ok(url)
}

/// Returns true for `scheme:rest` without characters that are invalid in a URL (RFC 3986, section
/// 3).
///
/// Non-ASCII letters are allowed unencoded.
fn is_absolute_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(is_scheme_byte)
        && !rest.trim_start_matches('/').is_empty()
        && !url.chars().any(|c| {
            c.is_whitespace()
                || c.is_control()
                || matches!(c, '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}')
        })
}

fn parse_size(value: Option<&Value>) -> Result<u32, FieldError> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(DEFAULT_SIZE) };
    let error = |code| {
        let message = format!("invalid size {value}: expected an integer from {MIN_SIZE} to {MAX_SIZE}");
        FieldError { field: "size", code, message }
    };
    let size = value.as_i64().ok_or_else(|| error("not-a-whole-number"))?;
    let size = u32::try_from(size).ok().filter(|size| (MIN_SIZE..=MAX_SIZE).contains(size));
    size.ok_or_else(|| error("out-of-range"))
}

fn parse_format(value: Option<&Value>, preferred: Format) -> Result<Format, FieldError> {
    match value {
        None | Some(Value::Null) => Ok(preferred),
        Some(Value::String(name)) if name == "svg" => Ok(Format::Svg),
        Some(Value::String(name)) if name == "png" => Ok(Format::Png),
        Some(other) => {
            let message = format!("unknown format {other}: expected \"svg\" or \"png\"");
            Err(FieldError { field: "format", code: "unknown", message })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_invalid_fields_are_reported_at_once() {
        let fields = json!({ "url": 7, "size": 63, "format": "gif" });
        let errors = QrRequest::parse(&fields, Format::Svg).err().unwrap();
        let codes: Vec<_> = errors.iter().map(|error| (error.field, error.code)).collect();
        assert_eq!(codes, [("url", "not-a-string"), ("size", "out-of-range"), ("format", "unknown")]);
    }

    #[test]
    fn size_is_from_64_to_4096_and_256_by_default() {
        for (size, parsed) in [(json!(null), 256), (json!(64), 64), (json!(4096), 4096)] {
            assert_eq!(parse_size(Some(&size)).unwrap(), parsed);
        }
        for size in [json!(63), json!(4097), json!(-1), json!(5_000_000_000_u64), json!(64.5), json!("64")] {
            assert!(parse_size(Some(&size)).is_err(), "{size}");
        }
    }

    #[test]
    fn relative_or_malformed_url_is_invalid() {
        for url in ["https://example.com/a?b=c#d", "mailto:a@example.com", "https://münchen.example/ü"] {
            assert!(is_absolute_url(url), "{url}");
        }
        for url in ["", "example.com", "https://", "https://a b", "1a:b", "https://a\n", "://x", "javascript"]
        {
            assert!(!is_absolute_url(url), "{url}");
        }
    }
}
