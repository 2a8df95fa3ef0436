//! The headers of responses: what a tool may say under the gateway's name, and what the gateway says itself.

use shared::{headers::PassedHeaders, tool::Tool};

use crate::support::{
    Answer, Client, FakeTool, Manner, Request,
    grant::{call, post},
    proxy::{Proxy, Setup},
};

/// A response with these header lines.
fn said(lines: &str) -> Manner {
    Manner::Say(format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\n{{}}").into_bytes())
}

async fn with_tool(manner: Manner, change: impl FnOnce(Setup) -> Setup) -> Proxy {
    let tool = FakeTool::start(manner).await;
    change(Setup::new().tool(Tool::Qr, &[&tool])).ready().await
}

fn values<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    let lines = answer.head.split("\r\n").filter_map(|line| line.split_once(": "));
    lines.filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

#[tokio::test]
async fn origin_wide_header_of_a_tool_does_not_reach_the_client() {
    let lines: String = PassedHeaders::withheld().iter().map(|name| format!("{name}: hush\r\n")).collect();
    let proxy = with_tool(said(&format!("{lines}X-Own: 1\r\n")), |setup| setup).await;
    let answer = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((answer.status, answer.header("x-own")), (200, Some("1")));
    assert!(!answer.head.contains("hush"), "{answer:?}");
}

#[tokio::test]
async fn pool_passes_the_response_headers_that_it_names() {
    let lines = "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\nServer: own\r\nAlt-Svc: clear\r\n";
    let proxy = with_tool(said(lines), |setup| {
        setup
            .line("defaults", "pass_response_headers = [\"alt-svc\"]")
            .pool_line(Tool::Qr, "pass_response_headers = [\"Set-Cookie\", \"server\"]")
    })
    .await;
    let answer = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!(values(&answer, "set-cookie"), ["a=1; Path=/", "b=2"]);
    assert_eq!((answer.header("server"), answer.header("alt-svc")), (Some("own"), None), "{answer:?}");
}

#[tokio::test]
async fn tool_response_is_private_unless_the_tool_says_otherwise() {
    let silent = with_tool(said(""), |setup| setup).await;
    let answer = silent.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!(values(&answer, "cache-control"), ["private"]);
    let outspoken = with_tool(said("Cache-Control: public, max-age=60\r\n"), |setup| setup).await;
    let answer = outspoken.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!(values(&answer, "cache-control"), ["public, max-age=60"]);
}

#[tokio::test]
async fn own_response_has_one_date() {
    let proxy = with_tool(said(""), |setup| setup).await;
    for request in
        [Request::new("GET", "/healthz"), Request::new("GET", "/v1/qr/generate"), call("GET", "/v1/qr/x")]
    {
        let answer = proxy.send(request).await;
        let [date] = values(&answer, "date")[..] else { panic!("{answer:?}") };
        assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
    }
    let mut client = Client::connect(proxy.listen).await;
    client.write(b"nonsense\r\n\r\n").await;
    assert_eq!(
        values(&client.answer("GET").await.unwrap(), "date").len(),
        1,
        "nor is it missing without a request"
    );
}

#[tokio::test]
async fn failed_call_names_the_tool_and_a_post_whether_it_may_have_been_executed() {
    let detail = async |proxy: &Proxy, request: Request, code: &str| {
        let problem = proxy.send(request).await.json();
        assert_eq!(problem["code"], code);
        problem["detail"].as_str().unwrap().to_owned()
    };
    let away = Setup::new().ready().await;
    let get = detail(&away, call("GET", "/v1/qr/generate"), "tool-unavailable").await;
    assert!(get.starts_with("qr: ") && !get.contains("executed"), "{get}");
    let unmade = detail(&away, post("/v1/qr/generate", "{}"), "tool-unavailable").await;
    assert!(unmade.starts_with("qr: ") && unmade.ends_with("; the call was not executed"), "{unmade}");
    let silent = with_tool(Manner::Wait, |setup| setup.line("defaults", "answer_timeout = \"200ms\"")).await;
    let late = detail(&silent, post("/v1/qr/generate", "{}"), "tool-timeout").await;
    assert!(late.starts_with("qr: ") && late.ends_with("; the call may have been executed"), "{late}");
}
