//! The table of vectors against the pure crates alone: what they decide before anybody does any I/O.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod architecture;
mod commits;
mod decisions;
mod deploy_guide;
mod deployment;
mod guide;
mod layers;
mod links;
mod numbers;
mod recipes;
mod release;
mod scripts;
mod security;

use std::process::Command;

use portal::route::Route;
use shared::{
    headers::{self, Header},
    key::{ApiKey, KeyEnv, KeyError, KeyId},
    method::Method,
    problem::Problem,
    request::{Head, MAX_BODY_BYTES},
    request_id::RequestId,
    tier::Tier,
    time::UnixMillis,
};
use tests::{
    http::{Request, Response},
    keys,
    process::binary,
    vector::{self, Boundary, Vector},
};

#[test]
fn shared_decision_matches_every_vector() {
    let (live, _) =
        ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Free, UnixMillis(0), [1; 16], &keys::signing());
    vector::check_all(Boundary::Shared, |row| answer(row, &live.reveal()));
}

#[test]
fn example_of_the_limiter_passes_exactly_its_limit() {
    let ran = Command::new(binary("examples/limiter")).output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && text.starts_with("100 of 600 calls passed"), "{text}");
}

fn answer(row: &Vector, live: &str) -> Response {
    let request = row.request(keys::present(row.request.key, live).as_deref());
    let id = RequestId([9; 16]);
    let (status, own, body) = match decide(&request) {
        Ok(preflight) => (if preflight.is_empty() { 200 } else { 204 }, preflight, String::new()),
        Err(problem) => {
            let rendered = problem.render(&id);
            (rendered.status, rendered.headers, rendered.body)
        }
    };
    let always = headers::CORS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let own = own.into_iter().map(|(name, value)| (name.into_owned(), value.into_owned()));
    let named = std::iter::once((headers::REQUEST_ID.to_owned(), id.to_string()));
    let headers = named.chain(always).chain(own).collect();
    Response { status, headers, body: body.into_bytes(), complete: true }
}

/// What both shells do in this order. The headers of a preflight, or nothing for a call that goes
/// on to a tool.
fn decide(request: &Request) -> Result<Vec<Header>, Problem> {
    let (route, _target) = Route::read(&request.method, &request.target)?;
    let head = Head::read(request.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))?;
    if let Route::Preflight(methods) = route {
        return Ok(headers::preflight(methods));
    }
    let text = head.api_key.ok_or(KeyError::Missing)?;
    ApiKey::parse(text)?.verify(&keys::signing())?;
    head.check_length(MAX_BODY_BYTES)?;
    if request.method == Method::Post.as_str() {
        head.check_media_type(&[])?;
    } else {
        head.check_get()?;
    }
    Ok(Vec::new())
}
