//! Example responses of problems, with the members and headers of their own.

use crate::{
    problem::{Code, Problem},
    request_id::RequestId,
};

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
    let problem = Problem::new(code, code.about());
    match code {
        Code::FieldsInvalid => problem.with_json(
            "errors",
            r##"[{"pointer":"#/links/0/url","detail":"must be an absolute URL with https or http"}]"##,
        ),
        Code::ToolUnknown => problem.with_json("nearest", r#"["qr"]"#),
        Code::SlugTaken => problem.with_json("suggestions", r#"["ada-1","ada-links"]"#),
        Code::AnalyticsWindowExceeded => {
            problem.with_member("earliest_available", "2025-12-06T00:00:00.000Z")
        }
        Code::AnalyticsTooWide => problem
            .with_member("answered_start", "2025-12-20T00:00:00.000Z")
            .with_member("answered_end", "2026-01-05T00:00:00.000Z"),
        Code::QuotaExceeded => problem.with_json("violated-policies", r#"["minute"]"#).retry_after(41),
        Code::MethodNotAllowed => problem.with_header("allow", "GET, POST"),
        Code::MediaTypeUnsupported => problem.with_header("accept", "application/json"),
        Code::RevisionMismatch => problem.with_header("etag", "\"v8\""),
        _ if matches!(code.status(), 429 | 503) => problem.retry_after(5),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_has_the_headers_and_members_of_its_code() {
        for code in Code::ALL {
            let sample = response(code);
            assert!(sample.starts_with(&format!("HTTP/1.1 {}\n", code.status())));
            assert!(sample.contains(&format!("x-gateway-problem: {}\n", code.as_str())), "{sample}");
        }
        assert!(response(Code::QuotaExceeded).contains("retry-after: 41"));
        assert!(response(Code::FieldsInvalid).contains("\"pointer\": \"#/links/0/url\""));
        assert!(response(Code::KeyMissing).contains("www-authenticate: "));
    }
}
