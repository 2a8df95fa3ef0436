//! The endpoint that an owner writes.
//!
//! Why: docs/decisions/products.md, "Products and endpoints have a struct for each form".

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use shared::{
    fields::{Fields, Hints, TypeError, merge, text},
    problem::Problem,
    url::Address,
};

use super::{Endpoint, describe, rotation::parse_secret};
use crate::{
    fetch_url::{FetchPolicy, FetchUrl},
    page::{InvalidValue, PageId, boolean, name_of, parse_metadata, plain_text},
    webhooks::{KindSet, Mode, WebhookKind, WebhookSecret},
};

/// Most headers that an endpoint adds to its requests.
pub const MAX_HEADERS: usize = 5;
/// Most pages that an endpoint names: more than an account can have.
pub const MAX_PAGES: usize = 100;
/// Characters of a description.
pub const MAX_DESCRIPTION: usize = 200;
const MAX_HEADER_NAME: usize = 64;
/// Bytes of the value of a header.
pub const MAX_HEADER_VALUE: usize = 1_024;

/// Headers that describe the request itself, or one hop of it (RFC 9110, section 7.6.1).
const RESERVED: [&str; 17] = [
    "accept-encoding",
    "connection",
    "cookie",
    "date",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
];
const RESERVED_PREFIXES: [&str; 5] = ["webhook-", "content-", "cf-", "x-forwarded-", "sec-"];

/// Members of an endpoint that a response has and a request may repeat.
pub const READ_ONLY: &[&str] = &[
    "id",
    "object",
    "status",
    "disabled_reason",
    "disabled_at",
    "health",
    "warnings",
    "secret_expirations",
    "header_names",
    "created_at",
    "updated_at",
];

const HINTS: Hints = &[
    ("endpoint", "the address is `url`"),
    ("target_url", "the address is `url`"),
    ("callback_url", "the address is `url`"),
    ("name", "write `description`"),
    ("types", "write `events`: an array of kinds"),
    ("event_types", "write `events`: an array of kinds"),
    ("filter_types", "write `events`: an array of kinds"),
    ("pages", "write `page_ids`: an array of ids, or null for all pages"),
    ("page_id", "write `page_ids`: an array of ids, or null for all pages"),
    ("active", "write `enabled`"),
    ("disabled", "write `enabled`: false"),
    ("pull", "write `url`: null"),
    ("batch", "write `mode`: \"batch\""),
    ("throttle_rate", "there is no limit on the rate; `mode`: \"batch\" sends fewer requests"),
    ("signing_secret", "write `secret`: \"whsec_…\", or leave it out for a new one"),
];

/// The members of an endpoint that an owner writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointInput {
    /// The address; `None` if events are only to be logged.
    pub url: Option<FetchUrl>,
    /// A note; empty for none.
    pub description: String,
    /// The kinds, at least one.
    pub kinds: KindSet,
    /// The pages; `None` for all.
    pub pages: Option<Vec<PageId>>,
    /// Whether it is to get anything.
    pub enabled: bool,
    /// The way in which it gets events.
    pub mode: Mode,
    /// Headers for each request, by name in lower case.
    pub headers: BTreeMap<String, String>,
    /// The owner's notes.
    pub metadata: BTreeMap<String, String>,
    /// The secret that the owner brings; `None` for a new random one. A change never has one.
    pub secret: Option<WebhookSecret>,
}

impl EndpointInput {
    /// Reads the body of `POST /webhooks`. `known` are the pages of the account.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every error.
    pub fn create(body: &[u8], policy: &FetchPolicy, known: &[PageId]) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let secret = fields.nullable("secret", parse_secret);
        Self::read(fields, policy, known, secret)
    }

    /// Reads the body of `PATCH /webhooks/{id}`, a merge patch (RFC 7396). `known` are the pages of the
    /// account, and `headers` those of the endpoint, of which none goes to another host unless the patch
    /// has it. Pages that the endpoint has may stay, though they were deleted.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every error.
    pub fn patch(
        endpoint: &Endpoint,
        headers: &BTreeMap<String, String>,
        body: &[u8],
        policy: &FetchPolicy,
        known: &[PageId],
    ) -> Result<Self, Problem> {
        let known = [known, endpoint.pages.as_deref().unwrap_or_default()].concat();
        let (mut merged, mut patch) = (describe::writable(endpoint), Fields::read(body)?.into_members());
        name_headers_in_lower_case(&mut patch);
        // Their values are not in what a response shows. Without them, a patch of one would drop
        // the others.
        merged.insert("headers".to_owned(), describe::texts(headers));
        let is_url_null = patch.get("url").is_some_and(Value::is_null);
        let url = patch.get("url").and_then(Value::as_str).and_then(|url| FetchUrl::parse(url, policy).ok());
        let leads_elsewhere = url.is_some_and(|url| !is_same_origin(url.as_str(), endpoint.url.as_deref()));
        let missing = if leads_elsewhere { headers_to_send_again(&patch, headers) } else { Vec::new() };
        merge(&mut merged, patch);
        if is_url_null {
            // A merge patch removes what is null, but no address is a wish.
            merged.insert("url".to_owned(), Value::Null);
        }
        let mut fields = Fields::of(merged);
        if !missing.is_empty() {
            let names = missing.join(", ");
            fields.add_error(
                "headers",
                format!(
                    "lacks {names}, which would go to another host: send each again, or null to remove it"
                ),
            );
        }
        Self::read(fields, policy, &known, None)
    }

    fn read(
        mut fields: Fields,
        policy: &FetchPolicy,
        known: &[PageId],
        secret: Option<WebhookSecret>,
    ) -> Result<Self, Problem> {
        fields.hint(HINTS);
        fields.ignore(READ_ONLY);
        let url = fields.required("url", |value| match value.is_null() {
            true => Ok(None),
            false => FetchUrl::parse(text(value)?, policy)
                .map(Some)
                .map_err(|error| InvalidValue::from(error.to_string())),
        });
        let kinds = fields.required("events", parse_kinds);
        let description = fields.nullable("description", |value| plain_text(value, 0, MAX_DESCRIPTION));
        let pages = fields.nullable("page_ids", |value| parse_pages(value, known));
        let enabled = fields.nullable("enabled", boolean);
        let mode = fields.nullable("mode", name_of::<Mode>);
        let headers = fields.nullable_object("headers", read_headers);
        let metadata = fields.nullable("metadata", parse_metadata);
        fields.finish()?;
        // `finish` has refused already if one is missing.
        let (Some(url), Some(kinds)) = (url, kinds) else { return Err(Problem::invalid_fields(&[])) };
        Ok(Self {
            url,
            description: description.unwrap_or_default(),
            kinds,
            pages,
            enabled: enabled.unwrap_or(true),
            mode: mode.unwrap_or_default(),
            headers: headers.unwrap_or_default(),
            metadata: metadata.unwrap_or_default(),
            secret,
        })
    }
}

/// Names headers as they are stored. A patch of `Authorization` would be merged beside `authorization` and lose to it.
fn name_headers_in_lower_case(patch: &mut Map<String, Value>) {
    if let Some(Value::Object(headers)) = patch.get_mut("headers") {
        *headers = std::mem::take(headers)
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
    }
}

/// Returns the names of the headers that a merge patch neither sets nor removes.
fn headers_to_send_again<'h>(
    patch: &Map<String, Value>,
    headers: &'h BTreeMap<String, String>,
) -> Vec<&'h str> {
    let sent = match patch.get("headers") {
        Some(Value::Object(sent)) => Some(sent),
        // All are removed, so that none goes anywhere.
        Some(Value::Null) => return Vec::new(),
        _ => None,
    };
    headers
        .keys()
        .map(String::as_str)
        .filter(|name| !sent.is_some_and(|sent| sent.contains_key(*name)))
        .collect()
}

/// Returns true if two addresses have scheme, host and port in common. No address has them with none: who
/// may not lead headers elsewhere may not do it in two steps.
fn is_same_origin(url: &str, other: Option<&str>) -> bool {
    let base = |url| Some(Address::parse(url)?.base);
    base(url).is_some() && base(url) == other.and_then(base)
}

/// Reads the body of `POST /webhooks/{id}/test`: the kind of the sample.
///
/// # Errors
/// Returns `body-malformed`, or `fields-invalid` with every error.
pub fn read_test(body: &[u8]) -> Result<WebhookKind, Problem> {
    let mut fields = Fields::read(body)?;
    let kind = fields.required("type", name_of::<WebhookKind>);
    fields.finish()?;
    // `finish` has refused already if there is none.
    kind.ok_or_else(|| Problem::invalid_fields(&[]))
}

fn parse_kinds(value: &Value) -> Result<KindSet, InvalidValue> {
    let names = value.as_array().ok_or_else(|| TypeError::new("an array", value))?;
    if names.is_empty() {
        return Err(format!("is empty; name at least one of {}", WebhookKind::names()).into());
    }
    let kind = |name: &Value| {
        let kind = name.as_str().and_then(|name| name.parse::<WebhookKind>().ok());
        kind.ok_or_else(|| format!("must be an array of {}", WebhookKind::names()).into())
    };
    names.iter().map(kind).collect()
}

fn parse_pages(value: &Value, known: &[PageId]) -> Result<Vec<PageId>, InvalidValue> {
    let expected =
        || format!("must be null for all pages, or an array of 1 to {MAX_PAGES} ids such as pg_…, each once");
    let ids = value.as_array().filter(|ids| (1..=MAX_PAGES).contains(&ids.len())).ok_or_else(expected)?;
    let mut pages = Vec::with_capacity(ids.len());
    for id in ids {
        let page = id.as_str().and_then(PageId::parse).filter(|page| !pages.contains(page));
        let page = page.ok_or_else(expected)?;
        // Otherwise an endpoint could wait for the events of a page that nobody can have.
        if !known.contains(&page) {
            return Err(format!("has {page}, which is no page of the account").into());
        }
        pages.push(page);
    }
    Ok(pages)
}

fn read_headers(fields: &mut Fields) -> BTreeMap<String, String> {
    let members = fields.take_members();
    if members.len() > MAX_HEADERS {
        let detail = format!("has {} headers; at most {MAX_HEADERS} are allowed", members.len());
        fields.add_object_error(detail);
        return BTreeMap::new();
    }
    let mut headers = BTreeMap::new();
    for (name, value) in members {
        match parse_header(&name, &value) {
            Ok(value) => drop(headers.insert(name.to_ascii_lowercase(), value)),
            Err(error) => fields.add_error(&name, error.to_string()),
        }
    }
    headers
}

fn parse_header(name: &str, value: &Value) -> Result<String, InvalidValue> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !(1..=MAX_HEADER_NAME).contains(&name.len()) || !name.bytes().all(is_token) {
        return Err(format!("must be the name of a header, of at most {MAX_HEADER_NAME} characters").into());
    }
    let lower = name.to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) || RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
    {
        return Err("is set by the gateway and cannot be changed".into());
    }
    let value = text(value)?.trim();
    // A line break would begin another header (RFC 9110, section 5.5).
    let is_visible = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if value.is_empty() || value.len() > MAX_HEADER_VALUE || !is_visible {
        return Err(format!("must have 1 to {MAX_HEADER_VALUE} visible ASCII characters").into());
    }
    Ok(value.to_owned())
}

impl Endpoint {
    /// Returns what its owner may write, in the form in which it is written.
    pub fn writable(&self) -> Map<String, Value> {
        describe::writable(self)
    }
}
