//! Stores of accounts as earlier versions of the worker left them. `account_stores/` has one for
//! each version of the schema, named after the number of its last migration.

use std::{fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tests::{http::Request, keys::ADMIN_SECRET, process::root, stack::Edge, wait::wait_for};

const NOWHERE: &str = "http://127.0.0.1:9";
const FIRST: &str = "pg_08gscVTjmbK41gq1w";

fn store(version: u64) -> PathBuf {
    root().join(format!("tests/edge/account_stores/{version}.sql"))
}

/// Returns a key with an account: the one that is named, or a new one.
fn issue(edge: &Edge, account: Option<&str>) -> (String, String) {
    let body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "free", "biolink_plan": "business", "account": account,
        "admin_secret": ADMIN_SECRET,
    });
    let issued = Request::post("/v1/keys/issue", &body).send(edge.addr);
    assert_eq!(issued.status, 201, "{}", issued.text());
    let text = |name: &str| issued.json()[name].as_str().unwrap().to_owned();
    (text("key"), text("account"))
}

/// Returns the number of migrations that an account's store has had, and its tables.
fn tables(edge: &Edge, account: &str) -> (u64, Value) {
    let shown = Request::get(&format!("/test/account-store?account={account}")).send(edge.addr);
    let shown = shown.json();
    (shown["migrations"].as_u64().unwrap(), shown["tables"].clone())
}

#[test]
fn account_of_every_earlier_version_is_migrated() {
    let edge = Edge::start_with_account_store(NOWHERE, &store(1));
    let (key, account) = issue(&edge, None);
    assert_eq!(Request::get("/pages").key(&key).send(edge.addr).status, 200);
    let (newest, expected) = tables(&edge, &account);
    for version in 1..=newest {
        let file = store(version);
        assert!(file.exists(), "version {version} of the schema needs a store in {}", file.display());
        migrated(&file, newest, &expected);
    }
    assert!(!store(newest + 1).exists(), "a migration was taken back that a stored account may have had");
}

/// Checks that a stored account has the tables of a new one, and that its pages can be read,
/// changed, restored and published.
fn migrated(file: &PathBuf, newest: u64, expected: &Value) {
    let edge = Edge::start_with_account_store(NOWHERE, file);
    let stored = fs::read_to_string(file).unwrap();
    let account = stored.lines().next().unwrap().strip_prefix("-- account ").unwrap();
    let (key, _) = issue(&edge, Some(account));
    let send = |request: Request| {
        let response = request.key(&key).send(edge.addr);
        assert_eq!(response.status, 200, "{}: {}", file.display(), response.text());
        response.json()
    };
    let page = format!("/pages/{FIRST}");

    let listed = send(Request::get("/pages"));
    let slugs: Vec<_> = listed["data"].as_array().unwrap().iter().map(|page| &page["slug"]).collect();
    assert_eq!(slugs, ["later", "lovelace"]);
    let read = send(Request::get(&page));
    assert_eq!(
        (&read["bio"], &read["published_revision"], &read["revision"]),
        (&json!("Second"), &json!(1), &json!(2))
    );
    assert_eq!((&read["former_slugs"][0]["slug"], &read["metadata"]["note"]), (&json!("ada"), &json!("x")));
    assert_eq!(read["links"][2]["gate"], json!({"kind": "age", "min": 18}));
    assert_eq!(tables(&edge, account), (newest, expected.clone()), "{}", file.display());

    let patch = Request::post(&page, &json!({"bio": "Third", "status": "published"}));
    let patched = send(Request { method: "PATCH".to_owned(), ..patch });
    assert_eq!((&patched["bio"], &patched["published_revision"]), (&json!("Third"), &json!(3)));
    let restored = send(Request::new("POST", &format!("{page}/revisions/1/restore")));
    assert_eq!((&restored["bio"], &restored["revision"]), (&json!(""), &json!(4)));
    let visited = || Request::get("/lovelace").send(edge.addr).text().contains("Third");
    wait_for(Duration::from_secs(30), || visited().then_some(()));
}
