//! Budgets in units, counted in this process.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use tests::proxy::ProxyConfig;

use super::Direct;
use tests::{Client, Request, Response, ToolBehavior, until};

const PRICES: &str = "[qr]\ngenerate = { at_most = 60 }\nread = 10\n";

/// Returns the settings of a file with these prices.
fn prices(folder: &TempDir, text: &str) -> String {
    let file = folder.path().join("prices.toml");
    fs::write(&file, text).unwrap();
    format!("prices = {:?}\n", file.display().to_string())
}

/// Starts a proxy with prices, and a tool whose responses report so many units.
async fn with_prices(folder: &TempDir, reported: &str) -> Direct {
    with_server(folder, reported, "").await
}

/// Does the same with this line of `[server]`.
async fn with_server(folder: &TempDir, reported: &str, line: &str) -> Direct {
    let response = format!("HTTP/1.1 200 OK\r\nX-Usage-Units: {reported}\r\nContent-Length: 0\r\n\r\n");
    let direct = Direct::with(ToolBehavior::Respond(response.into_bytes()), |config: ProxyConfig| {
        let config = config.line("keys", "admin_secret = \"${ADMIN_SECRET}\"").line("server", line);
        config.section("limits", &prices(folder, PRICES))
    });
    direct.await
}

fn request(key: &str, action: &str) -> Request {
    Request::new("GET", &format!("/v1/qr/{action}")).header("X-API-Key", key)
}

async fn call(direct: &Direct, key: &str, action: &str) -> Response {
    direct.proxy.send(request(key, action)).await
}

async fn units_today(direct: &Direct, key: &str) -> u64 {
    direct.me(key).await["usage"]["units"]["day"]["used"].as_u64().unwrap()
}

#[tokio::test]
async fn budget_in_units_is_exact_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let direct = with_prices(&folder, "7").await;
    let (key, _) = direct.issue(json!({ "limits": { "units": { "day": 100 } } })).await;
    for used in (0..42).step_by(7) {
        let response = call(&direct, &key, "generate").await;
        assert_eq!(response.status, 200, "{used}: {response:?}");
        let quotas = response.header("ratelimit").unwrap();
        assert!(quotas.contains(&format!("\"units-day\";r={};", 100 - used - 60)), "{quotas}");
    }
    until("the access log has its units", || async { direct.proxy.output().contains("\"units\":7") }).await;
    let direct = direct.restart("TERM").await;
    assert_eq!(units_today(&direct, &key).await, 42);
    let refused = call(&direct, &key, "generate").await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["violated-policies"], json!(["units-day"]));
    assert_eq!(call(&direct, &key, "read").await.status, 200);
    assert_eq!(call(&direct, &key, "list").await.status, 200, "no price");
    assert_eq!(units_today(&direct, &key).await, 52);
    let (other, _) = direct.issue(json!({})).await;
    assert_eq!(direct.pass(&other, 20).await, 20, "a key without limits in units");
    assert_eq!(direct.me(&other).await["usage"].get("units"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upgrade_continues_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("upgrade.sock");
    let mut direct = with_server(&folder, "7", &format!("upgrade_socket = {socket:?}\ngrace = \"8s\"")).await;
    let (key, _) = direct.issue(json!({ "limits": { "units": { "day": 100 } } })).await;
    let mut kept = Client::connect(direct.proxy.listen).await;
    for _ in 0..4 {
        kept.write(&request(&key, "generate").bytes()).await;
        assert_eq!(kept.response("GET").await.unwrap().status, 200);
    }
    let new = direct.config.upgrade();
    new.logs("upgrade complete: predecessor=").await;
    let mut old = std::mem::replace(&mut direct.proxy, new);
    assert_eq!(units_today(&direct, &key).await, 28);
    kept.write(&request(&key, "generate").bytes()).await;
    assert_eq!(kept.response("GET").await.unwrap().status, 200, "the old process reserves and returns");
    until("the new process counts it", || async { units_today(&direct, &key).await == 35 }).await;
    assert!(old.exited().await.success());
    assert_eq!(call(&direct, &key, "generate").await.status, 200);
    assert_eq!(call(&direct, &key, "generate").await.status, 429);
    let direct = direct.restart("TERM").await;
    assert_eq!(units_today(&direct, &key).await, 42);
}

#[tokio::test]
async fn report_above_the_price_or_without_a_number_costs_the_price() {
    // The last is two headers, which are one list.
    for reported in ["500", "many", "-1", "1\r\nX-Usage-Units: 2"] {
        let folder = tempfile::tempdir().unwrap();
        let direct = with_prices(&folder, reported).await;
        let (key, _) = direct.issue(json!({ "limits": { "units": { "day": 100 } } })).await;
        assert_eq!(call(&direct, &key, "generate").await.status, 200);
        assert_eq!(units_today(&direct, &key).await, 60, "{reported}");
        assert_eq!(call(&direct, &key, "generate").await.status, 429, "{reported}");
    }
}

#[test]
fn file_of_prices_with_faults_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let settings = prices(&folder, "[qr]\nread = -1\n[qrr]\n");
    let (status, errors) = ProxyConfig::new().section("limits", &settings).run(&["--check"]);
    assert_eq!(status.code(), Some(2));
    assert!(
        errors.contains("qr.read must be a whole number") && errors.contains("qrr is not a tool"),
        "{errors}"
    );
}
