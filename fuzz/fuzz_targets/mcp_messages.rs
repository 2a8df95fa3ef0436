#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use portal::{
    mcp::{Message, MessageHeaders, Method, REVISION_HEADER, ToolRequest, Toolsets, requests},
    route::Route,
};
use serde_json::Value;
use shared::response::Response;
use url::Url;

static REQUESTS: LazyLock<String> = LazyLock::new(requests);
static TOOLSETS: LazyLock<Toolsets> = LazyLock::new(|| Toolsets::parse(None).expect("the usual ones"));

fuzz_target!(|text: &[u8]| {
    // Headers that repeat the message, as a client of the modern era sends them.
    let message: Value = serde_json::from_slice(text).unwrap_or_default();
    let part = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    let revision = part("/params/_meta/io.modelcontextprotocol~1protocolVersion");
    let headers = MessageHeaders { revision, method: part("/method"), name: part("/params/name") };
    check(text, &MessageHeaders::default(), &message);
    check(text, &headers, &message);
});

/// Oracle: serde_json and the URL standard. A message that is read is JSON-RPC 2.0, and each response to
/// it is JSON-RPC with its id. A call of a tool becomes a request of one route of the API, whose target
/// any parser sees as we do, with the arguments of the message and headers of one line.
fn check(text: &[u8], headers: &MessageHeaders<'_>, message: &Value) {
    let (responder, method) = match Message::parse(text, headers) {
        Ok(Message::Request(responder, method)) => (responder, method),
        Ok(Message::Notification) => return assert_eq!(message["jsonrpc"], "2.0"),
        Err(error) => return check_response(&error.response(), "error", None),
    };
    assert_eq!((&message["jsonrpc"], message["method"].is_string()), (&"2.0".into(), true));
    let id = Some(&message["id"]);
    check_response(&responder.pong(), "result", id);
    match method {
        Method::Initialize(wanted) => check_response(&responder.initialized(&wanted), "result", id),
        Method::Discover => check_response(&responder.discovered(), "result", id),
        Method::CallTool { name, arguments } => {
            match ToolRequest::new(&REQUESTS, &TOOLSETS, &name, &arguments) {
                None => check_response(&responder.unknown_tool(&name), "error", id),
                Some(Err(reason)) => check_response(&responder.failed(&reason.to_string()), "result", id),
                Some(Ok(request)) => check_request(&request, &arguments),
            }
        }
        Method::Ping | Method::ListTools(_) => {}
    }
}

fn check_response(response: &Response, member: &str, id: Option<&Value>) {
    let body: Value = serde_json::from_str(&response.body).expect("JSON");
    assert_eq!(body["jsonrpc"], "2.0", "{body}");
    assert!(body.get(member).is_some(), "{body}");
    assert!(id.is_none_or(|id| body["id"] == *id), "{body}");
}

fn check_request(request: &ToolRequest, arguments: &Value) {
    assert_eq!(
        request.body.as_ref().map(|body| serde_json::from_str(body).ok()),
        arguments.get("body").filter(|body| !body.is_null()).map(|body| Some(body.clone()))
    );
    for (name, value) in &request.headers {
        assert_ne!(*name, REVISION_HEADER);
        assert!(!value.contains(['\r', '\n']), "{name}: {value:?}");
    }
    let url = Url::parse(&format!("https://api.example{}", request.target)).expect("a URL");
    let seen = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    assert_eq!((seen.as_str(), url.fragment()), (request.target.as_str(), None));
    if let Ok((route, target)) = Route::read(&request.method, &request.target) {
        assert_eq!(target.path, url.path());
        assert!(!matches!(route, Route::Preflight(_) | Route::Portal(_) | Route::Console(_)), "{route:?}");
    }
}
