//! One trace leads from the client through edge and proxy to the tool.

use std::{
    collections::BTreeSet,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Command,
};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::{Value, json};
use shared::trace::SpanContext;
use tests::{
    collector::Collector,
    grant::call,
    http::Request,
    process::{Process, root},
    proxy::ProxyConfig,
    stack::{Edge, Tools},
    wait::{PATIENCE, wait_for},
};

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";

/// The edge leaves the flag of a trace that it began to the proxy, whose ratio is all of them here.
#[test]
fn each_hop_is_the_parent_of_the_next() {
    let (collector, tools) = (Collector::start(), Tools::start());
    let tracing = format!("endpoint = \"{}\"\nratio = 1.0\n", collector.url());
    let proxy = ProxyConfig::for_tools(&tools).section("tracing", &tracing).start_and_wait();
    let edge = Edge::start_with(&proxy.url(), &["ACCESS_LOG_SAMPLE=1"]);
    let (key, _) = edge.issue("pro");
    let begun = Request::post("/v1/seo/audit", &json!({})).key(&key);
    let continued = Request::post("/v1/leads/enrich", &json!({}))
        .key(&key)
        .header("traceparent", &format!("00-{TRACE_ID}-b7ad6b7169203331-01"))
        .header("tracestate", "a=1");
    for (tool, request) in [("seo", begun), ("leads", continued)] {
        let response = request.send(edge.addr);
        assert_eq!(response.status, 200, "{}", response.text());
        let headers = &response.json()["headers"];
        let reached = SpanContext::parse(headers["traceparent"].as_str().unwrap()).unwrap();
        let line = wait_for(PATIENCE, || {
            let output = edge.output();
            let mut lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.find(|line| line["tool"] == tool)
        });
        let spans = collector.trace_with(&format!("POST /v1/{tool}/{{action}}"));
        let call = spans.iter().find(|span| !span.attribute("utg.tool").is_empty()).unwrap();
        let attempt = spans.iter().find(|span| span.name == "POST").unwrap();
        assert_eq!(reached.span_id.to_string(), attempt.span_id);
        assert_eq!((&attempt.parent, line["span_id"].as_str()), (&call.span_id, Some(call.parent.as_str())));
        let (trace_id, parent, state) = match tool {
            "leads" => (TRACE_ID, json!("b7ad6b7169203331"), json!("a=1")),
            _ => (response.header("x-request-id").unwrap(), Value::Null, Value::Null),
        };
        assert_eq!((&line["parent_span_id"], &headers["tracestate"]), (&parent, &state));
        assert_eq!((reached.trace_id.to_string().as_str(), reached.is_sampled), (trace_id, true));
        assert!(line["trace_id"] == trace_id && spans.iter().all(|span| span.trace_id == trace_id));
        assert_eq!(Some(call.attribute("utg.request_id")), response.header("x-request-id"));
    }
}

/// Rotel is a collector of others. What it takes of the proxy's export, it exports to ours.
#[test]
fn collector_of_others_takes_the_spans_of_a_call() {
    let (collector, tools) = (Collector::start(), Tools::start());
    let (address, _rotel) = start_rotel(&collector);
    let tracing = format!("endpoint = \"http://{address}\"\nratio = 1.0\n");
    let config = ProxyConfig::for_tools(&tools).line("server", "data_center = \"test\"");
    let proxy = config.section("tracing", &tracing).start_and_wait();
    let response = call("GET", "/v1/seo/audit").send(proxy.listen);
    assert_eq!(response.status, 200, "{}", response.text());
    let spans = collector.trace_with("GET /v1/seo/{action}");
    let server = spans.iter().find(|span| span.kind == SpanKind::Server).unwrap();
    assert_eq!(Some(server.trace_id.as_str()), response.header("x-request-id"));
    assert_eq!(server.attribute("http.response.status_code"), "200");
    assert_eq!(server.resource["service.name"], "utg-proxy");
    let names: BTreeSet<_> = spans.iter().map(|span| span.name.as_str()).collect();
    assert!(names.is_superset(&BTreeSet::from(["GET", "first byte", "body"])), "{names:?}");
}

/// Starts Rotel in front of a collector. Returns the address of its receiver over HTTP.
fn start_rotel(collector: &Collector) -> (SocketAddr, Process) {
    let python = root().join(".tools/python/bin/python");
    let found = Command::new(python).args(["-c", "import rotel; print(rotel.__path__[0])"]).output().unwrap();
    let folder = String::from_utf8(found.stdout).unwrap();
    let [http, grpc] = [free_address(), free_address()];
    let mut rotel = Command::new(Path::new(folder.trim()).join("rotel-agent"));
    rotel.arg("start").args(["--otlp-http-endpoint", &http.to_string()]);
    rotel.args(["--otlp-grpc-endpoint", &grpc.to_string()]);
    rotel.args(["--exporter", "otlp", "--otlp-exporter-protocol", "http"]);
    rotel.args(["--otlp-exporter-endpoint", &format!("http://{}", collector.receiver.addr)]);
    let (process, ()) = Process::start(&mut rotel, |line| line.contains("Starting Rotel").then_some(()));
    wait_for(PATIENCE, || TcpStream::connect(http).ok());
    (http, process)
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
