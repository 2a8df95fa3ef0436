//! Addresses as shops write them: with spaces, without a scheme, or of images that are not encrypted.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{product_error::ProductError, texts::one_line};
use crate::page::{UrlError, WebUrl};

/// The longest address in an error, in characters.
const SHOWN: usize = 80;

/// Reads the address of a product.
pub(super) fn link(text: &str) -> Result<WebUrl, UrlError> {
    WebUrl::parse(&completed(text))
}

/// Reads the address of an image. One without encryption is asked for with it, as browsers do on an
/// encrypted page.
pub(super) fn image(text: &str) -> Result<WebUrl, ProductError> {
    let refusal = |reason: String| ProductError::Image { url: one_line(text, SHOWN), reason };
    let url = link(text).map_err(|error| refusal(error.to_string()))?;
    let Some(rest) = url.as_str().strip_prefix("http://") else { return Ok(url) };
    // A port belongs to its scheme: with https it would be that of another server, or of none.
    if url.origin().matches(':').count() > 1 {
        return Err(refusal("must begin with https:// if it has a port".to_owned()));
    }
    WebUrl::parse(&format!("https://{rest}")).map_err(|error| refusal(error.to_string()))
}

/// Returns an address as browsers read it: line breaks and tabs are none of its characters, spaces are
/// encoded, and one that begins with `//` is encrypted.
fn completed(text: &str) -> String {
    let text = text.trim();
    // Shops leave the scheme to the browser that shows them.
    let scheme = if text.starts_with("//") { "https:" } else { "" };
    let mut url = scheme.to_owned();
    // Browsers drop these from an address (WHATWG URL, section 4.4), so shops do not notice them.
    for c in text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')) {
        if c.is_whitespace() {
            url.extend(utf8_percent_encode(c.encode_utf8(&mut [0; 4]), NON_ALPHANUMERIC));
        } else {
            url.push(c);
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: the URL standard, by which `new URL(…).href` has these values; and mixed content, which browsers
    /// ask for with encryption.
    #[test]
    fn image_of_a_shop_has_an_address_or_a_reason() {
        for (text, expected) in [
            ("https://cdn.example/My Image, Front.jpg", Ok("https://cdn.example/My%20Image,%20Front.jpg")),
            (" https://cdn.example/a.jpg\n", Ok("https://cdn.example/a.jpg")),
            ("https://cdn.example/a\u{a0}b\t.jpg?x=1 2", Ok("https://cdn.example/a%C2%A0b.jpg?x=1%202")),
            ("//cdn.example/2.jpg", Ok("https://cdn.example/2.jpg")),
            ("http://cdn.example/3.jpg", Ok("https://cdn.example/3.jpg")),
            ("HTTP://cdn.example:80/3.jpg", Ok("https://cdn.example/3.jpg")),
            ("http://cdn.example:8080/3.jpg", Err("must begin with https:// if it has a port")),
            (
                "/img/4.jpg",
                Err(
                    "must be an address such as https://example.com/path, which begins with https:// or http://",
                ),
            ),
            (
                "ftp://cdn.example/4.jpg",
                Err(
                    "must be an address such as https://example.com/path, which begins with https:// or http://",
                ),
            ),
            ("https://cdn example/4.jpg", Err("must have a public host name such as example.com")),
            ("https://localhost/4.jpg", Err("must have a public host name such as example.com")),
            ("https://cdn.example\\a.jpg", Err("must have no spaces, backslashes or control characters")),
        ] {
            let read = image(text);
            let read = read.as_ref().map(WebUrl::as_str).map_err(|error| match error {
                ProductError::Image { reason, .. } => reason.as_str(),
                error => panic!("{error}"),
            });
            assert_eq!(read, expected, "{text}");
        }
    }
}
