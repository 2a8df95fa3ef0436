//! Response headers: those that pass from a tool, and those of the gateway.

use shared::{headers::PassedHeaders, tool::Tool};

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
};

/// Returns a tool whose response has these header lines.
fn said(lines: &str) -> ToolBehavior {
    ToolBehavior::Respond(format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\n{{}}").into_bytes())
}

async fn with_tool(behavior: ToolBehavior, change: impl FnOnce(ProxyConfig) -> ProxyConfig) -> Proxy {
    let tool = FakeTool::start(behavior).await;
    change(ProxyConfig::new().tool(Tool::Qr, &[&tool])).ready().await
}

#[tokio::test]
async fn origin_wide_header_of_a_tool_does_not_reach_the_client() {
    let lines: String = PassedHeaders::withheld().iter().map(|name| format!("{name}: hush\r\n")).collect();
    let proxy = with_tool(said(&format!("{lines}X-Own: 1\r\n")), |config| config).await;
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.header("x-own")), (200, Some("1")));
    assert!(response.headers.iter().all(|(_, value)| value != "hush"), "{response:?}");
}

#[tokio::test]
async fn pool_passes_the_response_headers_that_it_names() {
    let lines = "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nServer: own\r\nAlt-Svc: clear\r\n";
    let proxy = with_tool(said(lines), |config| {
        config
            .line("defaults", "pass_response_headers = [\"alt-svc\"]")
            .pool_line(Tool::Qr, "pass_response_headers = [\"Set-Cookie\", \"server\"]")
    })
    .await;
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!(response.header_values("set-cookie"), ["a=1; Path=/", "b=2"]);
    assert_eq!((response.header("server"), response.header("alt-svc")), (Some("own"), None), "{response:?}");
}

#[tokio::test]
async fn tool_response_is_private_unless_the_tool_says_otherwise() {
    let silent = with_tool(said(""), |config| config).await;
    let response = silent.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!(response.header_values("cache-control"), ["private"]);
    let outspoken = with_tool(said("Cache-Control: public, max-age=60\r\n"), |config| config).await;
    let response = outspoken.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!(response.header_values("cache-control"), ["public, max-age=60"]);
}

#[tokio::test]
async fn own_response_has_one_date() {
    let proxy = with_tool(said(""), |config| config).await;
    for request in
        [Request::new("GET", "/healthz"), Request::new("GET", "/v1/qr/generate"), call("GET", "/v1/qr/x")]
    {
        let response = proxy.send(request).await;
        let [date] = response.header_values("date")[..] else { panic!("{response:?}") };
        assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
    }
    let mut client = Client::connect(proxy.listen).await;
    client.write(b"nonsense\r\n\r\n").await;
    assert_eq!(
        client.response("GET").await.unwrap().header_values("date").len(),
        1,
        "nor is it missing without a request"
    );
}

#[tokio::test]
async fn failed_call_names_the_tool_and_a_possible_execution() {
    let detail = async |proxy: &Proxy, request: Request, code: &str| {
        let problem = proxy.send(request).await.json();
        assert_eq!(problem["code"], code);
        problem["detail"].as_str().unwrap().to_owned()
    };
    let away = ProxyConfig::new().ready().await;
    let get = detail(&away, call("GET", "/v1/qr/generate"), "tool-unavailable").await;
    assert!(get.starts_with("qr: ") && !get.contains("executed"), "{get}");
    let unmade = detail(&away, post("/v1/qr/generate", "{}"), "tool-unavailable").await;
    assert!(unmade.starts_with("qr: ") && unmade.ends_with("; the call was not executed"), "{unmade}");
    let silent =
        with_tool(ToolBehavior::Wait, |config| config.line("defaults", "answer_timeout = \"200ms\"")).await;
    let late = detail(&silent, post("/v1/qr/generate", "{}"), "tool-timeout").await;
    assert!(late.starts_with("qr: ") && late.ends_with("; the call may have been executed"), "{late}");
}
