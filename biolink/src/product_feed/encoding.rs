//! The encoding of a response, whose text is read as UTF-8.

use std::borrow::Cow;

use super::{character_references::windows_1252, feed_error::FeedError};

/// Returns the text of a response: UTF-16 if it begins with its mark or with `<` in it, ISO-8859-1 or
/// Windows-1252 if its XML declares it, and else UTF-8. A table that is not UTF-8 is Windows-1252, which
/// spreadsheets write.
///
/// # Errors
/// Returns an error if it is in none of these.
pub(super) fn text_of(body: &[u8]) -> Result<Cow<'_, str>, FeedError> {
    match body {
        [0xff, 0xfe, ..] | [b'<', 0, ..] => utf16(body, u16::from_le_bytes),
        [0xfe, 0xff, ..] | [0, b'<', ..] => utf16(body, u16::from_be_bytes),
        _ => match (std::str::from_utf8(body), declared(body)) {
            (Ok(text), None | Some(Declared::Utf8)) => Ok(Cow::Borrowed(text)),
            (_, Some(Declared::Windows1252)) => Ok(single_bytes(body)),
            (Err(_), None)
                if !body.starts_with(b"<") && !body.starts_with(b"{") && !body.starts_with(b"[") =>
            {
                Ok(single_bytes(body))
            }
            _ => Err(FeedError::Encoding),
        },
    }
}

enum Declared {
    Utf8,
    Windows1252,
    Other,
}

/// Returns the encoding that an XML declaration names.
fn declared(body: &[u8]) -> Option<Declared> {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).strip_prefix(b"<?xml")?;
    let end = start.iter().take(200).position(|byte| *byte == b'>')?;
    let declaration = std::str::from_utf8(start.get(..end)?).ok()?.to_ascii_lowercase();
    let (_, name) = declaration.split_once("encoding")?;
    let name = name.split(['"', '\'']).nth(1)?;
    Some(match name {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => Declared::Utf8,
        // HTML reads all of them as Windows-1252.
        "iso-8859-1" | "iso8859-1" | "latin1" | "windows-1252" | "cp1252" => Declared::Windows1252,
        _ => Declared::Other,
    })
}

fn single_bytes(body: &[u8]) -> Cow<'static, str> {
    Cow::Owned(body.iter().map(|byte| windows_1252(*byte)).collect())
}

fn utf16(body: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'static, str>, FeedError> {
    let (units, rest) = body.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(FeedError::Encoding);
    }
    let text = char::decode_utf16(units.iter().map(|bytes| unit(*bytes))).collect::<Result<String, _>>();
    text.map(Cow::Owned).map_err(|_| FeedError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product_feed::{Feed, FormatChoice};

    const XML: &str = "<rss><channel><item><id>1</id><title>Caf\u{e9} \u{2013} 5 \u{20ac}</title>\
        <link>https://shop.example/a</link></item></channel></rss>";
    const TABLE: &str = "id;title;link\n1;Caf\u{e9} \u{2013} 5 \u{20ac};https://shop.example/a\n";

    fn title(body: &[u8]) -> Result<String, FeedError> {
        let feed = Feed::parse(body, FormatChoice::Auto, "https://shop.example/", None)?;
        Ok(feed.products[0].title.clone())
    }

    fn windows(text: &str) -> Vec<u8> {
        let byte = |c: char| (0..=u8::MAX).find(|byte| windows_1252(*byte) == c).unwrap();
        text.chars().map(byte).collect()
    }

    fn units(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn feeds_are_read_in_the_encodings_of_shops() {
        let declared = |name: &str| format!("<?xml version=\"1.0\" encoding=\"{name}\"?>{XML}");
        let marked = |text: &str| format!("\u{feff}{text}");
        for body in [
            XML.as_bytes().to_vec(),
            marked(&declared("UTF-8")).into_bytes(),
            windows(&declared("ISO-8859-1")),
            windows(&declared("windows-1252").replace('"', "'")),
            windows(TABLE),
            marked(TABLE).into_bytes(),
            units(&marked(TABLE), u16::to_le_bytes),
            units(&marked(&declared("UTF-16")), u16::to_be_bytes),
            units(&declared("utf-16"), u16::to_le_bytes),
        ] {
            assert_eq!(title(&body).as_deref(), Ok("Caf\u{e9} \u{2013} 5 \u{20ac}"), "{body:?}");
        }
    }

    #[test]
    fn feed_in_no_known_encoding_is_refused() {
        let declared = |name: &str| format!("<?xml version=\"1.0\" encoding=\"{name}\"?>{XML}");
        for body in [
            windows(XML),
            windows(&declared("UTF-8")),
            declared("Shift_JIS").into_bytes(),
            b"\xff\xfe<".to_vec(),
            b"\xff\xfe\x00\xd8<\x00".to_vec(),
            b"{\"items\": \"\xe9\"}".to_vec(),
        ] {
            assert_eq!(title(&body), Err(FeedError::Encoding), "{body:?}");
        }
    }
}
