//! Outcome → response: the only place that builds one for a client.

use shared::{
    headers::{self, Header},
    page::problem_notice,
    pages_api::is_shown_as_page,
    problem::Problem,
    response::Response,
    transport::Address,
};
use worker::web_sys;

use crate::{access_log::AccessRecord, client_request::ClientRequest, clock};

/// A response for a client.
pub(crate) enum ClientResponse {
    /// A response of the gateway itself.
    Own(Response<Vec<u8>>),
    /// A response whose body is streamed, a tool's for instance, and the headers to set on it.
    Streamed { response: web_sys::Response, headers: Vec<Header> },
}

/// Returns the response to send.
///
/// # Errors
/// If the runtime refuses to build it.
pub(crate) fn render(
    outcome: Result<ClientResponse, Problem>,
    request: &ClientRequest,
    access: &mut AccessRecord,
) -> worker::Result<web_sys::Response> {
    let response = outcome.unwrap_or_else(|problem| {
        access.code = Some(problem.code().as_str());
        let rendered = match is_shown_as_page(access.endpoint, request.header("accept")) {
            true => problem_notice(&problem, &request.id),
            false => problem.render(&request.id),
        };
        ClientResponse::Own(rendered.into_bytes())
    });
    let response = match response {
        ClientResponse::Own(mut own) => render_own(&mut own)?,
        ClientResponse::Streamed { response, headers } => render_streamed(&response, &headers)?,
    };
    access.status = response.status();
    let headers = response.headers();
    for (name, value) in headers::CORS {
        headers.set(name, value)?;
    }
    let (hsts, age) = headers::HSTS;
    if Address::parse(&request.url).is_some_and(|address| address.is_secure()) && !headers.has(hsts)? {
        headers.set(hsts, age)?;
    }
    headers.set(headers::REQUEST_ID, &request.id.to_string())?;
    headers.append(headers::SERVER_TIMING, &server_timing(request, access))?;
    Ok(response)
}

fn render_own(own: &mut Response<Vec<u8>>) -> worker::Result<web_sys::Response> {
    let init = web_sys::ResponseInit::new();
    init.set_status(own.status);
    // A 204 has no body, not even an empty one. The runtime copies the bytes before it returns.
    let body = (!own.body.is_empty()).then_some(own.body.as_mut_slice());
    let response = web_sys::Response::new_with_opt_u8_array_and_init(body, &init)?;
    response.headers().set("x-content-type-options", "nosniff")?;
    set_all(&response, &own.headers)?;
    Ok(response)
}

/// Returns the response's status, body and headers, without headers that must not reach the client.
fn render_streamed(tool: &web_sys::Response, headers: &[Header]) -> worker::Result<web_sys::Response> {
    let init = web_sys::ResponseInit::new();
    init.set_status(tool.status());
    init.set_status_text(&tool.status_text());
    let kept = web_sys::Headers::new_with_headers(&tool.headers())?;
    for name in worker::Headers(tool.headers()).keys().filter(|name| !headers::reaches_client(name)) {
        kept.delete(&name)?;
    }
    init.set_headers(&kept);
    let response = web_sys::Response::new_with_opt_readable_stream_and_init(tool.body().as_ref(), &init)?;
    set_all(&response, headers)?;
    Ok(response)
}

fn set_all(response: &web_sys::Response, headers: &[Header]) -> worker::Result<()> {
    headers.iter().try_for_each(|(name, value)| Ok(response.headers().set(name, value)?))
}

fn server_timing(request: &ClientRequest, access: &AccessRecord) -> String {
    let (edge_ms, origin_ms) = access.durations(request, clock::now());
    match origin_ms {
        Some(origin_ms) => format!("edge;dur={edge_ms}, origin;dur={origin_ms}"),
        None => format!("edge;dur={edge_ms}"),
    }
}
