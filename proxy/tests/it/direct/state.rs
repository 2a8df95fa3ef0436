//! The state file: restarts, crashes, and files that cannot be read or written.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;
use shared::{counter::Counter, key::KeyId, tier::Tier};
use tests::keys;

use super::{Direct, call, calls_at_once};
use tests::{Client, ToolBehavior, proxy::ProxyConfig, until};

#[tokio::test]
async fn day_limit_is_exact_across_a_restart() {
    let direct = Direct::issuing().await;
    let (key, _) = direct.issue(json!({ "limits": { "minute": 1000, "day": 25 } })).await;
    assert_eq!(direct.pass(&key, 15).await, 15);
    let direct = direct.restart("TERM").await;
    assert_eq!(direct.pass(&key, 15).await, 10);
    let direct = direct.restart("TERM").await;
    let refused = direct.call(&key).await;
    assert_eq!(refused.json()["violated-policies"][0], "day");
    assert_eq!(fs::metadata(direct.state()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn minute_limit_is_exact_across_a_restart() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, _) = keys::fresh(Tier::Free);
    assert_eq!(direct.pass(&key, 6).await, 6);
    let direct = direct.restart("TERM").await;
    assert_eq!(direct.pass(&key, 6).await, 4);
}

#[tokio::test]
async fn saved_counters_survive_a_crash() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, id) = keys::fresh(Tier::Pro);
    assert_eq!(direct.pass(&key, 7).await, 7);
    let written = || fs::read(direct.state()).unwrap_or_default();
    let has_id = |bytes: Vec<u8>| bytes.windows(12).any(|window| window == id.as_bytes());
    until("the calls are written down", || async { has_id(written()) }).await;
    let direct = direct.restart("KILL").await;
    assert_eq!(direct.me(&key).await["usage"]["day"]["used"], 7);
}

#[tokio::test]
async fn damaged_counters_are_renamed_and_counted() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, _) = keys::fresh(Tier::Pro);
    direct.pass(&key, 3).await;
    let mut direct = direct;
    direct.proxy.signal("TERM");
    direct.proxy.exited().await;
    let mut bytes = fs::read(direct.state()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(direct.state(), &bytes).unwrap();
    direct.proxy = direct.config.ready().await;
    assert_eq!(direct.me(&key).await["usage"]["day"]["used"], 0);
    assert_eq!(direct.proxy.metric("utg_key_store_damaged").await, Some(1.0));
    assert_eq!(fs::read(direct.folder.path().join("keys.damaged")).unwrap(), bytes);
}

/// A clock that was four days ahead when the process ran, and was set right before it starts again.
#[tokio::test]
async fn state_from_the_future_is_dropped() {
    let mut direct = Direct::issuing().await;
    let (key, id) = direct.issue(json!({ "limits": { "minute": 5, "day": 5 } })).await;
    let (other, other_id) = keys::fresh(Tier::Free);
    direct.proxy.signal("TERM");
    direct.proxy.exited().await;
    let ahead = keys::now().plus(4 * 86_400_000);
    let mut counters = Vec::new();
    for (id, at) in [(KeyId::parse(&id).unwrap(), ahead), (other_id, keys::now())] {
        let mut counter = Counter::default();
        (0..5).for_each(|_| counter.count(at));
        counter.write(&id, at, &mut counters);
    }
    let first = format!("utg-counters 1 {:020} {:08x}\n", counters.len(), crc32fast::hash(&counters));
    fs::write(direct.state(), [first.as_bytes(), &counters].concat()).unwrap();
    direct.proxy = direct.config.ready().await;
    direct.proxy.logs("state from the future dropped").await;
    assert_eq!(direct.pass(&key, 9).await, 5, "the key has its minute and its day");
    assert_eq!(direct.call(&key).await.json()["violated-policies"][0], "day");
    // What was counted by a right clock counts.
    assert_eq!(direct.pass(&other, 9).await, 5);
}

#[tokio::test]
async fn authority_with_damaged_records_does_not_start() {
    let direct = Direct::issuing().await;
    direct.issue(json!({})).await;
    let mut direct = direct;
    direct.proxy.signal("TERM");
    direct.proxy.exited().await;
    let records = direct.folder.path().join("keys.records");
    let text = fs::read_to_string(&records).unwrap();
    fs::write(&records, text.replace("\"tier\":\"pro\"", "\"tier\":\"free\"")).unwrap();
    let (status, said) = direct.config.run(&[]);
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("keys.records: is damaged, and it lists the revoked keys"), "{said}");
}

#[tokio::test]
async fn unwritable_state_fails_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (status, said) = ProxyConfig::new().direct(&folder.path().join("nowhere/keys")).run(&[]);
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("nowhere/keys: cannot be written"), "{said}");
}

#[tokio::test]
async fn failed_state_write_is_counted_and_calls_pass() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let (key, _) = keys::fresh(Tier::Pro);
    // A folder in the place of the file makes every rename fail.
    fs::create_dir(direct.state()).unwrap();
    fs::write(direct.state().join("x"), "").unwrap();
    assert_eq!(direct.pass(&key, 3).await, 3);
    let failed = || async { direct.proxy.metric("utg_key_store_failures_total").await > Some(0.0) };
    until("the failure is counted", failed).await;
    assert_eq!(direct.pass(&key, 3).await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upgrade_continues_the_counters() {
    let place = tempfile::tempdir().unwrap();
    let meeting = format!("upgrade_socket = {:?}\ngrace = \"8s\"", place.path().join("upgrade.sock"));
    let mut direct = Direct::with(ToolBehavior::Describe, |config| config.line("server", &meeting)).await;
    let (pro, _) = keys::fresh(Tier::Pro);
    assert_eq!(direct.pass(&pro, 40).await, 40);
    let mut kept = Client::connect(direct.proxy.listen).await;
    kept.write(&call(&pro).bytes()).await;
    assert_eq!(kept.response("GET").await.unwrap().status, 200);

    let new = direct.config.upgrade();
    new.logs("upgrade complete: predecessor=").await;
    let mut old = std::mem::replace(&mut direct.proxy, new);
    assert_eq!(direct.me(&pro).await["usage"]["day"]["used"], 41);
    kept.write(&call(&pro).bytes()).await;
    assert_eq!(kept.response("GET").await.unwrap().status, 200, "one more on a connection that was open");
    until("the call at the old process is known", || async {
        direct.me(&pro).await["usage"]["day"]["used"] == 42
    })
    .await;
    until("its outcome is known", || async { direct.me(&pro).await["today"]["by_status"]["200"] == 42 })
        .await;
    assert!(old.exited().await.success());
    assert_eq!(calls_at_once(&direct.proxy, &pro, 8, 10).await, (58, 22));

    let direct = direct.restart("TERM").await;
    assert_eq!(
        direct.me(&pro).await["usage"]["day"]["used"],
        100,
        "the new process has written the state file"
    );
}
