//! Requests to URLs of customers: no redirect is followed, and time and bytes are bounded.

use biolink::fetch_url::{FetchUrl, FinalHead, is_informational};
use shared::time::UnixMillis;
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
    /// The first bytes are wanted, and the rest is not read. Of a body that is cut off or cannot be
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

/// The reader of a response's body; it has none if there is no body.
struct BodyReader(Option<web_sys::ReadableStreamDefaultReader>);

impl BodyLimit {
    const fn bytes(self) -> usize {
        let (Self::Excerpt(max) | Self::AtMost(max)) = self;
        max
    }

    /// Returns true if the caller needs the body, so that a status without it is a failure.
    fn is_answer(self, status: u16) -> bool {
        matches!(self, Self::AtMost(_)) && (200..=299).contains(&status)
    }
}

impl BodyReader {
    fn of(response: &web_sys::Response) -> Self {
        Self(response.body().map(|stream| stream.get_reader().unchecked_into()))
    }

    /// Returns the next bytes; `None` at the end of the body.
    async fn next(&mut self) -> Result<Option<Uint8Array>, GuardedFetchError> {
        let Some(reader) = &self.0 else { return Ok(None) };
        let result = promise::settled(reader.read()).await?;
        let member = |name: &str| Reflect::get(&result, &name.into()).unwrap_or_default();
        match member("done").is_truthy() {
            true => Ok(None),
            false => Ok(Some(member("value").dyn_into()?)),
        }
    }

    fn cancel(&self) {
        if let Some(reader) = &self.0 {
            promise::detach(reader.cancel());
        }
    }
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
/// If no response arrives in time, or the body that is wanted is cut off or is too long.
pub(crate) async fn send(request: &GuardedRequest<'_>) -> Result<GuardedResponse, GuardedFetchError> {
    let controller = web_sys::AbortController::new()?;
    let outcome = exchange(request, &controller).await;
    outcome.inspect_err(|_| controller.abort())
}

async fn exchange(
    request: &GuardedRequest<'_>,
    controller: &web_sys::AbortController,
) -> Result<GuardedResponse, GuardedFetchError> {
    let deadline = clock::now().plus(request.timeout_ms);
    let response = in_time(request, deadline, head(request, &controller.signal())).await?;
    let mut reader = BodyReader::of(&response);
    let first = response.status();
    let (status, headers, mut body, limit) = match is_informational(first) {
        false => (first, response.headers(), Vec::new(), request.limit),
        true => {
            let behind = read_final_head(&mut reader, first);
            let (head, rest) = in_time(request, deadline, behind).await?;
            if request.limit.is_answer(head.status) {
                return Err(interrupted(first, "whose body this runtime cannot read"));
            }
            // Its body is in raw bytes. An excerpt of one in chunks or encoded would be no text.
            let len = head.plain_len().unwrap_or(0).min(request.limit.bytes());
            let rest = rest.into_iter().take(len).collect();
            (head.status, headers_of(&head)?, rest, BodyLimit::Excerpt(len))
        }
    };
    // One time for both. A server that sends a byte now and then would otherwise hold the request
    // for ever.
    let outcome = in_time(request, deadline, read_whole(&mut reader, limit, &mut body)).await;
    if let Err(error) = outcome {
        controller.abort();
        // The status is known, and says what the server did. Only a body that is the answer is missed.
        if limit.is_answer(status) {
            return Err(error);
        }
    }
    Ok(GuardedResponse { status, body, headers })
}

/// Reads the response that follows an informational one: its head, and the bytes of its body that came with
/// it.
async fn read_final_head(
    reader: &mut BodyReader,
    first: u16,
) -> Result<(FinalHead, Vec<u8>), GuardedFetchError> {
    let mut bytes = Vec::new();
    loop {
        let found = FinalHead::find(&bytes);
        if let Some(head) =
            found.map_err(|error| GuardedFetchError::Connection { reason: error.to_string() })?
        {
            let rest = bytes.split_off(head.len.min(bytes.len()));
            return Ok((head, rest));
        }
        match reader.next().await? {
            Some(chunk) => bytes.extend(chunk.to_vec()),
            None => return Err(interrupted(first, "and ended the connection before it")),
        }
    }
}

fn interrupted(status: u16, rest: &str) -> GuardedFetchError {
    let reason = format!("the server sent an informational response ({status}) before its response, {rest}");
    GuardedFetchError::Connection { reason }
}

fn headers_of(head: &FinalHead) -> Result<web_sys::Headers, GuardedFetchError> {
    let headers = web_sys::Headers::new()?;
    for (name, value) in &head.headers {
        // A header that the runtime refuses is none that is read here.
        let _refused = headers.append(name, value);
    }
    Ok(headers)
}

/// Awaits a step of a request until its deadline.
async fn in_time<T>(
    request: &GuardedRequest<'_>,
    deadline: UnixMillis,
    step: impl Future<Output = Result<T, GuardedFetchError>>,
) -> Result<T, GuardedFetchError> {
    let outcome = promise::timeout(deadline.since(clock::now()), step).await;
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
    reader: &mut BodyReader,
    limit: BodyLimit,
    bytes: &mut Vec<u8>,
) -> Result<(), GuardedFetchError> {
    read(reader, limit, bytes).await?;
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
    let mut reader = BodyReader::of(&web_sys::Response::new_with_opt_readable_stream(Some(&stream))?);
    let mut bytes = Vec::new();
    read(&mut reader, limit, &mut bytes).await?;
    Ok(bytes)
}

/// Reads a body up to its limit into `bytes`, and cancels the rest.
async fn read(
    reader: &mut BodyReader,
    limit: BodyLimit,
    bytes: &mut Vec<u8>,
) -> Result<(), GuardedFetchError> {
    let max = limit.bytes();
    loop {
        // An excerpt that is full waits for nothing more: a connection may stay open after its body.
        if matches!(limit, BodyLimit::Excerpt(_)) && bytes.len() >= max {
            reader.cancel();
            return Ok(());
        }
        let Some(chunk) = reader.next().await? else { return Ok(()) };
        let space = max.saturating_sub(bytes.len());
        let fits = u32::try_from(space).unwrap_or(u32::MAX);
        bytes.extend(chunk.subarray(0, fits.min(chunk.byte_length())).to_vec());
        if chunk.byte_length() > fits && matches!(limit, BodyLimit::AtMost(_)) {
            // The rest would continue arriving, and hold one of the six connections.
            reader.cancel();
            return Err(GuardedFetchError::BodyTooLarge { limit: max });
        }
    }
}
