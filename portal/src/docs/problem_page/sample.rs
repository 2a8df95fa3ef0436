//! Example responses of problems, with their own members and headers.

use shared::problem::{Code, Problem};
use shared::request_id::RequestId;

/// Returns the example of a code: status, headers and body.
pub(super) fn response(code: Code) -> String {
    let rendered = problem(code).render(&RequestId([0x5a; 16]));
    let body = serde_json::from_str::<serde_json::Value>(&rendered.body)
        .and_then(|body| serde_json::to_string_pretty(&body))
        .unwrap_or(rendered.body);
    let headers = rendered.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    format!("HTTP/1.1 {}\n{}\n{body}", rendered.status, headers.collect::<String>())
}

/// Returns the problem with the members and headers that it has in responses.
fn problem(code: Code) -> Problem {
    let members = code.example_members().iter();
    let problem = members
        .fold(Problem::new(code, code.about()), |problem, (name, value)| problem.with_json(name, *value));
    match code.example_header() {
        Some((name, value)) => problem.with_header(name, value),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use biolink::codes;

    use super::*;

    #[test]
    fn example_has_the_headers_and_members_of_its_code() {
        for code in codes::all() {
            let sample = response(code);
            assert!(sample.starts_with(&format!("HTTP/1.1 {}\n", code.status())));
            assert!(sample.contains(&format!("x-gateway-problem: {}\n", code.as_str())), "{sample}");
        }
        assert!(response(codes::QUOTA_EXCEEDED).contains("retry-after: 41"));
        assert!(response(codes::FIELDS_INVALID).contains("\"pointer\": \"#/links/0/url\""));
        assert!(response(codes::KEY_MISSING).contains("www-authenticate: "));
    }
}
