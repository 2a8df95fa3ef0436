//! OpenMetrics 1.0, made of the text format of Prometheus. It has exemplars, which that one has not.
//!
//! Why: docs/decisions/proxy.md, "OpenMetrics is made of the text of Prometheus".

use std::fmt::Write as _;

use super::exemplars::Exemplars;

/// The media type.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Returns true if a scraper accepts OpenMetrics.
pub fn is_accepted(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_type =
            parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"));
        is_type && !parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// Converts a page of metrics, and adds the exemplars.
pub(super) fn convert(text: &str, exemplars: &Exemplars) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(metadata) => write_metadata(&mut out, metadata),
            None => write_sample(&mut out, line, exemplars),
        }
        out.push('\n');
    }
    out.push_str("# EOF\n");
    out
}

/// Writes the line of a help text or a type. The name of a counter is that of its samples without
/// `_total`.
fn write_metadata(out: &mut String, line: &str) {
    let mut words = line.splitn(3, ' ');
    let [keyword, name, rest] = std::array::from_fn(|_| words.next().unwrap_or_default());
    let name = name.strip_suffix("_total").unwrap_or(name);
    let rest = if keyword == "HELP" { rest.replace('"', "\\\"") } else { rest.to_owned() };
    // Writing to a string cannot fail.
    let _written = write!(out, "# {keyword} {name} {rest}");
}

/// Writes a sample. The bound of a bucket is written as a floating-point number.
fn write_sample(out: &mut String, line: &str, exemplars: &Exemplars) {
    let bucket = line.rsplit_once(' ').and_then(|(series, value)| {
        let (labels, bound) = series.strip_suffix("\"}")?.split_once("le=\"")?;
        Some((series, labels, bound, value))
    });
    let Some((series, labels, bound, value)) = bucket else { return out.push_str(line) };
    let point = if bound.bytes().all(|byte| byte.is_ascii_digit()) { ".0" } else { "" };
    let _written = write!(out, "{labels}le=\"{bound}{point}\"}} {value}");
    if let Some(exemplar) = exemplars.of(series) {
        let _written = write!(out, "{exemplar}");
    }
}

#[cfg(test)]
mod tests {
    use shared::time::UnixMillis;
    use shared::trace::SpanContext;

    use super::super::exemplars::Series;
    use super::*;

    const TEXT: &str = "# HELP utg_calls_total Calls, \"all\" of them.\n# TYPE utg_calls_total counter\n\
        utg_calls_total{tool=\"qr\"} 3\n# HELP utg_s Seconds.\n# TYPE utg_s histogram\n\
        utg_s_bucket{tool=\"qr\",le=\"0.025\"} 1\nutg_s_bucket{tool=\"qr\",le=\"1\"} 2\n\
        utg_s_bucket{tool=\"qr\",le=\"+Inf\"} 3\nutg_s_sum{tool=\"qr\"} 7.5\nutg_s_count{tool=\"qr\"} 3\n";

    #[test]
    fn text_becomes_open_metrics_with_the_exemplar_of_its_bucket() {
        let exemplars = Exemplars::default();
        let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let span = SpanContext::parse(traceparent).unwrap();
        let series = Series { name: "utg_s", bounds: &[0.025, 1.0], labels: &[("tool", "qr")] };
        exemplars.record(&series, 0.5, span, UnixMillis(1_700_000_000_042));
        let ids = "{trace_id=\"0af7651916cd43dd8448eb211c80319c\",span_id=\"b7ad6b7169203331\"}";
        let expected = format!(
            "# HELP utg_calls Calls, \\\"all\\\" of them.\n# TYPE utg_calls counter\n\
             utg_calls_total{{tool=\"qr\"}} 3\n# HELP utg_s Seconds.\n# TYPE utg_s histogram\n\
             utg_s_bucket{{tool=\"qr\",le=\"0.025\"}} 1\n\
             utg_s_bucket{{tool=\"qr\",le=\"1.0\"}} 2 # {ids} 0.5 1700000000.042\n\
             utg_s_bucket{{tool=\"qr\",le=\"+Inf\"}} 3\nutg_s_sum{{tool=\"qr\"}} 7.5\n\
             utg_s_count{{tool=\"qr\"}} 3\n# EOF\n"
        );
        assert_eq!(convert(TEXT, &exemplars), expected);
        exemplars.record(&series, 9.0, span, UnixMillis(1));
        assert!(convert(TEXT, &exemplars).contains("le=\"+Inf\"} 3 # {"));
        exemplars.clear();
        assert!(!convert(TEXT, &exemplars).contains("trace_id"));
    }

    #[test]
    fn open_metrics_is_sent_only_to_scrapers_that_accept_it() {
        for (accept, expected) in [
            (
                "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1",
                true,
            ),
            ("text/plain, Application/OpenMetrics-Text", true),
            ("application/openmetrics-text;q=0, text/plain", false),
            ("text/plain;version=0.0.4", false),
            ("*/*", false),
            ("", false),
        ] {
            assert_eq!(is_accepted(accept), expected, "{accept}");
        }
    }
}
