//! Traces: what tools and the collector get of a call, which calls are exported, and an unreachable collector.

use std::collections::BTreeMap;
use std::time::Duration;

use shared::tool::Tool;
use shared::trace::SpanContext;

use tests::{
    FakeTool, ToolBehavior,
    collector::{Collector, ExportedSpan},
    grant::{call, post},
    http::Request,
    http2_tool::{H2ToolBehavior, Http2Tool},
    proxy::{Proxy, ProxyConfig},
    receiver::ReceiverBehavior,
    tls::{Authority, NAME, TempFiles, quoted},
    transport::Transport,
    until,
};

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// Returns a configuration that exports to a collector, with these settings.
fn traced(collector: &Collector, lines: &str) -> ProxyConfig {
    ProxyConfig::new().section("tracing", &format!("endpoint = \"{}\"\n{lines}\n", collector.url()))
}

/// Sends a call, which must get this status.
async fn send(proxy: &Proxy, request: Request, status: u16) {
    let response = proxy.send(request).await;
    assert_eq!(response.status, status, "{response:?}");
}

fn traceparent(head: &str) -> SpanContext {
    let value = |line: &str| line.to_lowercase().strip_prefix("traceparent: ").map(str::to_owned);
    let found: Vec<_> = head.lines().filter_map(value).collect();
    assert_eq!(found.len(), 1, "{head}");
    SpanContext::parse(&found[0]).unwrap()
}

fn named<'a>(spans: &'a [ExportedSpan], name: &str) -> Vec<&'a ExportedSpan> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[tokio::test]
async fn call_has_spans_from_its_caller_to_the_tool() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    let config = traced(&collector, "service = \"gateway\"").tool(Tool::Qr, &[&tool]);
    let proxy = config.line("log", "detail = \"calls\"").ready().await;
    let request = call("GET", "/v1/qr/generate?secret=hush").header("traceparent", SAMPLED);
    send(&proxy, request.header("tracestate", "a=1").header("X-Mine", "hush"), 200).await;
    let spans = collector.trace_with("GET /v1/qr/{action}");
    assert!(spans.iter().all(|span| span.trace_id == TRACE_ID));
    let [server] = named(&spans, "GET /v1/qr/{action}")[..] else { panic!("{spans:?}") };
    let [attempt] = named(&spans, "GET")[..] else { panic!("{spans:?}") };
    assert_eq!((server.parent.as_str(), &attempt.parent), ("b7ad6b7169203331", &server.span_id));
    let head = tool.received().remove(0);
    let reached = traceparent(&head);
    assert_eq!((reached.span_id.to_string(), reached.is_sampled), (attempt.span_id.clone(), true));
    assert!(head.to_lowercase().contains("tracestate: a=1"), "{head}");
    for name in ["connect", "first byte", "body"] {
        let [step] = named(&spans, name)[..] else { panic!("{name}: {spans:?}") };
        assert_eq!(step.parent, attempt.span_id, "{name}");
        assert!(attempt.start <= step.start && step.start <= step.end && step.end <= attempt.end, "{name}");
    }
    assert!(server.start <= attempt.start && attempt.end <= server.end, "{spans:?}");
    let expected = BTreeMap::from([
        ("http.request.method", "GET"),
        ("http.route", "/v1/qr/{action}"),
        ("url.path", "/v1/qr/generate"),
        ("http.response.status_code", "200"),
        ("utg.tool", "qr"),
        ("utg.action", "generate"),
        ("utg.tier", "pro"),
    ]);
    for (key, value) in expected {
        assert_eq!(server.attribute(key), value, "{key}");
    }
    assert_eq!(attempt.attribute("server.port"), tool.address.port().to_string());
    assert_eq!((server.resource["service.name"].as_str(), server.is_error), ("gateway", false));
    let text = format!("{spans:?}");
    assert!(!text.contains("hush") && !text.contains("key_"), "{text}");
    until("the access log has the line", || async { proxy.output().contains("\"span_id\"") }).await;
    let output = proxy.output();
    let line = output.lines().find(|line| line.contains("\"span_id\"")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["trace_id"], &line["span_id"]), (&TRACE_ID.into(), &server.span_id.as_str().into()));
}

/// Only the first call has these steps, because the second uses its connection.
#[tokio::test]
async fn http2_connection_to_a_tool_has_connect_and_tls_spans() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let ca = quoted(&folder.write("ca.pem", &authority.pem));
    let plain = Http2Tool::start(H2ToolBehavior::Describe).await;
    let encrypted = Http2Tool::over_tls(&authority.identity(NAME)).await;
    let tls = format!("tls = true\ntls_name = \"{NAME}\"\ntls_ca = {ca}");
    for (tool, lines, steps) in [(&plain, "", &["connect"][..]), (&encrypted, &*tls, &["connect", "tls"])] {
        let collector = Collector::start();
        let config = traced(&collector, "").transport(Transport::PingoraProxy);
        let config = config.upstreams(Tool::Qr, &[&tool.address.to_string()]);
        let probed = "probe.kind = \"tcp\"\nhttp2 = true";
        let proxy = config.pool_line(Tool::Qr, &format!("{probed}\n{lines}")).ready().await;
        for action in ["first", "second"] {
            let request = call("GET", &format!("/v1/qr/{action}")).header("traceparent", SAMPLED);
            send(&proxy, request, 200).await;
        }
        let of =
            |action: &str| collector.spans().into_iter().find(|span| span.attribute("utg.action") == action);
        until("both are exported", || async { of("first").is_some() && of("second").is_some() }).await;
        let spans = collector.spans();
        for (action, steps) in [("first", steps), ("second", &[])] {
            let server = of(action).unwrap();
            let attempt = spans.iter().find(|span| span.parent == server.span_id).unwrap();
            let made: Vec<_> =
                spans.iter().filter(|span| ["connect", "tls"].contains(&&*span.name)).collect();
            let made: Vec<_> = made.into_iter().filter(|span| span.parent == attempt.span_id).collect();
            assert_eq!(made.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(), steps, "{action}");
            assert!(made.iter().all(|span| attempt.start <= span.start && span.end <= attempt.end));
        }
    }
}

#[tokio::test]
async fn call_without_a_valid_traceparent_begins_a_trace() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    let proxy = traced(&collector, "ratio = 1.0").tool(Tool::Qr, &[&tool]).ready().await;
    let request = || call("GET", "/v1/qr/generate").header("tracestate", "a=1");
    let invalid = request().header("traceparent", "00-0-0-01");
    let repeated = request().header("traceparent", SAMPLED).header("traceparent", SAMPLED);
    for (nth, request) in [request(), invalid, repeated].into_iter().enumerate() {
        let response = proxy.send(request).await;
        let head = tool.received().remove(nth);
        let reached = traceparent(&head);
        assert_eq!(Some(reached.trace_id.to_string().as_str()), response.header("x-request-id"));
        assert!(!head.to_lowercase().contains("tracestate"), "{head}");
    }
    let spans = collector.trace_with("GET /v1/qr/{action}");
    assert_eq!(named(&spans, "GET /v1/qr/{action}")[0].parent, "");
}

#[tokio::test]
async fn each_attempt_is_a_span_and_its_tool_has_it_as_parent() {
    let bad = FakeTool::start(ToolBehavior::RespondAndClose(Vec::new())).await;
    let (good, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    let config = traced(&collector, "").tool(Tool::Qr, &[&bad, &good]);
    let proxy = config.ready().await;
    for _ in 0..2 {
        send(&proxy, call("GET", "/v1/qr/generate").header("traceparent", SAMPLED), 200).await;
    }
    let retried =
        collector_spans(&collector, |span| span.attribute("http.request.resend_count") == "1").await;
    let attempts: Vec<_> = retried.iter().filter(|span| span.name == "GET").collect();
    let [failed, again] = attempts[..] else { panic!("{retried:?}") };
    assert_eq!((failed.attribute("error.type"), failed.is_error), ("Terminated", true));
    assert_eq!((again.attribute("http.response.status_code"), again.is_error), ("200", false));
    for (tool, attempt) in [(&bad, failed), (&good, again)] {
        let parents =
            tool.received().iter().map(|head| traceparent(head).span_id.to_string()).collect::<Vec<_>>();
        assert!(parents.contains(&attempt.span_id), "{parents:?}");
        assert_eq!(attempt.attribute("server.port"), tool.address.port().to_string());
    }
}

/// Waits for a span, and returns the spans of its call: those under the same parent, and the parent.
async fn collector_spans(
    collector: &Collector,
    is_wanted: impl Fn(&ExportedSpan) -> bool,
) -> Vec<ExportedSpan> {
    let find = || collector.spans().into_iter().find(|span| is_wanted(span));
    until("the span is exported", || async { find().is_some() }).await;
    let parent = find().unwrap().parent;
    let is_of_call = |span: &ExportedSpan| span.parent == parent || span.span_id == parent;
    collector.spans().into_iter().filter(is_of_call).collect()
}

#[tokio::test]
async fn sampled_failed_and_slow_calls_are_exported() {
    let fast = FakeTool::start(ToolBehavior::Describe).await;
    let broken = FakeTool::start(ToolBehavior::Respond(
        b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".to_vec(),
    ))
    .await;
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
    let slow = FakeTool::start(ToolBehavior::Drip(response, Duration::from_millis(10))).await;
    let collector = Collector::start();
    let config = traced(&collector, "ratio = 0\nslow = \"300ms\"")
        .tool(Tool::Qr, &[&fast])
        .tool(Tool::Pdf, &[&broken])
        .tool(Tool::Seo, &[&slow]);
    let proxy = config.ready().await;
    send(&proxy, call("GET", "/v1/qr/unsampled").header("traceparent", UNSAMPLED), 200).await;
    send(&proxy, call("GET", "/v1/qr/began-here"), 200).await;
    send(&proxy, call("GET", "/v1/qr/sampled").header("traceparent", SAMPLED), 200).await;
    send(&proxy, call("GET", "/v1/pdf/status"), 500).await;
    send(&proxy, post("/v1/yt/refused", "{}"), 503).await;
    send(&proxy, call("GET", "/v1/seo/slow"), 200).await;
    let actions = || {
        let mut actions: Vec<_> = collector
            .spans()
            .into_iter()
            .filter(|span| !span.attribute("utg.action").is_empty())
            .map(|span| (span.attribute("utg.action").to_owned(), span.is_error))
            .collect();
        actions.sort();
        actions
    };
    until("the slow call is exported", || async { actions().iter().any(|(action, _)| action == "slow") })
        .await;
    let expected = [("refused", true), ("sampled", false), ("slow", false), ("status", true)];
    assert_eq!(actions(), expected.map(|(action, is_error)| (action.to_owned(), is_error)));
}

#[tokio::test]
async fn flag_of_a_caller_that_is_not_trusted_decides_nothing() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    let lines = "ratio = 0.0\ntrust_caller = false";
    let proxy = traced(&collector, lines).tool(Tool::Qr, &[&tool]).ready().await;
    send(&proxy, call("GET", "/v1/qr/generate").header("traceparent", SAMPLED), 200).await;
    assert!(!traceparent(&tool.received()[0]).is_sampled);
    send(&proxy, call("GET", "/v1/pdf/merge").header("traceparent", SAMPLED), 503).await;
    let spans = collector.trace_with("GET /v1/pdf/{action}");
    assert!(named(&spans, "GET /v1/qr/{action}").is_empty(), "{spans:?}");
}

#[tokio::test]
async fn without_tracing_the_callers_trace_reaches_the_tool_as_it_is() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    let request = call("GET", "/v1/qr/generate").header("traceparent", SAMPLED);
    send(&proxy, request.header("tracestate", "a=1"), 200).await;
    let head = tool.received().remove(0).to_lowercase();
    assert!(
        head.contains(&format!("traceparent: {SAMPLED}\r\n")) && head.contains("tracestate: a=1\r\n"),
        "{head}"
    );
}

#[tokio::test]
async fn collector_that_is_away_for_a_moment_loses_nothing() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    collector.hang_up();
    let proxy = traced(&collector, "ratio = 1.0").tool(Tool::Qr, &[&tool]).ready().await;
    send(&proxy, call("GET", "/v1/qr/generate"), 200).await;
    proxy.logs("trace export failed").await;
    collector.receiver.respond("503 Service Unavailable");
    let refused = collector.receiver.count();
    until("it was asked again", || async { collector.receiver.count() > refused }).await;
    collector.receiver.respond("200 OK");
    let spans = collector.trace_with("GET /v1/qr/{action}");
    proxy.metric_is("utg_trace_spans_exported_total", spans.len() as f64).await;
    proxy.logs("trace export recovered").await;
    assert_eq!(proxy.metric(r#"utg_trace_spans_dropped_total{cause="export_failed"}"#).await, Some(0.0));
}

#[tokio::test]
async fn request_that_the_collector_refuses_is_dropped_and_counted() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    collector.receiver.respond("400 Bad Request");
    let proxy = traced(&collector, "ratio = 1.0").tool(Tool::Qr, &[&tool]).ready().await;
    send(&proxy, call("GET", "/v1/qr/generate"), 200).await;
    until("the spans are dropped", || async {
        proxy.metric(r#"utg_trace_spans_dropped_total{cause="export_failed"}"#).await > Some(0.0)
    })
    .await;
    assert_eq!(collector.receiver.count(), 1, "it is not sent again");
    assert_eq!(proxy.metric("utg_trace_export_failures_total").await, Some(1.0));
}

#[tokio::test]
async fn calls_are_served_and_spans_dropped_while_the_collector_hangs() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    collector.receiver.set(ReceiverBehavior::Hang);
    let proxy = traced(&collector, "ratio = 1.0").tool(Tool::Qr, &[&tool]).ready().await;
    send(&proxy, call("GET", "/v1/qr/generate"), 200).await;
    until("the collector hangs", || async { collector.receiver.count() > 0 }).await;
    let full = r#"utg_trace_spans_dropped_total{cause="queue_full"}"#;
    let mut sent = 0;
    while proxy.metric(full).await == Some(0.0) {
        for _ in 0..200 {
            send(&proxy, call("GET", "/v1/qr/generate"), 200).await;
        }
        sent += 200;
        assert!(sent < 20_000, "the queue grows without a limit");
    }
}

#[tokio::test]
async fn spans_of_the_last_calls_are_exported_before_the_exit() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    let mut proxy = traced(&collector, "ratio = 1.0").tool(Tool::Qr, &[&tool]).ready().await;
    send(&proxy, call("GET", "/v1/qr/generate"), 200).await;
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(!named(&collector.spans(), "GET /v1/qr/{action}").is_empty());
}

#[tokio::test]
async fn exit_waits_for_one_request_to_a_collector_that_hangs() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    collector.receiver.set(ReceiverBehavior::Hang);
    let mut proxy = traced(&collector, "ratio = 1.0").tool(Tool::Qr, &[&tool]).ready().await;
    send(&proxy, call("GET", "/v1/qr/generate"), 200).await;
    until("the collector hangs", || async { collector.receiver.count() > 0 }).await;
    send(&proxy, call("GET", "/v1/qr/generate"), 200).await;
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert_eq!(collector.receiver.count(), 1);
}

#[tokio::test]
async fn reload_switches_the_export_on_and_off() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    let off = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    let on = traced(&collector, "ratio = 1.0").tool(Tool::Qr, &[&tool]);
    let proxy = off.ready().await;
    send(&proxy, call("GET", "/v1/qr/before"), 200).await;
    proxy.reload(&on);
    let generation = proxy.generation_after(1).await;
    send(&proxy, call("GET", "/v1/qr/between"), 200).await;
    let spans = collector.trace_with("GET /v1/qr/{action}");
    assert_eq!(named(&spans, "GET /v1/qr/{action}")[0].attribute("utg.action"), "between");
    proxy.reload(&off);
    proxy.generation_after(generation).await;
    let request = call("GET", "/v1/qr/after").header("traceparent", UNSAMPLED);
    send(&proxy, request, 200).await;
    let head = tool.received().remove(2).to_lowercase();
    assert!(head.contains(UNSAMPLED), "the header is passed on as without tracing: {head}");
}
