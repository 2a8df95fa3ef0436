//! Outcome → response: the only place that builds one for a client.

use shared::{
    headers::{self, Header},
    problem::Problem,
    response::Response,
    transport::Address,
};
use worker::web_sys;

use crate::{clock, incoming::Incoming, log::Line};

/// What a client is answered.
pub(crate) enum Answer {
    /// A text of the gateway's own.
    Own(Response),
    /// A tool's answer: its body is handed on as the stream it is.
    Passed { response: web_sys::Response, headers: Vec<Header> },
}

/// The response to send. It fails only if the runtime refuses to build it.
pub(crate) fn render(
    outcome: Result<Answer, Problem>,
    incoming: &Incoming,
    line: &mut Line,
) -> worker::Result<web_sys::Response> {
    let answer = outcome.unwrap_or_else(|problem| {
        line.code = Some(problem.code().as_str());
        Answer::Own(problem.render(&incoming.id))
    });
    let response = match answer {
        Answer::Own(text) => own(&text)?,
        Answer::Passed { response, headers } => passed(&response, &headers)?,
    };
    line.status = response.status();
    let headers = response.headers();
    for (name, value) in headers::CORS {
        headers.set(name, value)?;
    }
    let (hsts, age) = headers::HSTS;
    if Address::parse(&incoming.url).is_some_and(|address| address.is_secure()) && !headers.has(hsts)? {
        headers.set(hsts, age)?;
    }
    headers.set(headers::REQUEST_ID, &incoming.id.to_string())?;
    headers.append(headers::SERVER_TIMING, &server_timing(incoming, line))?;
    Ok(response)
}

fn own(text: &Response) -> worker::Result<web_sys::Response> {
    let init = web_sys::ResponseInit::new();
    init.set_status(text.status);
    // A 204 has no body, not even an empty one.
    let body = (!text.body.is_empty()).then_some(text.body.as_str());
    let response = web_sys::Response::new_with_opt_str_and_init(body, &init)?;
    response.headers().set("x-content-type-options", "nosniff")?;
    set_all(&response, &text.headers)?;
    Ok(response)
}

/// The tool's status, headers and body, less what may not reach the client.
fn passed(answer: &web_sys::Response, headers: &[Header]) -> worker::Result<web_sys::Response> {
    let init = web_sys::ResponseInit::new();
    init.set_status(answer.status());
    init.set_status_text(&answer.status_text());
    let kept = web_sys::Headers::new_with_headers(&answer.headers())?;
    for name in worker::Headers(answer.headers()).keys().filter(|name| !headers::reaches_client(name)) {
        kept.delete(&name)?;
    }
    init.set_headers(&kept);
    let response = web_sys::Response::new_with_opt_readable_stream_and_init(answer.body().as_ref(), &init)?;
    set_all(&response, headers)?;
    Ok(response)
}

fn set_all(response: &web_sys::Response, headers: &[Header]) -> worker::Result<()> {
    headers.iter().try_for_each(|(name, value)| Ok(response.headers().set(name, value)?))
}

fn server_timing(incoming: &Incoming, line: &Line) -> String {
    let (edge_ms, origin_ms) = line.times(incoming, clock::now());
    match origin_ms {
        Some(origin_ms) => format!("edge;dur={edge_ms}, origin;dur={origin_ms}"),
        None => format!("edge;dur={edge_ms}"),
    }
}
