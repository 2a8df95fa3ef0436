//! The description for machines and the reference for people.

use shared::{docs, openapi, problem::Code};

use crate::{edge::Edge, respond::Answer};

/// Made by `build.rs`.
const DESCRIPTION: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// `GET /openapi.json`
pub(crate) fn openapi(edge: &Edge<'_>) -> Answer {
    cacheable("application/json", DESCRIPTION.replace(openapi::SERVER, edge.public_url()))
}

/// `GET /docs`
pub(crate) fn docs(edge: &Edge<'_>) -> Answer {
    page(docs::reference(edge.public_url()))
}

/// `GET /problems/{code}`
pub(crate) fn problem(code: Code) -> Answer {
    page(docs::problem_page(code))
}

fn page(html: String) -> Answer {
    cacheable("text/html; charset=utf-8", html).with_headers([
        ("content-security-policy", docs::content_security_policy()),
        ("referrer-policy", "no-referrer".to_owned()),
    ])
}

fn cacheable(media_type: &str, body: String) -> Answer {
    let headers =
        vec![("content-type", media_type.to_owned()), ("cache-control", "public, max-age=300".to_owned())];
    Answer::Written { status: 200, headers, body }
}
