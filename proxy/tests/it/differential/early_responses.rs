//! Responses that are complete before the upload is.

use tests::ToolBehavior;

use super::{GET, Pair, undocumented, with_grant};

/// A client that is still sending does not know where its next request would begin, so the response says
/// that the connection is closed (RFC 9112, sections 9.3 and 9.6).
#[tokio::test]
async fn early_response_closes_the_connection_on_both_transports() {
    let pair = Pair::start().await;
    let part = "a".repeat(100_000);
    for framing in [
        format!("Content-Length: 200000\r\n\r\n{part}"),
        format!("Transfer-Encoding: chunked\r\n\r\n30d40\r\n{part}"),
        format!("Transfer-Encoding: chunked\r\n\r\n186a0\r\n{part}\r\n"),
    ] {
        let lines = "Host: a\r\nContent-Type: application/json\r\nGRANT\r\n";
        let text = format!("POST {GET} HTTP/1.1\r\n{lines}{framing}");
        for (status, body) in [("413 No", "no"), ("200 OK", "enough")] {
            let early =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
            pair.tool.set(ToolBehavior::RespondEarly(early.clone()));
            let relay = pair.outcome(&pair.relay, &with_grant(text.as_bytes(), "POST", GET), 1).await;
            pair.tool.set(ToolBehavior::RespondEarly(early));
            let other = pair.outcome(&pair.pingora_proxy, &with_grant(text.as_bytes(), "POST", GET), 1).await;
            let [(got, headers, received, complete)] = relay.responses.as_slice() else {
                panic!("{relay:?}")
            };
            assert_eq!((status[..3].parse(), received.as_str(), *complete), (Ok(*got), body, true));
            assert!(headers.iter().any(|line| line == "connection: close"), "{status}: {headers:?}");
            assert!(!relay.is_kept, "{status}");
            assert_eq!(undocumented(&text[..120], None, (relay, other)), None);
        }
    }
}
