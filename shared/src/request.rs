//! The limits and the grammar that the head of every request must meet.

mod host;

pub(crate) use host::is_authority;

use crate::headers::{self, tokens};
use crate::method::Method;
use crate::problem::{Problem, codes};

/// Maximum number of header lines of a request.
pub const MAX_HEADER_LINES: usize = 128;
/// Maximum number of bytes of a request's header lines together, counted as `name: value` and line
/// end.
pub const MAX_HEADER_BYTES: usize = 65_536;
/// Maximum number of bytes of a body, unless the tool's pool sets another: 10 MiB.
pub const MAX_BODY_BYTES: u64 = 10 * 1024 * 1024;
/// Idle timeout of a client in the middle of a body, in milliseconds.
pub const BODY_IDLE_TIMEOUT_MS: u64 = 60_000;
/// Bytes a second that a client must send of a body, or take of a response, on average, unless the
/// proxy says otherwise.
pub const MIN_BODY_RATE: u64 = 1_024;
/// Timeout for the head of a tool's response, in milliseconds, unless its pool sets another.
pub const TOOL_RESPONSE_TIMEOUT_MS: u64 = 35_000;

/// The media type of a JSON merge patch (RFC 7396).
const MERGE_PATCH: &str = "application/merge-patch+json";

/// The parts of a request's head that the gateway decides on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// The client's key, as sent.
    pub api_key: Option<&'a str>,
    /// The body's length, when it was stated.
    pub content_length: Option<u64>,
    /// The body's media type, as sent.
    pub content_type: Option<&'a str>,
    /// The body's content coding, as sent.
    pub content_encoding: Option<&'a str>,
    /// Whether the body comes in chunks of unstated number.
    pub chunked: bool,
}

impl<'a> Head<'a> {
    /// Reads the header lines, in any case and order.
    ///
    /// # Errors
    /// Returns `headers-too-large`, `expectation-failed`, `upgrade-unsupported` for a WebSocket, or
    /// `header-malformed` for what two parsers could read differently: a name with an underscore, a
    /// key sent twice, a body with two lengths, an invalid host.
    pub fn read(lines: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<Self, Problem> {
        let mut head = Self::default();
        let mut bounds = Bounds::default();
        for (name, value) in lines {
            bounds.add(name, value)?;
            if name.bytes().any(|byte| byte == b'_') {
                return Err(malformed(format!("the header name `{}` has an underscore", shown(name))));
            }
            if name.eq_ignore_ascii_case(headers::API_KEY) {
                head.read_key(value)?;
            } else if name.eq_ignore_ascii_case("content-length") {
                head.read_length(value)?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                head.chunked = true;
            } else if name.eq_ignore_ascii_case("content-type") {
                head.read_type(value)?;
            } else if name.eq_ignore_ascii_case("content-encoding") {
                head.content_encoding = Some(std::str::from_utf8(value).unwrap_or("\u{fffd}"));
            } else if name.eq_ignore_ascii_case("host") {
                host::check(value)?;
            } else if name.eq_ignore_ascii_case("upgrade") {
                check_upgrade(value)?;
            } else if name.eq_ignore_ascii_case("expect") && !value.eq_ignore_ascii_case(b"100-continue") {
                return Err(Problem::new(
                    codes::EXPECTATION_FAILED,
                    "the only expectation met is 100-continue",
                ));
            }
        }
        if head.chunked && head.content_length.is_some() {
            return Err(malformed("Content-Length and Transfer-Encoding are both present"));
        }
        Ok(head)
    }

    /// Refuses a body that is stated to be longer than `limit` bytes.
    ///
    /// # Errors
    /// Returns `body-too-large`.
    pub fn check_length(&self, limit: u64) -> Result<(), Problem> {
        match self.content_length {
            Some(length) if length > limit => Err(too_large(limit)),
            _ => Ok(()),
        }
    }

    /// Refuses the body of a GET of a tool. It has no meaning (RFC 9110, section 9.3.1), the edge's platform
    /// cannot send one, and a tool that got a GET without what the client put there would answer another
    /// question. Why: docs/decisions/proxy.md, "A GET of a tool with a body is refused".
    ///
    /// # Errors
    /// Returns `header-malformed`.
    pub fn check_get(&self) -> Result<(), Problem> {
        if self.is_empty() {
            return Ok(());
        }
        let stated = if self.chunked { "Transfer-Encoding" } else { "Content-Length" };
        Err(malformed(format!(
            "{stated} states a body, which a GET cannot have; send it with POST, or put it into the query"
        )))
    }

    /// Refuses a body of another type than JSON, unless it is in `accepted`: types such as
    /// `audio/*` or `multipart/form-data`. A request without a body needs no type.
    ///
    /// # Errors
    /// Returns `media-type-unsupported` with `Accept` (RFC 9110 section 15.5.16).
    pub fn check_media_type(&self, accepted: &[String]) -> Result<(), Problem> {
        self.check_type(accepted.iter().map(String::as_str))
    }

    fn check_type<'r>(&self, accepted: impl Iterator<Item = &'r str> + Clone) -> Result<(), Problem> {
        let essence = self.content_type.unwrap_or("").split(';').next().unwrap_or("").trim();
        let accepted = std::iter::once("application/json").chain(accepted);
        let is_none = self.is_empty() && essence.is_empty();
        if is_none || accepted.clone().any(|range| in_range(essence, range)) {
            return Ok(());
        }
        let accept = accepted.collect::<Vec<_>>().join(", ");
        let detail = match essence {
            "" => format!("the body has no Content-Type; this takes {accept}"),
            _ => format!("the body's type `{}` is not accepted here; this takes {accept}", shown(essence)),
        };
        Err(Problem::new(codes::MEDIA_TYPE_UNSUPPORTED, detail).with_header("accept", accept))
    }

    /// Refuses a body that the gateway itself cannot read: another type than JSON and those in
    /// `accepted`, or an encoded body. A `PATCH` takes a JSON merge patch too (RFC 7396).
    ///
    /// # Errors
    /// Returns `media-type-unsupported` with `Accept`, for a `PATCH` with `Accept-Patch` too (RFC
    /// 5789, section 2.2), or with `Accept-Encoding` (RFC 9110, section 15.5.16).
    pub fn check_own_body(&self, method: &str, accepted: &[&str]) -> Result<(), Problem> {
        self.check_encoding()?;
        if method != Method::Patch.as_str() {
            return self.check_type(accepted.iter().copied());
        }
        let checked = self.check_type(accepted.iter().copied().chain([MERGE_PATCH]));
        checked.map_err(|problem| problem.with_header(headers::ACCEPT_PATCH.0, headers::ACCEPT_PATCH.1))
    }

    /// Refuses a body in a content coding, which only tools may know.
    fn check_encoding(&self) -> Result<(), Problem> {
        let coding = self.content_encoding.unwrap_or_default().trim();
        if self.is_empty() || coding.is_empty() || coding.eq_ignore_ascii_case("identity") {
            return Ok(());
        }
        let detail =
            format!("the body's encoding `{}` is not accepted here; send it as it is", shown(coding));
        Err(Problem::new(codes::MEDIA_TYPE_UNSUPPORTED, detail).with_header("accept-encoding", "identity"))
    }

    /// Returns the bytes of the body: 0 without one, and `None` if it comes in chunks.
    pub fn body_length(&self) -> Option<u64> {
        (!self.chunked).then(|| self.content_length.unwrap_or(0))
    }

    /// Returns true if the request states no body.
    fn is_empty(&self) -> bool {
        !self.chunked && self.content_length.unwrap_or(0) == 0
    }

    fn read_key(&mut self, value: &'a [u8]) -> Result<(), Problem> {
        // Some runtimes join repeated headers with a comma, which no key contains.
        if self.api_key.is_some() || value.contains(&b',') {
            return Err(malformed("X-API-Key is sent more than once"));
        }
        // A key is ASCII. Bytes that are not text are some text that is no key.
        self.api_key = Some(std::str::from_utf8(value).unwrap_or("\u{fffd}").trim_matches([' ', '\t']));
        Ok(())
    }

    fn read_length(&mut self, value: &[u8]) -> Result<(), Problem> {
        let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let Some(digits) = digits.filter(|text| !text.is_empty()) else {
            return Err(malformed("Content-Length is not one number"));
        };
        // More digits than fit are a length beyond any limit.
        let length = digits.parse().unwrap_or(u64::MAX);
        if self.content_length.is_some_and(|other| other != length) {
            return Err(malformed("Content-Length is sent twice with different values"));
        }
        self.content_length = Some(length);
        Ok(())
    }

    fn read_type(&mut self, value: &'a [u8]) -> Result<(), Problem> {
        if self.content_type.is_some() {
            return Err(malformed("Content-Type is sent more than once"));
        }
        self.content_type = Some(std::str::from_utf8(value).unwrap_or("\u{fffd}"));
        Ok(())
    }
}

/// Returns the refusal of a client whose body comes more slowly than `least` bytes a second.
pub fn too_slow(least: u64) -> Problem {
    Problem::new(
        codes::REQUEST_TIMEOUT,
        format!("the body arrived more slowly than {least} bytes a second; send it faster"),
    )
}

/// Returns the refusal of a client that stopped in the middle of its request.
pub fn stalled() -> Problem {
    let seconds = BODY_IDLE_TIMEOUT_MS / 1_000;
    Problem::new(codes::REQUEST_TIMEOUT, format!("timed out: no body data received for {seconds} seconds"))
}

/// Returns the refusal of a client that took too long to send a short body.
pub fn late() -> Problem {
    let seconds = BODY_IDLE_TIMEOUT_MS / 1_000;
    Problem::new(codes::REQUEST_TIMEOUT, format!("the body was not complete after {seconds} seconds"))
}

/// Returns the refusal of a body longer than `limit` bytes, stated or counted.
pub fn too_large(limit: u64) -> Problem {
    Problem::new(codes::BODY_TOO_LARGE, format!("the body is larger than the limit of {limit} bytes"))
}

/// Refuses a WebSocket. Any other upgrade is an offer that may be ignored (RFC 9110, section 7.8),
/// but a client that gets a response instead of its WebSocket can do nothing with it.
fn check_upgrade(value: &[u8]) -> Result<(), Problem> {
    let name =
        |token: &[u8]| token.split(|byte| *byte == b'/').next().unwrap_or_default().to_ascii_lowercase();
    if tokens(value).any(|token| name(token) == b"websocket") {
        let detail = "this gateway forwards requests and responses, and no WebSockets";
        return Err(Problem::new(codes::UPGRADE_UNSUPPORTED, detail));
    }
    Ok(())
}

fn in_range(essence: &str, range: &str) -> bool {
    match range.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => essence.split_once('/').is_some_and(|(own, _)| own.eq_ignore_ascii_case(kind)),
        None => essence.eq_ignore_ascii_case(range),
    }
}

#[derive(Default)]
struct Bounds {
    lines: usize,
    bytes: usize,
}

impl Bounds {
    fn add(&mut self, name: &str, value: &[u8]) -> Result<(), Problem> {
        const LINE_OVERHEAD: usize = ": \r\n".len();
        self.lines += 1;
        self.bytes = self.bytes.saturating_add(name.len()).saturating_add(value.len() + LINE_OVERHEAD);
        if self.lines > MAX_HEADER_LINES {
            return Err(Problem::new(
                codes::HEADERS_TOO_LARGE,
                format!("there are more than {MAX_HEADER_LINES} header lines"),
            ));
        }
        if self.bytes > MAX_HEADER_BYTES {
            return Err(Problem::new(
                codes::HEADERS_TOO_LARGE,
                format!("the headers have more than {MAX_HEADER_BYTES} bytes"),
            ));
        }
        Ok(())
    }
}

/// Returns the printable beginning of a text that a client sent, to show it in a problem.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(char::is_ascii_graphic).take(64).collect()
}

fn malformed(detail: impl Into<std::borrow::Cow<'static, str>>) -> Problem {
    Problem::new(codes::HEADER_MALFORMED, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;

    fn read<'a>(lines: &[(&'a str, &'a str)]) -> Result<Head<'a>, Code> {
        Head::read(lines.iter().map(|(name, value)| (*name, value.as_bytes()))).map_err(|p| p.code())
    }

    #[test]
    fn head_is_read_in_any_case() {
        let head = read(&[("X-Api-KEY", " k "), ("content-LENGTH", "12"), ("Content-Type", "a/b")]).unwrap();
        assert_eq!(
            (head.api_key, head.content_length, head.content_type),
            (Some("k"), Some(12), Some("a/b"))
        );
    }

    #[test]
    fn ambiguous_head_is_refused() {
        for lines in [
            &[("x-api-key", "a"), ("X-API-Key", "a")][..],
            &[("x-api-key", "a, b")],
            &[("x_api_key", "a")],
            &[("content-length", "1"), ("transfer-encoding", "chunked")],
            &[("content-length", "1"), ("content-length", "2")],
            &[("content-length", "+1")],
            &[("content-length", "")],
        ] {
            assert_eq!(read(lines), Err(codes::HEADER_MALFORMED), "{lines:?}");
        }
    }

    #[test]
    fn too_many_or_too_large_headers_are_refused() {
        assert_eq!(read(&[("a", "b"); MAX_HEADER_LINES + 1]), Err(codes::HEADERS_TOO_LARGE));
        assert!(read(&[("a", "b"); MAX_HEADER_LINES]).is_ok());
        assert_eq!(read(&[("a", &"b".repeat(MAX_HEADER_BYTES))]), Err(codes::HEADERS_TOO_LARGE));
    }

    #[test]
    fn other_expectation_is_417() {
        assert!(read(&[("expect", "100-Continue")]).is_ok());
        assert_eq!(read(&[("expect", "sorcery")]), Err(codes::EXPECTATION_FAILED));
    }

    #[test]
    fn length_beyond_u64_is_413() {
        let head = read(&[("content-length", "99999999999999999999999")]).unwrap();
        assert_eq!(head.check_length(MAX_BODY_BYTES).map_err(|p| p.code()), Err(codes::BODY_TOO_LARGE));
    }

    #[test]
    fn websocket_is_refused_and_other_upgrades_are_ignored() {
        for value in ["websocket", "WebSocket", "h2c, websocket", "websocket/13"] {
            assert_eq!(read(&[("upgrade", value)]), Err(codes::UPGRADE_UNSUPPORTED), "{value}");
        }
        for value in ["h2c", "TLS/1.2", "", "websockets"] {
            assert!(read(&[("upgrade", value)]).is_ok(), "{value}");
        }
    }

    #[test]
    fn patch_takes_a_merge_patch_and_post_does_not() {
        let head = Head {
            content_type: Some("application/merge-patch+json; charset=utf-8"),
            content_length: Some(2),
            ..Head::default()
        };
        assert_eq!(head.check_own_body("PATCH", &[]), Ok(()));
        assert!(head.check_own_body("POST", &[]).is_err());
        let other = Head { content_type: Some("text/plain"), ..head };
        let refusal = other.check_own_body("PATCH", &[]).unwrap_err();
        let refusal = refusal.render(&crate::request_id::RequestId([0; 16]));
        assert_eq!(refusal.header("accept"), Some("application/json, application/merge-patch+json"));
        assert_eq!(refusal.header("accept-patch"), Some("application/merge-patch+json, application/json"));
    }

    #[test]
    fn encoded_body_is_415_for_the_gateway_itself() {
        let head = |coding| Head {
            content_type: Some("application/json"),
            content_length: Some(2),
            content_encoding: Some(coding),
            ..Head::default()
        };
        for coding in ["identity", "", " Identity "] {
            assert_eq!(head(coding).check_own_body("POST", &[]), Ok(()), "{coding}");
        }
        for coding in ["gzip", "br, gzip", "\u{fffd}"] {
            let refusal = head(coding).check_own_body("POST", &[]).unwrap_err();
            let refusal = refusal.render(&crate::request_id::RequestId([0; 16]));
            assert_eq!((refusal.status, refusal.header("accept-encoding")), (415, Some("identity")));
            assert_eq!(head(coding).check_media_type(&[]), Ok(()), "a tool may know it");
        }
        assert_eq!(Head { content_length: None, ..head("gzip") }.check_own_body("POST", &[]), Ok(()));
    }

    #[test]
    fn body_of_a_get_is_refused_and_an_empty_one_is_not() {
        let head = |content_length, chunked| Head { content_length, chunked, ..Head::default() };
        for none in [head(None, false), head(Some(0), false)] {
            assert_eq!(none.check_get(), Ok(()), "{none:?}");
        }
        for (body, named) in
            [(head(Some(4), false), "Content-Length"), (head(None, true), "Transfer-Encoding")]
        {
            let refusal = body.check_get().unwrap_err();
            assert_eq!((refusal.status(), refusal.code().as_str()), (400, "header-malformed"));
            assert!(refusal.detail().starts_with(named), "{}", refusal.detail());
        }
    }

    #[test]
    fn body_of_another_type_is_415_unless_the_pool_takes_it() {
        let accepted = ["audio/*".to_owned(), "multipart/form-data".to_owned()];
        let check = |content_type| {
            Head { content_type, content_length: Some(1), ..Head::default() }.check_media_type(&accepted)
        };
        for taken in ["application/json; charset=utf-8", "audio/ogg", "multipart/form-data; boundary=x"] {
            assert!(check(Some(taken)).is_ok(), "{taken}");
        }
        for refused in [None, Some("text/plain"), Some("application/jsonp"), Some("audio")] {
            assert!(check(refused).is_err(), "{refused:?}");
        }
        let detail = check(Some("text/p\u{e9}lain<a b>; a=b")).unwrap_err().detail().to_owned();
        assert!(detail.contains("type `text/plain<ab>` is not accepted"), "{detail}");
        assert!(Head::default().check_media_type(&[]).is_ok(), "no body, no type");
    }
}
