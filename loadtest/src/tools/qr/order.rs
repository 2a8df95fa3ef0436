//! What was ordered: the fields of a call, parsed, with every fault at once.

use serde_json::Value;

/// The most that a QR code holds (version 40, level L, bytes).
pub(super) const LONGEST_URL: usize = 2953;
const DEFAULT_SIZE: u32 = 256;
const SMALLEST: u32 = 64;
const LARGEST: u32 = 4096;

/// A QR code to be made.
pub(super) struct Order<'a> {
    pub(super) url: &'a str,
    /// Pixels on each side, 64 to 4,096.
    pub(super) size: u32,
    pub(super) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Svg,
    Png,
}

/// One field that is not acceptable.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) field: &'static str,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl<'a> Order<'a> {
    /// Parses `url`, `size` and `format`; other fields are left alone. `preferred` is the format where none is named.
    pub(super) fn parse(fields: &'a Value, preferred: Format) -> Result<Self, Vec<Fault>> {
        let url = parse_url(fields.get("url"));
        let size = parse_size(fields.get("size"));
        let format = parse_format(fields.get("format"), preferred);
        match (url, size, format) {
            (Ok(url), Ok(size), Ok(format)) => Ok(Self { url, size, format }),
            (url, size, format) => Err([url.err(), size.err(), format.err()].into_iter().flatten().collect()),
        }
    }
}

fn parse_url(value: Option<&Value>) -> Result<&str, Fault> {
    let fault = |code, message: String| Err(Fault { field: "url", code, message });
    let url = match value {
        None | Some(Value::Null) => return fault("required", "the URL to encode is missing".to_owned()),
        Some(Value::String(url)) => url.as_str(),
        Some(_) => return fault("not-a-string", "the URL is a string".to_owned()),
    };
    if url.len() > LONGEST_URL {
        return fault("too-long", format!("a QR code holds {LONGEST_URL} bytes, this URL has {}", url.len()));
    }
    if !is_absolute_url(url) {
        return fault(
            "not-a-url",
            "an absolute URL begins with its scheme, such as https://, and has no spaces".to_owned(),
        );
    }
    Ok(url)
}

/// `scheme:rest` with nothing in it that a URL cannot hold (RFC 3986 section 3); letters beyond ASCII may stand
/// unencoded, as people write them.
fn is_absolute_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let follows = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(follows)
        && !rest.trim_start_matches('/').is_empty()
        && !url.chars().any(|c| {
            c.is_whitespace()
                || c.is_control()
                || matches!(c, '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}')
        })
}

fn parse_size(value: Option<&Value>) -> Result<u32, Fault> {
    let fault = |code, what: &str| {
        let message = format!("the size is {what} from {SMALLEST} to {LARGEST} pixels");
        Err(Fault { field: "size", code, message })
    };
    let size = match value {
        None | Some(Value::Null) => return Ok(DEFAULT_SIZE),
        Some(Value::Number(number)) => number.as_i64(),
        Some(_) => None,
    };
    match size {
        None => fault("not-a-whole-number", "a whole number"),
        Some(size) => match u32::try_from(size) {
            Ok(size) if (SMALLEST..=LARGEST).contains(&size) => Ok(size),
            _ => fault("out-of-range", "a number"),
        },
    }
}

fn parse_format(value: Option<&Value>, preferred: Format) -> Result<Format, Fault> {
    match value {
        None | Some(Value::Null) => Ok(preferred),
        Some(Value::String(name)) if name == "svg" => Ok(Format::Svg),
        Some(Value::String(name)) if name == "png" => Ok(Format::Png),
        Some(_) => {
            Err(Fault { field: "format", code: "unknown", message: "the format is svg or png".to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_fault_of_an_order_is_named_at_once() {
        let fields = json!({ "url": 7, "size": 63, "format": "gif" });
        let faults = Order::parse(&fields, Format::Svg).err().unwrap();
        let codes: Vec<_> = faults.iter().map(|fault| (fault.field, fault.code)).collect();
        assert_eq!(codes, [("url", "not-a-string"), ("size", "out-of-range"), ("format", "unknown")]);
    }

    #[test]
    fn the_size_has_a_default_and_both_its_bounds_are_within() {
        for (size, parsed) in [(json!(null), 256), (json!(64), 64), (json!(4096), 4096)] {
            assert_eq!(parse_size(Some(&size)).unwrap(), parsed);
        }
        for size in [json!(63), json!(4097), json!(-1), json!(5_000_000_000_u64), json!(64.5), json!("64")] {
            assert!(parse_size(Some(&size)).is_err(), "{size}");
        }
    }

    #[test]
    fn what_is_not_an_absolute_url_is_refused() {
        for url in ["https://example.com/a?b=c#d", "mailto:a@example.com", "https://münchen.example/ü"] {
            assert!(is_absolute_url(url), "{url}");
        }
        for url in ["", "example.com", "https://", "https://a b", "1a:b", "https://a\n", "://x", "javascript"]
        {
            assert!(!is_absolute_url(url), "{url}");
        }
    }
}
