//! Outcome → response: the only place that builds one for a client.

#[cfg(feature = "pages")]
use biolink::codes;
#[cfg(feature = "pages")]
use biolink::page::problem_notice;
use portal::endpoint::Endpoint;
#[cfg(feature = "pages")]
use portal::endpoint::is_shown_as_page;
use portal::route::ConsoleFile;
use shared::headers::{self, Header};
use shared::method::Method;
#[cfg(not(feature = "pages"))]
use shared::problem::codes;
use shared::problem::{Code, Problem};
use shared::quota::CLIENT_LEFT_STATUS;
use shared::response::Response;
use shared::url::Address;
use worker::js_sys::Promise;
use worker::web_sys;

use crate::access_log::{Called, Ended};
use crate::caller::{Answer, Caller};
use crate::runtime::client_request::ClientRequest;
use crate::runtime::streamed_response::StreamedResponse;
use crate::runtime::{calls, clock};

/// A response for a client.
pub(crate) enum ClientResponse {
    /// A response of the gateway itself.
    Own(Response<Vec<u8>>),
    /// A response whose body is streamed, a tool's for instance, and the headers to set on it.
    Streamed { response: StreamedResponse, headers: Vec<Header> },
}

/// A handled request: its outcome, and what is known of the call that it is or stands for, and of who sends it.
pub(crate) struct Handled {
    pub(crate) outcome: Result<ClientResponse, Problem>,
    pub(crate) called: Called,
    pub(crate) caller: Caller,
}

impl<T: Into<ClientResponse>> From<Result<T, Problem>> for Handled {
    fn from(outcome: Result<T, Problem>) -> Self {
        Caller::default().answer(outcome).into()
    }
}

impl<T: Into<ClientResponse>> From<Answer<T>> for Handled {
    fn from(answer: Answer<T>) -> Self {
        let (outcome, caller) = match answer {
            Ok(found) => (Ok(found.value.into()), found.caller),
            Err(found) => (Err(found.value), found.caller),
        };
        Self { outcome, called: Called::default(), caller }
    }
}

impl From<Problem> for Handled {
    fn from(problem: Problem) -> Self {
        Self { outcome: Err(problem), called: Called::default(), caller: Caller::default() }
    }
}

impl From<Response<Vec<u8>>> for ClientResponse {
    fn from(response: Response<Vec<u8>>) -> Self {
        Self::Own(response)
    }
}

impl From<Response> for ClientResponse {
    fn from(response: Response) -> Self {
        Self::Own(response.into_bytes())
    }
}

impl ClientResponse {
    /// Returns what stands in the access log for the response to a client that has left.
    pub(crate) fn to_nobody() -> Self {
        Self::Own(Response { status: CLIENT_LEFT_STATUS, ..Response::no_content().into_bytes() })
    }

    /// Returns the code of the problem that the response is: one that an object has rendered, or that a
    /// proxy has refused a call with. `None` for a response that is no problem, or that has a code of a newer version.
    fn problem(&self) -> Option<Code> {
        let code = match self {
            Self::Own(own) => own.header(headers::PROBLEM),
            Self::Streamed { headers, .. } => {
                headers.iter().find(|(name, _)| name == headers::PROBLEM).map(|(_, code)| &**code)
            }
        };
        code.and_then(codes::parse)
    }
}

/// Returns the code of the problem that an outcome is, whether the request failed with it or it was
/// rendered elsewhere.
pub(crate) fn problem_of(outcome: &Result<ClientResponse, Problem>) -> Option<Code> {
    match outcome {
        Ok(response) => response.problem(),
        Err(problem) => Some(problem.code()),
    }
}

/// Returns true if a response can have its end held back until an unread body is drained: one of our own with a
/// body. The client has the whole of it by its length before that.
pub(crate) fn can_linger(request: &ClientRequest, outcome: &Result<ClientResponse, Problem>) -> bool {
    let has_body = match outcome {
        Ok(ClientResponse::Own(own)) => !own.body.is_empty(),
        Ok(ClientResponse::Streamed { .. }) => false,
        Err(_) => true,
    };
    // Without a body the response has ended with its headers, and there is no end to hold back.
    has_body && request.method != Method::Head.as_str()
}

/// Returns the response to send to a request of an endpoint, whose URL has this address, and the end of the request for
/// its log line. If the response can linger, it ends once the body of the request is `drained`.
///
/// # Errors
/// If the runtime refuses to build it.
pub(crate) fn render<'a>(
    (outcome, called): (Result<ClientResponse, Problem>, &'a Called),
    endpoint: Option<Endpoint>,
    (request, address): (&ClientRequest, Option<Address<'_>>),
    drained: Option<&Promise>,
) -> worker::Result<(web_sys::Response, Ended<'a>)> {
    let code = problem_of(&outcome).or_else(|| called.result?.code);
    let response = outcome.unwrap_or_else(|problem| {
        #[cfg(feature = "pages")]
        let rendered = match is_shown_as_page(endpoint, request.header("accept")) {
            true => problem_notice(&problem, &request.id),
            false => problem.render(&request.id),
        };
        // Without pages, no problem is shown as one, whatever the endpoint.
        #[cfg(not(feature = "pages"))]
        let (rendered, _) = (problem.render(&request.id), endpoint);
        rendered.into()
    });
    let timing = server_timing(request, called);
    let (status, response) = match response {
        ClientResponse::Own(own) => {
            let status = called.result.map_or(own.status, |result| result.status);
            (status, render_own(own, (request, address), drained, &timing)?)
        }
        ClientResponse::Streamed { response, headers } => {
            let rendered = render_streamed(&response, &headers, (request, address), &timing)?;
            (response.status, rendered)
        }
    };
    Ok((response, Ended { status, code, called }))
}

fn render_own(
    own: Response<Vec<u8>>,
    asked: (&ClientRequest, Option<Address<'_>>),
    drained: Option<&Promise>,
    timing: &str,
) -> worker::Result<web_sys::Response> {
    let mut lines = HeaderLines::after([timing]);
    lines.add("x-content-type-options", "nosniff");
    own.headers.iter().for_each(|(name, value)| lines.add(name, value));
    add_common(&mut lines, asked, own.headers.iter().any(|(name, _)| *name == headers::HSTS.0));
    let mut body = own.body;
    // A 204 has no body, not even an empty one. The runtime copies the bytes before it returns.
    let body = (!body.is_empty()).then_some(body.as_mut_slice());
    Ok(calls::respond(own.status, &lines.0, body, drained)?)
}

/// Returns the response's status, body and headers, without headers that must not reach the client.
fn render_streamed(
    response: &StreamedResponse,
    headers: &[Header],
    asked: (&ClientRequest, Option<Address<'_>>),
    timing: &str,
) -> worker::Result<web_sys::Response> {
    let dropped: Vec<_> =
        response.headers().map(|(name, _)| name).filter(|name| !headers::reaches_client(name)).collect();
    let mut lines = HeaderLines::after([timing, &dropped.join(",")]);
    headers.iter().for_each(|(name, value)| lines.add(name, value));
    add_common(&mut lines, asked, response.header(headers::HSTS.0).is_some());
    Ok(calls::relay(&response.raw, &lines.0)?)
}

/// Adds the headers that every response has. Those that let pages of any site read it are left out for
/// the console.
fn add_common(
    lines: &mut HeaderLines,
    (request, address): (&ClientRequest, Option<Address<'_>>),
    has_hsts: bool,
) {
    // The console answers to a cookie. With these headers any page could read what it shows.
    if !address.is_some_and(|address| ConsoleFile::is_console(address.target)) {
        headers::CORS.iter().for_each(|(name, value)| lines.add(name, value));
    }
    if !has_hsts && address.is_some_and(|address| address.is_secure()) {
        lines.add(headers::HSTS.0, headers::HSTS.1);
    }
    lines.add(headers::REQUEST_ID, &request.id.to_string());
}

/// Headers to set: names and values, one a line, after lines of another meaning.
struct HeaderLines(String);

impl HeaderLines {
    fn after<const N: usize>(first: [&str; N]) -> Self {
        let mut lines = Self(String::with_capacity(1_024));
        first.into_iter().for_each(|line| lines.push(line));
        lines
    }

    /// Adds a header. Leaves out one whose value would be several lines, which no header is.
    fn add(&mut self, name: &str, value: &str) {
        // A line break would begin a header that somebody else has written.
        if !value.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
            self.push(name);
            self.push(value);
        }
    }

    fn push(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }
}

fn server_timing(request: &ClientRequest, called: &Called) -> String {
    let (edge_ms, origin_ms) = called.path.durations(request, clock::now());
    match origin_ms {
        Some(origin_ms) => format!("edge;dur={edge_ms}, origin;dur={origin_ms}"),
        None => format!("edge;dur={edge_ms}"),
    }
}
