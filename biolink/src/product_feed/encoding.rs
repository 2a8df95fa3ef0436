//! The encoding of a response, whose text is read as UTF-8.
//!
//! This decides on the encoding and reads UTF-8, UTF-16 and Windows-1252. The others are the platform's:
//! docs/decisions/products.md, "The platform decodes what is not UTF-8".

use std::borrow::Cow;

use super::{character_references::windows_1252, feed_error::FeedError};

/// The longest name of an encoding that is looked at, in bytes.
const MAX_LABEL: usize = 40;
/// The names of the encodings of WHATWG's Encoding Standard. UTF-16 is recognized by its bytes.
pub const NAMES: [&str; 36] = [
    "UTF-8",
    "IBM866",
    "ISO-8859-2",
    "ISO-8859-3",
    "ISO-8859-4",
    "ISO-8859-5",
    "ISO-8859-6",
    "ISO-8859-7",
    "ISO-8859-8",
    "ISO-8859-8-I",
    "ISO-8859-10",
    "ISO-8859-13",
    "ISO-8859-14",
    "ISO-8859-15",
    "ISO-8859-16",
    "KOI8-R",
    "KOI8-U",
    "macintosh",
    "windows-874",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "x-mac-cyrillic",
    "GBK",
    "gb18030",
    "Big5",
    "EUC-JP",
    "ISO-2022-JP",
    "Shift_JIS",
    "EUC-KR",
];
/// Bytes outside ASCII in a row that no text in Windows-1252 has: Cyrillic, Greek or Chinese ones have.
const FOREIGN_RUN: usize = 4;

/// The body of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Its text.
    Text(Cow<'a, str>),
    /// It is to be decoded first.
    Encoded(Encoding),
}

/// An encoding that a response names: a label of WHATWG's Encoding Standard, or an unknown one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    label: String,
    place: &'static str,
}

impl Encoding {
    /// Returns its name, in lower case.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the error of a response that is not in it.
    #[must_use]
    pub fn mismatch(&self) -> FeedError {
        FeedError::OtherEncoding { label: self.label.clone(), place: self.place }
    }

    /// Returns the error of a name that stands for no encoding.
    #[must_use]
    pub fn unknown(&self) -> FeedError {
        FeedError::UnknownEncoding { label: self.label.clone(), place: self.place }
    }
}

impl<'a> Body<'a> {
    /// Reads the body of a response with this `Content-Type`, of a source with this `encoding`. A byte order mark
    /// decides, then the setting, which no other name or guess corrects, then
    /// `Content-Type` (RFC 7303), then the XML declaration. If those two differ, one that says UTF-8 is
    /// believed if the bytes are, and only then. A table without a name that is not UTF-8 is Windows-1252,
    /// which spreadsheets write, unless it cannot be.
    ///
    /// # Errors
    /// Returns an error if the bytes are in no encoding that this knows, or not in the one that it reads.
    pub fn read(
        body: &'a [u8],
        content_type: Option<&str>,
        setting: Option<&str>,
    ) -> Result<Self, FeedError> {
        match body {
            // By the first bytes, as XML asks of its readers (XML 1.0, appendix F): no header can
            // change what they are.
            [0xff, 0xfe, ..] | [b'<', 0, ..] => return utf16(body, u16::from_le_bytes),
            [0xfe, 0xff, ..] | [0, b'<', ..] => return utf16(body, u16::from_be_bytes),
            _ => {}
        }
        let utf8 = std::str::from_utf8(body).ok();
        let mark = body.starts_with(b"\xef\xbb\xbf");
        let set = setting.and_then(label).map(|label| Encoding { label, place: "the source's `encoding`" });
        let named = content_type.and_then(charset).map(|label| Encoding { label, place: "its Content-Type" });
        // One in bytes of ASCII is in no UTF-16, whatever it says: programs print the encoding of their strings.
        let declared = declared(body).filter(|label| !label.starts_with("utf-16"));
        let declared = declared.map(|label| Encoding { label, place: "its XML declaration" });
        let names: Vec<_> = match set {
            Some(set) => vec![set],
            None => [named, declared].into_iter().flatten().collect(),
        };
        if let Some(text) = utf8
            && (mark || names.is_empty() || names.iter().any(|name| is_utf8(&name.label)))
        {
            return Ok(Self::Text(Cow::Borrowed(text)));
        }
        // The bytes are not UTF-8, so a name that says they are is wrong, and the other may be
        // right.
        let other = names.iter().find(|name| !is_utf8(&name.label));
        match (other, names.first()) {
            // A mark of UTF-8 before bytes that are none: the file is damaged, and not of another
            // encoding.
            _ if mark => Err(FeedError::Encoding),
            (Some(name), _) if is_windows_1252(&name.label) => Ok(Self::Text(single_bytes(body))),
            (Some(name), _) => Ok(Self::Encoded(name.clone())),
            (None, Some(name)) => Err(name.mismatch()),
            (None, None) if !body.starts_with(b"<") && !body.starts_with(b"{") && !body.starts_with(b"[") => {
                if is_foreign(body) {
                    Err(FeedError::Encoding)
                } else {
                    Ok(Self::Text(single_bytes(body)))
                }
            }
            (None, None) => Err(FeedError::Encoding),
        }
    }
}

fn is_utf8(label: &str) -> bool {
    matches!(label, "utf-8" | "utf8" | "unicode-1-1-utf-8")
}

/// Returns the name of an encoding of WHATWG's Encoding Standard, in any case, as the standard writes it.
#[must_use]
pub fn standard_name(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// Returns true for Windows-1252 and what HTML reads as it.
fn is_windows_1252(label: &str) -> bool {
    const NAMES: [&str; 9] = [
        "iso-8859-1",
        "iso8859-1",
        "latin1",
        "l1",
        "windows-1252",
        "cp1252",
        "x-cp1252",
        "us-ascii",
        "ascii",
    ];
    NAMES.contains(&label)
}

/// Returns true for bytes that are not in Windows-1252, or make no words in it.
fn is_foreign(body: &[u8]) -> bool {
    let is_undefined = |byte: &u8| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d);
    body.iter().any(is_undefined) || body.windows(FOREIGN_RUN).any(|run| run.iter().all(|byte| *byte >= 0x80))
}

/// Returns the `charset` of a media type.
fn charset(content_type: &str) -> Option<String> {
    let parameters = content_type.split(';').skip(1);
    let (_, value) = parameters
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    label(value.trim().trim_matches(['"', '\'']))
}

/// Returns the encoding that an XML declaration names.
fn declared(body: &[u8]) -> Option<String> {
    let start = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).strip_prefix(b"<?xml")?;
    let end = start.iter().take(200).position(|byte| *byte == b'>')?;
    let declaration = std::str::from_utf8(start.get(..end)?).ok()?;
    let (_, name) = declaration.split_once("encoding")?;
    label(name.split(['"', '\'']).nth(1)?)
}

/// Returns the name of an encoding in lower case; `None` if it is empty.
fn label(text: &str) -> Option<String> {
    let text: String = text.trim().chars().filter(char::is_ascii_graphic).take(MAX_LABEL).collect();
    (!text.is_empty()).then(|| text.to_ascii_lowercase())
}

fn single_bytes(body: &[u8]) -> Cow<'static, str> {
    Cow::Owned(body.iter().map(|byte| windows_1252(*byte)).collect())
}

fn utf16(body: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Body<'static>, FeedError> {
    let (units, rest) = body.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(FeedError::Encoding);
    }
    let text = char::decode_utf16(units.iter().map(|bytes| unit(*bytes))).collect::<Result<String, _>>();
    text.map(|text| Body::Text(Cow::Owned(text))).map_err(|_| FeedError::Encoding)
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
            b"\xff\xfe<".to_vec(),
            b"\xff\xfe\x00\xd8<\x00".to_vec(),
            b"{\"items\": \"\xe9\"}".to_vec(),
            b"\xef\xbb\xbfid,title,link\n1,Caf\xe9,https://shop.example/a".to_vec(),
            // Tables in Shift_JIS and Windows-1251 that name no encoding: no garbage is published.
            b"id,title,link\n1,\x83\x65\x83\x58\x83\x67\x81\x5b,https://shop.example/a".to_vec(),
            b"id,title,link\n1,\xcf\xf0\xe8\xe2\xe5\xf2,https://shop.example/a".to_vec(),
        ] {
            assert_eq!(title(&body), Err(FeedError::Encoding), "{body:?}");
        }
        let lie = title(&windows(&declared("UTF-8"))).unwrap_err().to_string();
        assert_eq!(
            lie,
            "the feed is not in `utf-8`, which its XML declaration names; have the shop export UTF-8, or name the encoding in which it writes"
        );
    }

    fn found(body: &[u8], content_type: &str) -> String {
        match Body::read(body, Some(content_type), None) {
            Ok(Body::Text(text)) => format!("text {}", text.contains("Caf\u{e9}")),
            Ok(Body::Encoded(encoding)) => {
                format!("{} of {}", encoding.label(), encoding.place.trim_start_matches("its "))
            }
            Err(error) => error.to_string().chars().take(30).collect(),
        }
    }

    /// A table that names no encoding was read as Windows-1252 or refused, and its shop could not say more.
    #[test]
    fn encoding_of_the_source_decides_unless_a_mark_does() {
        let cyrillic = b"id,title,link\n1,\xcf\xf0\xe8\xe2\xe5\xf2,https://shop.example/a";
        assert_eq!(Body::read(cyrillic, Some("text/csv"), None), Err(FeedError::Encoding));
        for content_type in [None, Some("text/csv"), Some("text/csv; charset=utf-8")] {
            let Ok(Body::Encoded(encoding)) = Body::read(cyrillic, content_type, Some("windows-1251")) else {
                panic!("{content_type:?}");
            };
            assert_eq!((encoding.label(), encoding.place), ("windows-1251", "the source's `encoding`"));
        }
        let marked = format!("\u{feff}{TABLE}");
        let read = Body::read(marked.as_bytes(), None, Some("windows-1251"));
        assert_eq!(read, Ok(Body::Text(Cow::Borrowed(&marked))));
        let wrong = Body::read(cyrillic, None, Some("UTF-8")).unwrap_err().to_string();
        assert!(
            wrong.starts_with("the feed is not in `utf-8`, which the source's `encoding` names"),
            "{wrong}"
        );
    }

    #[test]
    fn name_of_an_encoding_is_that_of_the_standard() {
        assert_eq!(standard_name("shift_jis"), Some("Shift_JIS"));
        assert_eq!(["", "latin-9", "utf-16", "x-user-defined"].map(standard_name), [None; 4]);
    }

    #[test]
    fn encoding_is_that_which_the_response_names() {
        let declared = |name: &str| format!("<?xml version=\"1.0\" encoding=\"{name}\"?>{XML}");
        let latin = windows(XML);
        for (body, content_type, expected) in [
            (TABLE.as_bytes().to_vec(), "text/csv", "text true"),
            (TABLE.as_bytes().to_vec(), "text/csv; charset=UTF-8", "text true"),
            (windows(TABLE), "text/csv; charset=ISO-8859-1", "text true"),
            (windows(TABLE), "text/csv; charset=\"Windows-1250\"", "windows-1250 of Content-Type"),
            (windows(TABLE), "text/csv;header=present;Charset = Shift_JIS", "shift_jis of Content-Type"),
            (windows(TABLE), "text/csv; charset=utf-8", "the feed is not in `utf-8`, wh"),
            (latin.clone(), "text/xml; charset=iso-8859-2", "iso-8859-2 of Content-Type"),
            (windows(&declared("iso-8859-2")), "text/xml", "iso-8859-2 of XML declaration"),
            // A server that has one name for all its files does not turn UTF-8 into garbage, nor another encoding.
            (declared("UTF-8").into_bytes(), "text/xml; charset=iso-8859-1", "text true"),
            (windows(&declared("iso-8859-2")), "text/xml; charset=utf-8", "iso-8859-2 of XML declaration"),
            (windows(&declared("koi8-r")), "text/xml; charset=iso-8859-2", "iso-8859-2 of Content-Type"),
            (declared("utf-16").into_bytes(), "text/xml", "text true"),
            (format!("\u{feff}{TABLE}").into_bytes(), "text/csv; charset=windows-1250", "text true"),
            // All bytes of ISO-2022-JP are ASCII.
            (
                b"id,title,link\n1,\x1b$B%F\x1b(B,https://shop.example/a".to_vec(),
                "text/csv; charset=iso-2022-jp",
                "iso-2022-jp of Content-Type",
            ),
        ] {
            assert_eq!(
                found(&body, content_type),
                expected,
                "{content_type} {}",
                String::from_utf8_lossy(&body)
            );
        }
    }
}
