//! A proxy that issues keys while its disk is full.

use serde_json::{Value, json};
use tests::{Request, keys::ADMIN_SECRET, small_disk::SmallDisk};

use super::Direct;

impl Direct {
    /// Asks to issue a key. Returns the status and the key.
    async fn ask(&self, name: &str, once: &str) -> (u16, Option<String>) {
        let holder =
            json!({ "email": "ada@example.com", "name": name, "tier": "pro", "admin_secret": ADMIN_SECRET });
        let mut request = Request::new("POST", "/v1/keys/issue").json(&holder.to_string());
        if !once.is_empty() {
            request = request.header("Idempotency-Key", once);
        }
        let response = self.proxy.send(request).await;
        (response.status, response.json()["key"].as_str().map(str::to_owned))
    }

    /// Returns the ids of all keys.
    async fn listed(&self) -> Vec<String> {
        let list = self.administer("GET", "/v1/keys", None).await.json();
        list["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap().to_owned()).collect()
    }

    async fn own(&self, key: &str, method: &str, target: &str, body: &Value) -> u16 {
        let request = Request::new(method, target).header("X-API-Key", key).json(&body.to_string());
        self.proxy.send(request).await.status
    }
}

const ONCE: &str = "3f0c1a52-8d65-4f6c-9a55-2f1f6d1c9b01";

/// What was answered with 503 is not in effect, in memory or after a restart; only a revocation is. With
/// room again, a retry does all of it.
#[tokio::test]
async fn full_disk_leaves_no_change_half_made() {
    let direct = Direct::issuing().await;
    let disk = SmallDisk::mount(direct.folder.path());
    let (key, id) = direct.issue(json!({})).await;
    let (doomed, doomed_id) = direct.issue(json!({})).await;
    let before = direct.listed().await;
    disk.fill();

    assert_eq!(direct.ask("Eve", "").await, (503, None));
    assert_eq!(direct.ask("Eve", ONCE).await, (503, None));
    assert_eq!(direct.listed().await, before, "no key that nobody was given");
    let rotated = direct.own(&key, "POST", "/v1/keys/me/rotate", &json!({ "grace_seconds": 0 })).await;
    assert_eq!(rotated, 503);
    assert_eq!(direct.call(&key).await.status, 200, "its holder has no other");
    let named = format!("/v1/keys/{id}");
    assert_eq!(direct.administer("PATCH", &named, Some(json!({ "tier": "enterprise" }))).await.status, 503);
    let secret = json!({ "name": "ci", "scopes": { "tools": ["qr"] } });
    assert_eq!(direct.own(&key, "POST", "/v1/keys/me/secrets", &secret).await, 503);
    let me = direct.me(&key).await;
    assert_eq!(me["tier"], "pro", "{me}");
    let shown = direct.administer("GET", &named, None).await.json();
    assert_eq!(shown["secrets"].as_array().map(Vec::len), Some(0), "{shown}");
    let revoke = format!("/v1/keys/{doomed_id}/revoke");
    assert_eq!(direct.administer("POST", &revoke, None).await.status, 503);
    assert_eq!(direct.call(&doomed).await.json()["code"], "key-revoked", "what was to end has ended");

    disk.free();
    let (status, issued) = direct.ask("Eve", ONCE).await;
    let issued = issued.unwrap();
    assert_eq!((status, direct.call(&issued).await.status), (201, 200));
    let direct = direct.restart("KILL").await;
    assert_eq!(direct.call(&issued).await.status, 200, "it was stored");
    assert_eq!(direct.ask("Eve", ONCE).await, (201, Some(issued)));
    assert_eq!(direct.listed().await.len(), before.len() + 1);
    assert_eq!(direct.call(&key).await.status, 200);
    assert_eq!(direct.call(&doomed).await.json()["code"], "key-revoked");
}
