//! Requests to URLs of customers: no redirect is followed, and time and bytes are bounded.

use biolink::fetch_url::FetchUrl;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{self, Reflect, Uint8Array};
use worker::web_sys;

use crate::runtime::{clock, promise};

/// The first bytes of a file in gzip (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A request to a URL of a customer.
pub(crate) struct GuardedRequest<'a> {
    pub(crate) method: &'static str,
    pub(crate) url: &'a FetchUrl,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a [u8]>,
    /// Time for all of it, in milliseconds.
    pub(crate) timeout_ms: u64,
    pub(crate) limit: BodyLimit,
}

/// The limit on the decoded bytes of a response.
#[derive(Clone, Copy)]
pub(crate) enum BodyLimit {
    /// The first bytes are wanted, and the rest is not read. Of a body that breaks off or cannot be
    /// decoded, what was read is enough.
    Excerpt(usize),
    /// A longer body is an error, and so is one of a 2xx that cannot be read.
    AtMost(usize),
}

/// A response of a customer's server. A redirect (3xx) is one, and is not followed.
pub(crate) struct GuardedResponse {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    headers: web_sys::Headers,
}

/// A request without a response, or without all of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuardedFetchError {
    #[error("no response within {ms} ms")]
    TimedOut { ms: u64 },
    #[error("the connection failed: {reason}")]
    Connection { reason: String },
    #[error("the body is longer than {limit} bytes")]
    BodyTooLarge { limit: usize },
}

impl GuardedResponse {
    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name).ok().flatten()
    }
}

impl From<JsValue> for GuardedFetchError {
    fn from(thrown: JsValue) -> Self {
        let message = Reflect::get(&thrown, &"message".into()).ok().and_then(|text| text.as_string());
        Self::Connection { reason: message.unwrap_or_else(|| "unknown".to_owned()) }
    }
}

/// Sends a request. One that is in flight after its time is aborted.
///
/// # Errors
/// If no response arrives in time, or the body that is wanted breaks off or is too long.
pub(crate) async fn send(request: &GuardedRequest<'_>) -> Result<GuardedResponse, GuardedFetchError> {
    let controller = web_sys::AbortController::new()?;
    let began = clock::now();
    let outcome = in_time(request, request.timeout_ms, head(request, &controller.signal())).await;
    let response = outcome.inspect_err(|_| controller.abort())?;
    let status = response.status();
    let mut body = Vec::new();
    // One time for both. A server that sends a byte now and then would otherwise hold the request
    // for ever.
    let rest_ms = request.timeout_ms.saturating_sub(clock::now().since(began));
    let outcome = in_time(request, rest_ms, read_whole(&response, request.limit, &mut body)).await;
    if let Err(error) = outcome {
        controller.abort();
        // The status is known, and says what the server did. Only a body that is the answer is missed.
        if matches!(request.limit, BodyLimit::AtMost(_)) && (200..=299).contains(&status) {
            return Err(error);
        }
    }
    Ok(GuardedResponse { status, body, headers: response.headers() })
}

/// Awaits a step of a request for the time that it has left.
async fn in_time<T>(
    request: &GuardedRequest<'_>,
    ms: u64,
    step: impl Future<Output = Result<T, GuardedFetchError>>,
) -> Result<T, GuardedFetchError> {
    let outcome = promise::timeout(ms, step).await;
    outcome.unwrap_or(Err(GuardedFetchError::TimedOut { ms: request.timeout_ms }))
}

/// Sends a request. Returns its response as soon as it has the header.
async fn head(
    request: &GuardedRequest<'_>,
    signal: &web_sys::AbortSignal,
) -> Result<web_sys::Response, GuardedFetchError> {
    let init = web_sys::RequestInit::new();
    init.set_method(request.method);
    // A redirect would lead to a host that no rule has checked, such as one of the gateway's own.
    init.set_redirect(web_sys::RequestRedirect::Manual);
    // What a customer's server says is of this moment. A copy would hide that a feed has changed.
    init.set_cache(web_sys::RequestCache::NoStore);
    init.set_signal(Some(signal));
    let headers = web_sys::Headers::new()?;
    for (name, value) in request.headers {
        headers.append(name, value)?;
    }
    init.set_headers(&headers);
    if let Some(body) = request.body {
        init.set_body(&Uint8Array::from(body));
    }
    let sent = web_sys::Request::new_with_str_and_init(request.url.as_str(), &init)?;
    let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    Ok(promise::settled(scope.fetch_with_request(&sent)).await?.dyn_into()?)
}

/// Reads a body up to its limit into `bytes`, decompressed if it is a file in gzip.
async fn read_whole(
    response: &web_sys::Response,
    limit: BodyLimit,
    bytes: &mut Vec<u8>,
) -> Result<(), GuardedFetchError> {
    read(response, limit, bytes).await?;
    if matches!(limit, BodyLimit::AtMost(_)) && bytes.starts_with(&GZIP) {
        // With the same limit: a small file may decompress to gigabytes.
        *bytes = decompressed(bytes, limit).await?;
    }
    Ok(())
}

/// Decompresses a body that is a file in gzip, such as `feed.xml.gz`. The runtime has already
/// decompressed one that its server has encoded.
async fn decompressed(body: &[u8], limit: BodyLimit) -> Result<Vec<u8>, GuardedFetchError> {
    let stream = web_sys::Response::new_with_opt_buffer_source(Some(&Uint8Array::from(body)))?.body();
    let stream = stream.ok_or(JsValue::UNDEFINED)?;
    let class: js_sys::Function =
        Reflect::get(&js_sys::global(), &"DecompressionStream".into())?.dyn_into()?;
    let gunzip = Reflect::construct(&class, &js_sys::Array::of1(&"gzip".into()))?;
    let stream = stream.pipe_through(gunzip.unchecked_ref());
    let mut bytes = Vec::new();
    read(&web_sys::Response::new_with_opt_readable_stream(Some(&stream))?, limit, &mut bytes).await?;
    Ok(bytes)
}

/// Reads a body up to its limit into `bytes`, and cancels the rest.
async fn read(
    response: &web_sys::Response,
    limit: BodyLimit,
    bytes: &mut Vec<u8>,
) -> Result<(), GuardedFetchError> {
    let Some(stream) = response.body() else { return Ok(()) };
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let (BodyLimit::Excerpt(max) | BodyLimit::AtMost(max)) = limit;
    loop {
        let result = promise::settled(reader.read()).await?;
        let member = |name: &str| Reflect::get(&result, &name.into()).unwrap_or_default();
        if member("done").is_truthy() {
            return Ok(());
        }
        let chunk: Uint8Array = member("value").dyn_into()?;
        let space = max.saturating_sub(bytes.len());
        let fits = u32::try_from(space).unwrap_or(u32::MAX);
        bytes.extend(chunk.subarray(0, fits.min(chunk.byte_length())).to_vec());
        if chunk.byte_length() > fits {
            // The rest would go on arriving, and hold one of the six connections.
            promise::detach(reader.cancel());
            return match limit {
                BodyLimit::Excerpt(_) => Ok(()),
                BodyLimit::AtMost(limit) => Err(GuardedFetchError::BodyTooLarge { limit }),
            };
        }
    }
}
