//! The schemas of keys against what the keys API reads and writes.

use ::biolink::webhooks::{EventHead, EventId, WebhookKind};
use shared::key::{KeyEntropy, KeyEnv};
use shared::keys_api::IssueRequest;
use shared::request_id::RequestId;
use shared::secret::MacKeys;
use shared::time::UnixMillis;

use super::*;

fn schema(name: &str) -> Value {
    document(SERVER)["components"]["schemas"][name].clone()
}

fn members(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn issued_key_has_the_described_members() {
    let body = json!({"email": "ada@example.com", "name": "Ada", "tier": "free", "admin_secret": "s"});
    let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let entropy = KeyEntropy { id: [1; 12], secret: [2; 16] };
    let now = UnixMillis(1_763_712_000_000);
    let new = IssueRequest::read(body.to_string().as_bytes(), None).unwrap().check(now).unwrap();
    let issued = serde_json::from_str(&new.issue(KeyEnv::Live, entropy, &keys, now).response().body).unwrap();
    assert_eq!(members(&issued), members(&schema("IssuedKey")["properties"]));
}

/// The list has for each kind what webhooks are sent.
#[test]
fn listed_alert_has_the_members_of_its_webhook() {
    let list = document(SERVER)["paths"]["/v1/keys/me/alerts"]["get"]["responses"]["200"]["content"]
        ["application/json"]["example"]["alerts"]
        .clone();
    let at = UnixMillis(1_763_712_000_000);
    let head =
        EventHead { id: EventId::numbered(1, [1; 8]), at, is_test: true, sequence: 1, page_sequence: 0 };
    for kind in WebhookKind::ALL.into_iter().filter(|kind| kind.is_alert()) {
        let sent: Value = serde_json::from_str(&head.render_sample(kind)).unwrap();
        let listed = list.as_array().unwrap().iter().find(|alert| alert["type"] == sent["type"]).unwrap();
        assert_eq!(members(&listed["data"]), members(&sent["data"]));
        for (name, member) in
            sent["data"].as_object().unwrap().iter().filter(|(_, member)| member.is_object())
        {
            assert_eq!(members(&listed["data"][name]), members(member), "{name}");
        }
    }
}

#[test]
fn issue_request_has_the_described_fields() {
    let described = schema("IssueRequest");
    let body: Value =
        members(&described["properties"]).into_iter().map(|name| (name, Value::Bool(false))).collect();
    let fault =
        IssueRequest::read(body.to_string().as_bytes(), None).unwrap().check(UnixMillis(0)).unwrap_err();
    let rendered = fault.render(&RequestId([0; 16])).body;
    assert!(!rendered.contains("is not a field here"), "{rendered}");
    let empty = IssueRequest::read(b"{}", None).unwrap().check(UnixMillis(0)).unwrap_err();
    let rendered: Value = serde_json::from_str(&empty.render(&RequestId([0; 16])).body).unwrap();
    let missing: BTreeSet<_> = rendered["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["pointer"].as_str().unwrap()[2..].to_owned())
        .collect();
    let required: BTreeSet<_> =
        described["required"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect();
    assert_eq!(missing, required);
}
