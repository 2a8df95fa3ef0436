//! The proxy against the table of vectors. A grant takes the place of a valid key.

use shared::{tier::Tier, tool::Tool};
use tests::{
    Client, FakeTool, ProxyConfig, Request, Signer, ToolBehavior,
    http2::{self, Http2Client},
    keys,
    vector::{self, Boundary, Credential, Vector},
};
use tokio::runtime::Handle;

/// The `X-API-Key` of vectors with a valid key. The proxy ignores it.
const KEY: &str = "utg_live_of_nobody";

/// Adds a pool with `tool` for every tool.
fn all_pools(config: ProxyConfig, tool: &FakeTool) -> ProxyConfig {
    Tool::ALL.into_iter().fold(config, |config, name| config.tool(name, &[tool]))
}

/// Returns the request of a vector, with a grant if its credential is valid.
fn granted(row: &Vector) -> Request {
    let request = row.request(keys::present(row.request.key, KEY).as_deref());
    match Signer::default().try_grant(&request).filter(|_| row.request.key == Credential::Valid) {
        Some(grant) => request.header("X-Gateway-Grant", &grant),
        None => request,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http1_response_matches_every_vector() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = all_pools(ProxyConfig::new(), &tool).ready().await;
    tokio::task::block_in_place(|| {
        vector::check_all(Boundary::Proxy, |row| granted(row).send(proxy.listen));
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn direct_mode_response_matches_every_vector_of_the_edge() {
    let folder = tempfile::tempdir().unwrap();
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().direct(&folder.path().join("keys"));
    let config = config.line("keys", "admin_secret = \"${ADMIN_SECRET}\"");
    let proxy = all_pools(config, &tool).ready().await;
    let (key, _) = keys::fresh(Tier::Enterprise);
    tokio::task::block_in_place(|| {
        vector::check_all(Boundary::Direct, |row| {
            row.request(keys::present(row.request.key, &key).as_deref()).send(proxy.listen)
        });
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http2_response_matches_every_vector() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = all_pools(ProxyConfig::new(), &tool).line("clients", "h2c = true");
    let proxy = config.ready().await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let (mut sent, mut http1_only) = (0, Vec::new());
    tokio::task::block_in_place(|| {
        vector::check_all(Boundary::Proxy, |row| {
            let request = granted(row);
            let response = match http2::head(&request) {
                None => None,
                Some(_) => match Handle::current().block_on(client.try_send(&request)) {
                    Ok(response) => Some(response),
                    // A request that is malformed in HTTP/2 ends its stream (RFC 9113, section 8.1.1).
                    Err(error) if error.reason() == Some(h2::Reason::PROTOCOL_ERROR) => None,
                    Err(error) => panic!("{}: {error}", row.name),
                },
            };
            let Some(response) = response else {
                http1_only.push(row.name.clone());
                let response = Handle::current().block_on(Client::send_once(proxy.listen, &request));
                return response.expect("a response");
            };
            sent += 1;
            response
        });
    });
    assert!(sent >= 25, "{sent} were sent, and HTTP/2 cannot express these: {http1_only:#?}");
}
