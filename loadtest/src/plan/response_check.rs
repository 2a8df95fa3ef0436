//! What a response must be beside its status. A server that answers anything with an empty 200 is found here.

use hyper::header::HeaderName;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::error::PlanErrorReason;
use super::template::{Escape, Fields, Template, Variables, substitute};
use crate::http::{Observed, Wanted};
use crate::record::CheckKind;
use crate::scenario::{CheckSpec, OneOrMany};

/// The bytes of a body that texts and JSON are looked for in.
pub(super) const MAX_KEPT_BYTES: usize = 4 << 20;
/// The characters of a body that a failure shows.
const SHOWN: usize = 120;

/// The check of a request's responses.
pub(crate) struct ResponseCheck {
    body_bytes: Option<u64>,
    sha256: Option<String>,
    contains: Vec<Template>,
    json: Vec<JsonCheck>,
    headers: Vec<(HeaderName, Template)>,
    events: Option<u32>,
}

/// A JSON path, and what all that it selects must or must not be. Without that, it selects something.
struct JsonCheck {
    text: String,
    path: JsonPath,
    value: Option<(Equality, Template)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Equality {
    Equal,
    NotEqual,
}

/// A check that failed, and what was expected and found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CheckFailure {
    pub(crate) kind: CheckKind,
    pub(crate) found: String,
}

impl ResponseCheck {
    /// Plans a check.
    ///
    /// # Errors
    /// Returns an error that names the part that is invalid.
    pub(super) fn new(spec: &CheckSpec, fields: Fields<'_>) -> Result<Self, PlanErrorReason> {
        let texts =
            |texts: &Option<OneOrMany>| texts.as_ref().map(OneOrMany::texts).unwrap_or_default().to_vec();
        let contains = texts(&spec.contains);
        let headers = spec.header.iter().map(|(name, value)| {
            let invalid = |_| PlanErrorReason::Header(format!("{name}: {value}"));
            Ok((HeaderName::try_from(name).map_err(invalid)?, Template::parse(value, fields, Escape::None)?))
        });
        Ok(Self {
            body_bytes: spec.body_bytes,
            sha256: spec.sha256.as_deref().map(digest).transpose()?,
            contains: contains
                .iter()
                .map(|text| Template::parse(text, fields, Escape::None))
                .collect::<Result<_, _>>()?,
            json: texts(&spec.json)
                .iter()
                .map(|text| JsonCheck::parse(&substitute(text, fields.variables), fields))
                .collect::<Result<_, _>>()?,
            headers: headers.collect::<Result<_, PlanErrorReason>>()?,
            events: spec.events,
        })
    }

    /// Returns what must be kept of a response.
    pub(super) const fn wanted(&self) -> Wanted {
        let has_text = !self.contains.is_empty() || !self.json.is_empty();
        Wanted { body: if has_text { MAX_KEPT_BYTES } else { 0 }, hash: self.sha256.is_some() }
    }

    /// Returns the first part that the response to call number `nth` fails.
    pub(super) fn failure(
        &self,
        nth: u64,
        captured: &Variables,
        response: &Observed<'_>,
    ) -> Option<CheckFailure> {
        let failure = |kind, found| Some(CheckFailure { kind, found });
        if let Some(expected) = self.body_bytes.filter(|&expected| expected != response.bytes) {
            return failure(CheckKind::BodyBytes, format!("{} bytes, expected {expected}", response.bytes));
        }
        if self.sha256.is_some() && self.sha256 != response.sha256 {
            let found = response.sha256.as_deref().unwrap_or_default();
            return failure(
                CheckKind::Sha256,
                format!("{found}, expected {}", self.sha256.as_deref().unwrap_or_default()),
            );
        }
        for (name, expected) in &self.headers {
            let expected = expected.render(nth, captured);
            let values = response.headers.get_all(name);
            // A header may come in several lines, of which one is the expected.
            if !values.iter().any(|value| String::from_utf8_lossy(value.as_bytes()).contains(&expected)) {
                let found: Vec<_> =
                    values.iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
                return failure(
                    CheckKind::Header,
                    format!("`{name}: {}`, expected `{expected}`", found.join(", ")),
                );
            }
        }
        if self.events.is_some() && self.events != response.events {
            let found = response
                .events
                .map_or_else(|| "no stream of events".to_owned(), |events| format!("{events} events"));
            return failure(
                CheckKind::Events,
                format!("{found}, expected {}", self.events.unwrap_or_default()),
            );
        }
        self.text_failure(nth, captured, response.body)
    }

    fn text_failure(&self, nth: u64, captured: &Variables, body: &[u8]) -> Option<CheckFailure> {
        let shown = || String::from_utf8_lossy(body).chars().take(SHOWN).collect::<String>();
        for expected in &self.contains {
            let expected = expected.render(nth, captured);
            if !contains(body, expected.as_bytes()) {
                let found = format!("`{}`, expected `{expected}` in it", shown());
                return Some(CheckFailure { kind: CheckKind::Contains, found });
            }
        }
        // A body that no check reads as JSON need not be JSON.
        if self.json.is_empty() {
            return None;
        }
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            let found = format!("`{}`, expected JSON", shown());
            return Some(CheckFailure { kind: CheckKind::Json, found });
        };
        let failed = self.json.iter().find_map(|check| check.failure(nth, captured, &value))?;
        Some(CheckFailure { kind: CheckKind::Json, found: failed })
    }
}

impl JsonCheck {
    /// Parses `PATH`, `PATH == VALUE` or `PATH != VALUE`.
    fn parse(text: &str, fields: Fields<'_>) -> Result<Self, PlanErrorReason> {
        let whole = JsonPath::parse(text.trim());
        let invalid = |reason: String| PlanErrorReason::JsonCheck { text: text.to_owned(), reason };
        let error = match whole {
            // The whole text first: the signs within a filter belong to the path.
            Ok(path) => return Ok(Self { text: text.to_owned(), path, value: None }),
            Err(error) => error,
        };
        // A filter within the path may have the same sign, and so may a text.
        let signs = text.match_indices("==").map(|(at, _)| (at, Equality::Equal));
        let signs = signs.chain(text.match_indices("!=").map(|(at, _)| (at, Equality::NotEqual)));
        let parsed = signs.filter_map(|(at, sign)| {
            let (path, value) = text.split_at_checked(at)?;
            Some((JsonPath::parse(path.trim()).ok()?, sign, value.get(2..)?.trim().to_owned()))
        });
        let Some((path, sign, value)) = parsed.into_iter().next() else {
            return Err(invalid(error.to_string()));
        };
        let value = Template::parse(&value, fields, Escape::Json)?;
        let sample = value.render(0, &Variables::new());
        // Texts need quotes. Without this, `$.status == ok` would fail in each call and blame the
        // gateway.
        serde_json::from_str::<Value>(&sample)
            .map_err(|_invalid| invalid(format!("`{sample}` is no JSON value")))?;
        Ok(Self { text: text.to_owned(), path, value: Some((sign, value)) })
    }

    /// Returns what was expected and found, if the check fails.
    fn failure(&self, nth: u64, captured: &Variables, body: &Value) -> Option<String> {
        let found = self.path.query(body).all();
        let Some((sign, value)) = &self.value else {
            return found.is_empty().then(|| format!("nothing at {}", self.text));
        };
        let expected: Value = serde_json::from_str(&value.render(nth, captured)).unwrap_or_default();
        let holds = |found: &&Value| is_same(found, &expected) == (*sign == Equality::Equal);
        // A path that selects nothing holds for all of it, and would pass with an empty body.
        if !found.is_empty() && found.iter().all(holds) {
            return None;
        }
        let list: Vec<String> = found.iter().map(|value| clipped(&value.to_string())).collect();
        let list = if list.is_empty() { "nothing".to_owned() } else { list.join(", ") };
        Some(format!("{list}, expected {}", clipped(&self.text)))
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// Compares values. A number is the same with and without a fraction of zero.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        // 1 and 1.0 are the same number in JSON, and two values of `serde_json`.
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    // `windows` panics at a length of 0.
    text.is_empty() || body.windows(text.len()).any(|window| window == text)
}

/// Returns a SHA-256 in lower-case hexadecimal digits.
fn digest(text: &str) -> Result<String, PlanErrorReason> {
    let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digest { Ok(text.to_ascii_lowercase()) } else { Err(PlanErrorReason::Digest(text.to_owned())) }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderMap;

    use super::*;
    use crate::plan::DataSets;

    fn failure(check: &str, body: &str) -> Option<(CheckKind, String)> {
        let spec: CheckSpec = toml::from_str(check).unwrap();
        let variables = Variables::from([("tool".to_owned(), "qr".to_owned())]);
        let fields = Fields { variables: &variables, data: &DataSets::new(), captured: &[] };
        let check = ResponseCheck::new(&spec, fields).map_err(|error| error.to_string()).unwrap();
        let headers = HeaderMap::from_iter([(
            hyper::header::CONTENT_TYPE,
            hyper::header::HeaderValue::from_static("application/json"),
        )]);
        let response = Observed {
            headers: &headers,
            body: body.as_bytes(),
            bytes: body.len() as u64,
            sha256: None,
            events: None,
        };
        check.failure(7, &Variables::new(), &response).map(|failure| (failure.kind, failure.found))
    }

    #[test]
    fn response_passes_or_fails_by_each_part() {
        const BODY: &str = r#"{"tool":"qr","n":7,"items":[{"a":1,"b":"x"},{"a":2,"b":"y"}]}"#;
        for check in [
            "body_bytes = 61",
            "contains = '\"tool\":\"{{tool}}\"'",
            "contains = ['tool', '\"n\":{{n}}']",
            "json = '$.tool == \"{{tool}}\"'",
            "json = '$.n == {{n}}'",
            "json = ['$.n != 8', '$.items', '$.items[*].a != 3', '$.n == 7.0']",
            "json = '$.items[?@.a == 2].b == \"y\"'",
            "json = '$.items[?@.a == 2]'",
            "header = { content-type = 'json' }",
        ] {
            assert_eq!(failure(check, BODY), None, "{check}");
        }
        for (check, kind, found) in [
            ("body_bytes = 5", CheckKind::BodyBytes, "61 bytes, expected 5"),
            ("contains = 'yt'", CheckKind::Contains, "expected `yt` in it"),
            ("json = '$.n == 8'", CheckKind::Json, "7, expected $.n == 8"),
            ("json = '$.items[*].a == 1'", CheckKind::Json, "1, 2, expected"),
            ("json = '$.none'", CheckKind::Json, "nothing at $.none"),
            ("json = '$.none != 1'", CheckKind::Json, "nothing, expected"),
            ("header = { content-type = 'text' }", CheckKind::Header, "expected `text`"),
            ("events = 10", CheckKind::Events, "no stream of events, expected 10"),
        ] {
            let failed = failure(check, BODY).unwrap();
            assert!(failed.0 == kind && failed.1.contains(found), "{check}: {failed:?}");
        }
        assert_eq!(failure("json = '$.a'", "").unwrap().0, CheckKind::Json);
    }

    #[test]
    fn check_that_cannot_be_is_error_that_names_it() {
        for (check, named) in [
            ("json = '.a == 1'", "`json = .a == 1`"),
            ("json = '$.a == x'", "`x` is no JSON value"),
            ("sha256 = 'abc'", "`sha256 = abc`"),
            ("header = { 'a b' = 'c' }", "`a b: c`"),
            ("contains = '{{nobody}}'", "{{nobody}}"),
        ] {
            let spec: CheckSpec = toml::from_str(check).unwrap();
            let fields = Fields { variables: &Variables::new(), data: &DataSets::new(), captured: &[] };
            let error = ResponseCheck::new(&spec, fields).err().unwrap().to_string();
            assert!(error.contains(named), "{check}: {error}");
        }
        assert!(toml::from_str::<CheckSpec>("body_byte = 5").is_err());
    }
}
