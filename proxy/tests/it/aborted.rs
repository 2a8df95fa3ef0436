//! Responses that end early: who broke them off is counted and logged, and outlier detection knows it.

use std::{io::ErrorKind, time::Duration};

use serde_json::Value;
use shared::tool::Tool;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use tests::{
    Client, FakeTool, ToolBehavior,
    grant::{call, post, upload},
    proxy::{Proxy, ProxyConfig},
    until,
};

const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf";

fn aborted(tool: &FakeTool, by: &str) -> String {
    let upstream = tool.address;
    format!(r#"utg_upstream_responses_aborted_total{{by="{by}",tool="qr",upstream="{upstream}"}}"#)
}

/// Returns the values of `aborted` in the access log, for the lines of calls with this status.
fn logged(proxy: &Proxy, status: u64) -> Vec<Value> {
    let output = proxy.output();
    let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["status"] == status).map(|line| line["aborted"].clone()).collect()
}

#[tokio::test]
async fn response_broken_off_by_the_upstream_is_counted() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_vec();
    for (why, behavior) in [
        ("closes", ToolBehavior::RespondAndClose(HALF.to_vec())),
        ("closes within chunks", ToolBehavior::RespondAndClose(chunked)),
        ("resets", ToolBehavior::RespondAndReset(HALF.to_vec())),
        ("pauses", ToolBehavior::Respond(HALF.to_vec())),
    ] {
        let tool = FakeTool::start(behavior).await;
        let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("log", "detail = \"failures\"");
        let proxy = config.pool_line(Tool::Qr, "pause_timeout = \"300ms\"").ready().await;
        for request in [call("GET", "/v1/qr/a"), post("/v1/qr/a", "{}")] {
            let response = proxy.send(request).await;
            assert_eq!((response.status, response.complete), (200, false), "{why}");
        }
        proxy.metric_is(&aborted(&tool, "upstream"), 2.0).await;
        assert_eq!(proxy.metric(&aborted(&tool, "client")).await, Some(0.0), "{why}");
        until("both are logged", || async { logged(&proxy, 200) == ["upstream", "upstream"] }).await;
    }
}

/// For a client of HTTP/1.0 only the end of the connection ends a response in chunks. A reset is not an
/// end.
#[tokio::test]
async fn broken_response_without_a_length_ends_with_a_reset() {
    let begun = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    let whole = [&begun[..], b"0\r\n\r\n"].concat();
    for (response, is_whole) in [(begun.to_vec(), false), (whole, true)] {
        let tool = FakeTool::start(ToolBehavior::RespondAndClose(response)).await;
        let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
        let mut stream = TcpStream::connect(proxy.listen).await.unwrap();
        let request = String::from_utf8(call("GET", "/v1/qr/a").bytes()).unwrap();
        stream.write_all(request.replacen("HTTP/1.1", "HTTP/1.0", 1).as_bytes()).await.unwrap();
        let mut received = Vec::new();
        let end = stream.read_to_end(&mut received).await.map_err(|error| error.kind());
        assert_eq!(end.err(), (!is_whole).then_some(ErrorKind::ConnectionReset));
        assert!(!is_whole || received.ends_with(b"\r\n\r\nhalf"));
    }
}

#[tokio::test]
async fn complete_response_is_not_counted_as_broken_off() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    for closes in [false, true] {
        let whole = b"HTTP/1.1 200 OK\r\n\r\nto the end of the connection".to_vec();
        tool.set(if closes { ToolBehavior::RespondAndClose(whole) } else { ToolBehavior::Describe });
        assert!(proxy.send(call("GET", "/v1/qr/a")).await.complete);
    }
    // The rest of the body is not read.
    let early = b"HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno".to_vec();
    tool.set(ToolBehavior::RespondAndClose(early));
    let mut client = Client::connect(proxy.listen).await;
    client.write(&upload("/v1/qr/a", 4).bytes()).await;
    client.write(b"body").await;
    assert_eq!(client.response("POST").await.unwrap().status, 413);
    until("all are logged", || async { logged(&proxy, 200).len() + logged(&proxy, 413).len() == 3 }).await;
    for by in ["upstream", "client"] {
        assert_eq!(proxy.metric(&aborted(&tool, by)).await, Some(0.0));
    }
    assert!([logged(&proxy, 200), logged(&proxy, 413)].concat().iter().all(Value::is_null));
}

/// Each call counts once, as failed: its good head does not hide its end.
#[tokio::test]
async fn upstream_that_breaks_responses_off_is_ejected() {
    for behavior in
        [ToolBehavior::RespondAndClose(HALF.to_vec()), ToolBehavior::RespondAndReset(HALF.to_vec())]
    {
        let (bad, good) = (FakeTool::start(behavior).await, FakeTool::start(ToolBehavior::Describe).await);
        let config = ProxyConfig::new().tool(Tool::Qr, &[&bad, &good]);
        let proxy = config.pool_line(Tool::Qr, "probe.rise = 100").ready().await;
        for number in 1..=10 {
            proxy.send(call("GET", "/v1/qr/a")).await;
            // The end of a call is recorded after its response was sent.
            until("the call has ended", || async { logged(&proxy, 200).len() == number }).await;
        }
        assert_eq!((bad.calls(), good.calls()), (5, 5));
        assert_eq!(proxy.ejections(&bad.address.to_string()).await, 1.0);
        for _ in 0..10 {
            assert!(proxy.send(call("GET", "/v1/qr/a")).await.complete);
        }
    }
}

#[tokio::test]
async fn client_that_leaves_is_no_evidence_about_the_upstream() {
    let tools = [
        FakeTool::start(ToolBehavior::Respond(HALF.to_vec())).await,
        FakeTool::start(ToolBehavior::Respond(HALF.to_vec())).await,
    ];
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tools[0], &tools[1]]).ready().await;
    for _ in 0..20 {
        let mut client = Client::connect_abortive(proxy.listen).await;
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        assert!(client.head().await.is_some());
    }
    for tool in &tools {
        proxy.metric_is(&aborted(tool, "client"), 10.0).await;
        assert_eq!(proxy.metric(&aborted(tool, "upstream")).await, Some(0.0));
        assert_eq!(proxy.ejections(&tool.address.to_string()).await, 0.0);
    }
    until("all are logged", || async { logged(&proxy, 200) == ["client"; 20] }).await;
}

/// Both directions are open: the tool may be waiting for the rest of the request.
#[tokio::test]
async fn pause_within_an_upload_is_not_the_upstreams() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _read = stream.read(&mut [0; 1_024]).await;
            let _written = stream.write_all(HALF).await;
            open.push(stream);
        }
    });
    let probe = format!("probe.port = {}\npause_timeout = \"300ms\"", tool.address.port());
    let config = ProxyConfig::new().upstreams(Tool::Qr, &[&address.to_string()]);
    let config = config.pool_line(Tool::Qr, &probe).line("clients", "min_upload_rate = \"0B\"");
    let proxy = config.ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&upload("/v1/qr/a", 1 << 20).bytes()).await;
    client.write(&vec![b'a'; 100 << 10]).await;
    let response = tokio::time::timeout(Duration::from_secs(30), client.response("POST")).await.unwrap();
    assert!(!response.unwrap().complete);
    until("it is logged", || async { logged(&proxy, 200) == ["client"] }).await;
}
