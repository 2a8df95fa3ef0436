//! What shells complete: the last five minutes, and the state of sources.

use biolink::analytics::{LiveRequest, Report};
use biolink::page::PageId;
use biolink::product_sync::{complete, runs_body};
use serde_json::{Value, json};
use shared::time::UnixMillis;

#[test]
fn live_report_has_five_minutes() {
    let page = PageId::new([1; 12]);
    let request = LiveRequest::parse(Some(&format!("page_id={page}"))).unwrap();
    assert_eq!(request.pages(), [page]);
    assert!(
        LiveRequest::parse(Some("limit=1")).is_err() && LiveRequest::parse(None).unwrap().pages().is_empty()
    );
    let report = LiveRequest::render(UnixMillis(1_763_726_430_000), &Report::merge([]));
    let body: Value = serde_json::from_str(&report.body).unwrap();
    assert_eq!(
        (&body["start"], &body["end"]),
        (&json!("2025-11-21T11:56:00Z"), &json!("2025-11-21T12:01:00Z"))
    );
    let empty = json!({"views": 0, "visitors": 0, "clicks": 0, "scans": 0});
    assert_eq!(body["totals"], empty);
    let minutes = body["minutes"].as_array().unwrap();
    assert_eq!((minutes.len(), &minutes[4]["start"]), (5, &json!("2025-11-21T12:00:00Z")));
}

#[test]
fn sources_are_completed_with_address_secret_and_state() {
    let source = |enabled: bool| json!({"id": "src_1", "push": {"enabled": enabled, "sealed": "AQ"}});
    let finish = |mut body: Value| {
        complete(
            &mut body,
            "https://p.example",
            |_| Some("secret".to_owned()),
            |_| Some(json!({"status": "ok"})),
        );
        body
    };
    let one = finish(source(true));
    assert_eq!(one["push"]["url"], "https://p.example/hooks/products/src_1");
    assert_eq!((&one["push"]["secret"], &one["sync"]["status"]), (&json!("secret"), &json!("ok")));
    assert_eq!(one["push"].get("sealed"), None);
    let list = finish(json!({"data": [source(false)]}));
    assert_eq!(list["data"][0]["push"]["url"], Value::Null);
    assert_eq!(finish(json!({"title": "no source"})), json!({"title": "no source"}));
    let mut unknown = source(true);
    complete(&mut unknown, "https://p.example", |_| None, |_| None);
    assert!(unknown["sync"].is_object() && unknown["push"]["secret"].is_null());
    assert_eq!(runs_body(&[]), r#"{"data":[],"object":"list"}"#);
}
