//! What a call costs in direct mode whose client leaves before its response.

use shared::tier::Tier;
use shared::tool::Tool;

use super::{Direct, call};
use tests::{Client, FakeTool, ToolBehavior, keys, until};

/// The tool has begun its work for the first client, and knows nothing of the second, whose call is given
/// back to the day.
#[tokio::test]
async fn client_that_leaves_pays_for_what_the_tool_was_sent() {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let lines = "calls_in_flight = 1\nqueue = 1\nqueue_timeout = \"30s\"";
    let direct =
        Direct::with(ToolBehavior::Wait, |config| config.tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, lines))
            .await;
    let (free, _) = keys::fresh(Tier::Free);
    let in_queue = |calls| direct.proxy.metric_is(r#"utg_calls_queued{tool="qr"}"#, calls);
    let mut sent = Client::connect(direct.proxy.listen).await;
    sent.write(&call(&free).bytes()).await;
    until("the tool has it", || async { tool.calls() == 1 }).await;
    let mut queued = Client::connect(direct.proxy.listen).await;
    queued.write(&call(&free).bytes()).await;
    in_queue(1.0).await;
    drop(queued);
    in_queue(0.0).await;
    drop(sent);
    direct.proxy.metric_is(r#"utg_calls_in_flight{tool="qr"}"#, 0.0).await;
    until("the tool sees it", || async { tool.aborted() == 1 }).await;
    until("both are counted", || async { direct.me(&free).await["today"]["by_status"]["499"] == 2 }).await;
    let usage = direct.me(&free).await["usage"].clone();
    assert_eq!((&usage["minute"]["used"], &usage["day"]["used"]), (&2.into(), &1.into()), "{usage}");
    assert_eq!(tool.calls(), 1);
}
