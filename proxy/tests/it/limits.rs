//! Every limit is exceeded: the client gets the documented response, and
//! `utg_limits_exceeded_total` names the limit.

mod exceed;

use exceed::*;
use shared::tool::Tool;
use strum::VariantArray as _;
use tests::{
    FakeTool, ToolBehavior,
    proxy::{Proxy, ProxyConfig},
    until,
};
use transport::hooks::Limit;

/// The proxy, and the tool `qr` behind it.
struct Stage {
    proxy: Proxy,
    tool: FakeTool,
}

const fn refused(status: u16, code: &'static str) -> Option<(u16, &'static str)> {
    Some((status, code))
}

const SERVED: Option<(u16, &str)> = Some((200, ""));

/// Defines a test for each row: its name, the limit, the lines that make the limit small, the
/// function that exceeds it, and the outcome for the client.
macro_rules! limits {
    ($($name:ident: $limit:ident, $lines:expr, $exceed:ident, $outcome:expr;)*) => {
        const TESTED: &[Limit] = &[$(Limit::$limit),*];
        $(
            #[tokio::test]
            async fn $name() {
                let stage = start(Limit::$limit, &$lines).await;
                let outcome = $exceed(&stage).await;
                assert_outcome(&stage, Limit::$limit, outcome, $outcome).await;
            }
        )*
    };
}

limits! {
    // The size of a request.
    many_headers_are_431: Headers, [], many_headers, refused(431, "headers-too-large");
    long_header_is_431: Headers, [], long_header, refused(431, "headers-too-large");
    long_target_is_414: Target, [], long_target, refused(414, "target-too-long");
    large_body_is_413: MaxBody, [("defaults", "max_body = \"1KiB\"")], large_body, refused(413, "body-too-large");

    // Time.
    unfinished_header_is_408:
        HeaderTimeout, [("clients", "header_timeout = \"200ms\"")], unfinished_header, refused(408, "request-timeout");
    silent_connection_is_closed: HeaderTimeout, [("clients", "header_timeout = \"200ms\"")], silence, None;
    unfinished_body_is_408:
        IdleTimeout, [("clients", "idle_timeout = \"1s\"")], unfinished_body, refused(408, "request-timeout");
    idle_connection_is_closed: IdleTimeout, [("clients", "idle_timeout = \"1s\"")], idle_connection, None;
    slow_upload_is_408:
        MinUploadRate,
        [("clients", "idle_timeout = \"3s\""), ("clients", "min_upload_rate = \"64KiB\"")],
        slow_upload,
        refused(408, "request-timeout");
    slow_download_is_reset:
        MinDownloadRate,
        [("clients", "idle_timeout = \"3s\""), ("clients", "min_download_rate = \"64KiB\""), ("clients", "h2c = true")],
        slow_download,
        None;
    unanswered_connect_is_503:
        ConnectTimeout, [("defaults", "connect_timeout = \"200ms\"")], one_call, refused(503, "tool-unavailable");
    silent_tool_is_503:
        AnswerTimeout, [("defaults", "answer_timeout = \"200ms\"")], silent_tool, refused(503, "tool-timeout");
    silent_first_try_is_retried: TryTimeout, [("defaults", "try_timeout = \"200ms\"")], two_tries, SERVED;
    stalled_response_is_cut: PauseTimeout, [("defaults", "pause_timeout = \"200ms\"")], stalled_response, None;
    unread_refusal_is_reset: RefusalTimeout, [("clients", "h2c = true")], unread_refusal, None;

    // Numbers.
    connection_over_the_limit_is_closed: Connections, [("clients", "connections = 2")], third_connection, None;
    connection_over_the_limit_per_address_is_429:
        ConnectionsPerAddress,
        [("clients", "connections_per_address = 2")],
        third_connection,
        refused(429, "too-many-requests");
    call_over_the_pool_limit_is_503:
        CallsInFlight, [("defaults", "calls_in_flight = 1")], second_call, refused(503, "tool-overloaded");
    call_over_the_rate_of_the_pool_is_503:
        CallsPerSecond, [("defaults", "calls_per_second = 1")], calls_until_refused, refused(503, "tool-overloaded");
    call_over_the_rate_of_the_key_is_503:
        CallsPerSecondPerKey,
        [("defaults", "calls_per_second_per_key = 1")],
        calls_until_refused,
        refused(503, "tool-overloaded");
    call_over_the_key_limit_is_503:
        CallsInFlightPerKey,
        [("clients", "calls_in_flight_per_key = 1")],
        second_call,
        refused(503, "tool-overloaded");
    call_over_the_limit_of_a_key_in_the_pool_is_503:
        CallsInFlightPerKey,
        [("defaults", "calls_in_flight_per_key = 1")],
        second_call,
        refused(503, "tool-overloaded");
    call_beyond_the_open_files_is_503:
        OpenFiles, [("clients", "h2c = true")], calls_beyond_the_open_files, refused(503, "tool-overloaded");
    call_over_the_replay_capacity_is_503: ReplayCapacity, [], calls_until_refused, refused(503, "tool-overloaded");
    refusals_over_the_limit_are_429:
        RefusalsPerSecond,
        [("clients", "refusals_per_second = 1")],
        ungranted_calls_until_refused,
        refused(429, "too-many-requests");
    retry_over_the_budget_is_503:
        RetryPercent,
        [("defaults", "retry_percent = 0"), ("defaults", "eject_percent = 0")],
        failing_calls_until_refused,
        refused(503, "tool-unavailable");
    unread_refusals_close_the_connection:
        Http2HeldBytes,
        [("clients", "h2c = true"), ("clients", "streams_per_connection = 1000")],
        unread_refusals,
        None;
}

#[test]
fn every_limit_has_a_test() {
    let untested = Limit::VARIANTS.iter().copied().filter(|limit| !TESTED.contains(limit));
    assert_eq!(untested.collect::<Vec<_>>(), []);
}

/// Returns the series that counts how often a limit was exceeded.
fn series(limit: Limit) -> String {
    format!(r#"utg_limits_exceeded_total{{limit="{}"}}"#, limit.into_str())
}

/// Starts a proxy whose limit was not exceeded yet.
async fn start(limit: Limit, lines: &[(&str, &str)]) -> Stage {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let mut config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).replay_capacity(1_000);
    for (section, line) in lines {
        config = config.line(section, line);
    }
    let other = FakeTool::start(ToolBehavior::Describe).await;
    // A retry needs a second upstream. An upstream that accepts no connection is probed at another
    // port.
    match limit {
        Limit::TryTimeout | Limit::RetryPercent => config = config.tool(Tool::Qr, &[&tool, &other]),
        Limit::ConnectTimeout => {
            let port = other.address.port();
            config = config
                .upstreams(Tool::Qr, &[&full().await])
                .pool_line(Tool::Qr, &format!("probe.port = {port}"));
        }
        Limit::OpenFiles => config = config.open_files(128),
        _ => {}
    }
    let stage = Stage { proxy: config.ready().await, tool };
    // A first probe may be too slow on a busy machine.
    until("its upstreams are healthy", || async {
        stage.proxy.upstream_health(Tool::Qr).await.iter().all(|health| health == "healthy")
    })
    .await;
    assert_eq!(stage.proxy.metric(&series(limit)).await, Some(0.0));
    stage
}

/// Asserts the outcome for the client, and that the metric shows the limit.
async fn assert_outcome(stage: &Stage, limit: Limit, outcome: Outcome, expected: Option<(u16, &str)>) {
    let outcome = outcome.as_ref().map(|(status, code)| (*status, code.as_str()));
    assert_eq!(outcome, expected, "{}", series(limit));
    until("the limit is counted", || async { stage.proxy.metric(&series(limit)).await >= Some(1.0) }).await;
}
