//! Fetches a feed, which may come in several responses.

use biolink::fetch_url::{FetchPolicy, FetchUrl};
use biolink::product_feed::{Body, Download, DownloadStep, Encoding, FeedError};
use biolink::product_sync::{
    DOWNLOAD_TIMEOUT_MS, FETCH_TIMEOUT_MS, FetchError, Fetched, MAX_FEED_BYTES, SyncAttempt,
};
use biolink::visitor::PRODUCT_SYNC_AGENT;
use shared::time::UnixMillis;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{Array, Function, Object, Reflect, Uint8Array, global};

use crate::biolink::guarded_fetch::{self, BodyLimit, GuardedFetchError, GuardedRequest, GuardedResponse};
use crate::runtime::clock;

const ACCEPT: &str = "application/rss+xml, application/atom+xml, application/json, text/csv, text/tab-separated-values, */*;q=0.5";

/// Fetches the feed of an attempt. The URL is checked again, since rules and settings may have
/// changed.
///
/// # Errors
/// Returns what went wrong first.
pub(super) async fn fetch(attempt: &SyncAttempt, policy: &FetchPolicy) -> Result<Fetched, FetchError> {
    let settings = &attempt.settings;
    let deadline = clock::now().plus(DOWNLOAD_TIMEOUT_MS);
    let base = settings.store_url.as_ref().map(|url| url.as_str());
    let mut download = Download::new(&settings.url, settings.choice(), base, settings.price_rules());
    let is_single = download.is_single();
    loop {
        // Each part is checked, because the next URL comes from the feed itself.
        let url = FetchUrl::parse(&download.url(), policy)?;
        let mut headers = vec![("accept", ACCEPT), ("user-agent", PRODUCT_SYNC_AGENT)];
        // A validator is of one response. Of a feed in parts, a 304 to the first would hide changes
        // of the rest.
        if is_single {
            headers.extend(attempt.validators.iter().map(|(name, value)| (*name, value.as_str())));
        }
        let request = GuardedRequest {
            method: "GET",
            url: &url,
            headers: &headers,
            body: None,
            timeout_ms: FETCH_TIMEOUT_MS,
            limit: BodyLimit::AtMost(MAX_FEED_BYTES),
        };
        let response = guarded_fetch::send(&request).await.map_err(error_of)?;
        match response.status {
            200 => {}
            // A server that sends 304 without a condition has sent no feed.
            304 if is_single => return Ok(Fetched::NotModified),
            status => return Err(FetchError::Status { status, retry_after_ms: retry_after(&response) }),
        }
        // It is stored and sent back, so its length must have a bound.
        let validator = |name| response.header(name).filter(|value| is_single && value.len() <= 1_000);
        let (etag, last_modified) = (validator("etag"), validator("last-modified"));
        let content_type = response.header("content-type");
        let body = Body::read(&response.body, content_type.as_deref(), settings.encoding.as_deref())?;
        let text = match body {
            Body::Text(text) => text,
            Body::Encoded(encoding) => decode(&encoding, &response.body)?.into(),
        };
        match download.step(&text)? {
            // Each part has its own timeout. Without this one, a shop with many slow pages would
            // hold the alarm.
            DownloadStep::Next(_) if clock::now() > deadline => {
                return Err(FetchError::TimedOut { ms: DOWNLOAD_TIMEOUT_MS });
            }
            DownloadStep::Next(next) => download = next,
            DownloadStep::Complete(feed) => {
                return match FetchError::of_items(&feed) {
                    Some(error) => Err(error),
                    None => Ok(Fetched::Feed { feed, status: 200, etag, last_modified }),
                };
            }
        }
    }
}

fn error_of(error: GuardedFetchError) -> FetchError {
    match error {
        GuardedFetchError::TimedOut { ms } => FetchError::TimedOut { ms },
        GuardedFetchError::Connection { reason } => FetchError::Connection { reason },
        GuardedFetchError::BodyTooLarge { limit } => FetchError::TooLarge { limit },
    }
}

/// Returns `Retry-After` in milliseconds: seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(response: &GuardedResponse) -> Option<u64> {
    let text = response.header("retry-after")?;
    match text.trim().parse::<u64>() {
        Ok(seconds) => Some(seconds.saturating_mul(1_000)),
        Err(_) => UnixMillis::from_http_date(&text).map(|moment| moment.since(clock::now())),
    }
}

/// Returns the text of a body in this encoding, by the platform's `TextDecoder`, which has all encodings of WHATWG's
/// Encoding Standard. Bytes that are none in it are refused: with the decoder's
/// replacement characters, a page would show garbage.
///
/// Why: docs/decisions/products.md, "The platform decodes what is not UTF-8".
///
/// # Errors
/// If the platform does not know the encoding, or the body is not in it.
fn decode(encoding: &Encoding, body: &[u8]) -> Result<String, FeedError> {
    let decoder = decoder(encoding.label()).map_err(|_| encoding.unknown())?;
    let text = call(&decoder, body).ok().and_then(|text| text.as_string());
    text.ok_or_else(|| encoding.mismatch())
}

fn decoder(label: &str) -> Result<JsValue, JsValue> {
    let class: Function = Reflect::get(&global(), &"TextDecoder".into())?.dyn_into()?;
    let options = Object::new();
    // Without it, the decoder replaces what it cannot decode and reports nothing.
    Reflect::set(&options, &"fatal".into(), &true.into())?;
    Reflect::construct(&class, &Array::of2(&label.into(), &options))
}

fn call(decoder: &JsValue, body: &[u8]) -> Result<JsValue, JsValue> {
    let decode: Function = Reflect::get(decoder, &"decode".into())?.dyn_into()?;
    decode.call1(decoder, &Uint8Array::from(body))
}
