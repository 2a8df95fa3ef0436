//! The feed of key changes, read from an edge.

use shared::{
    key::{ApiKey, KeyRecord, KeyStatus},
    tier::Tier,
    time::UnixMillis,
};
use tests::keys;

use super::{Direct, call};
use tests::{
    FakeEdge, Request, ToolBehavior,
    proxy::ProxyConfig,
    tls::{Authority, TlsTerminator},
    until,
};

/// Returns the edge's record of a key in this version.
pub(super) fn record(key: &str, version: u64) -> KeyRecord {
    let verified = ApiKey::parse(key).unwrap().verify(&keys::signing()).unwrap();
    KeyRecord { version, ..KeyRecord::provisional(&verified) }
}

fn revoked(key: &str, version: u64) -> KeyRecord {
    KeyRecord { status: KeyStatus::Revoked { at: UnixMillis(1) }, ..record(key, version) }
}

pub(super) fn asking(config: ProxyConfig, edge: &FakeEdge) -> ProxyConfig {
    config.line("keys", &format!("changes = \"http://{}\"\nchanges_every = \"100ms\"", edge.address))
}

pub(super) async fn code(direct: &Direct, key: &str) -> Option<String> {
    let response = direct.call(key).await;
    (response.status != 200).then(|| response.json()["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn revocation_and_tier_change_apply_from_the_feed() {
    let (old, first, second) =
        (keys::fresh(Tier::Pro).0, keys::fresh(Tier::Pro).0, keys::fresh(Tier::Free).0);
    let edge = FakeEdge::start(vec![revoked(&old, 2), record(&first, 1)]).await;
    let direct = Direct::with(ToolBehavior::Describe, |config| asking(config, &edge)).await;
    assert_eq!(code(&direct, &old).await.as_deref(), Some("key-revoked"), "known before the first call");
    assert_eq!(code(&direct, &first).await, None);
    edge.push(revoked(&first, 3));
    until("the key stops", || async { code(&direct, &first).await.is_some() }).await;
    assert_eq!(code(&direct, &first).await.as_deref(), Some("key-revoked"));
    edge.push(record(&first, 2));
    edge.push(KeyRecord { tier: Tier::Enterprise, ..record(&second, 2) });
    until("the tier is known", || async { direct.me(&second).await["tier"] == "enterprise" }).await;
    assert_eq!(code(&direct, &first).await.as_deref(), Some("key-revoked"), "what is older changes nothing");
    let issue = direct.proxy.send(Request::new("POST", "/v1/keys/issue").json("{}")).await;
    let told = issue.json();
    assert_eq!((issue.status, told["code"].as_str()), (404, Some("route-unknown")));
    assert!(told["detail"].as_str().unwrap().contains(&format!("http://{}", edge.address)), "{told}");
}

#[tokio::test]
async fn last_copy_applies_while_the_edge_is_down() {
    let (key, other) = (keys::fresh(Tier::Pro).0, keys::fresh(Tier::Pro).0);
    let edge = FakeEdge::start(vec![revoked(&key, 2)]).await;
    let direct = Direct::with(ToolBehavior::Describe, |config| asking(config, &edge)).await;
    assert_eq!(code(&direct, &key).await.as_deref(), Some("key-revoked"));
    edge.fail(true);
    let failures = || async { direct.proxy.metric("utg_key_changes_failures_total").await > Some(1.0) };
    until("the edge is missed", failures).await;
    assert_eq!(code(&direct, &other).await, None);
    let direct = direct.restart("TERM").await;
    assert_eq!(code(&direct, &key).await.as_deref(), Some("key-revoked"), "from the copy");
    assert_eq!(code(&direct, &other).await, None);
    direct.proxy.logs("key-change feed failed: edge=").await;
    assert!(edge.cursors().last().unwrap().is_some(), "it goes on where it was");
    edge.fail(false);
    edge.push(revoked(&other, 2));
    until("it is told again", || async { code(&direct, &other).await.is_some() }).await;
}

#[tokio::test]
async fn calls_are_refused_until_revocations_are_known() {
    let (key, _) = keys::fresh(Tier::Pro);
    let edge = FakeEdge::start(Vec::new()).await;
    edge.fail(true);
    let folder = tempfile::tempdir().unwrap();
    let config = asking(ProxyConfig::new().direct(&folder.path().join("keys")), &edge);
    let proxy = config.start();
    until("the edge was asked", || async { edge.requests() > 1 }).await;
    let refused = proxy.send(call(&key)).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (503, Some("key-store-unavailable")));
    assert_eq!(proxy.admin_get("/readyz").await.status, 503);
    assert_eq!(proxy.metric("utg_key_changes_known").await, Some(0.0));
    edge.fail(false);
    until("it is ready", || async { proxy.admin_get("/readyz").await.status == 200 }).await;
    let away = proxy.send(call(&key)).await;
    assert_eq!(away.json()["code"], "tool-unavailable", "{away:?}");
}

#[tokio::test]
async fn edge_with_untrusted_certificate_is_rejected() {
    let edge = FakeEdge::start(Vec::new()).await;
    let front = TlsTerminator::start(&Authority::generate().identity("127.0.0.1"), edge.address).await;
    let folder = tempfile::tempdir().unwrap();
    let config = ProxyConfig::new().direct(&folder.path().join("keys"));
    let proxy = config.line("keys", &format!("changes = \"https://{}\"", front.address)).start();
    proxy.logs("TLS handshake failed").await;
    assert_eq!(edge.requests(), 0, "nothing was told to it");
    assert_eq!(proxy.metric("utg_key_changes_known").await, Some(0.0));
}
