//! The clients that progenitor makes of both descriptions, calling the gateway (scripts/clients.sh).

use std::{
    collections::{HashMap, HashSet},
    env,
    num::NonZeroU64,
};

use futures_util::TryStreamExt;
use generated_client::{
    biolink,
    gateway::{ByteStream, Client, Error, ResponseValue, types},
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run scripts/clients.sh rust"))
}

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// HTTP with a header on each request; progenitor leaves credentials to its user.
fn http(name: HeaderName, value: &str) -> reqwest::Client {
    let headers = HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]);
    reqwest::Client::builder().default_headers(headers).build().unwrap()
}

fn with_key(key: &str) -> Client {
    Client::new_with_client(&variable("GATEWAY_URL"), http(API_KEY, key))
}

fn administrator() -> Client {
    let value = format!("Bearer {}", variable("ADMIN_SECRET"));
    Client::new_with_client(&variable("GATEWAY_URL"), http(AUTHORIZATION, &value))
}

async fn issue(email: &str) -> Result<ResponseValue<types::IssuedKey>, Error<ByteStream>> {
    let request = types::IssueRequest::builder()
        .email(email)
        .name("Ada")
        .tier(types::IssueRequestTier::Pro)
        .biolink_plan(types::IssueRequestBiolinkPlan::Business)
        .admin_secret(variable("ADMIN_SECRET"));
    administrator().issue_key().body(request).send().await
}

async fn read(stream: ByteStream) -> Vec<u8> {
    let append = async |mut read: Vec<u8>, bytes: bytes::Bytes| {
        read.extend_from_slice(&bytes);
        Ok(read)
    };
    stream.into_inner().try_fold(Vec::new(), append).await.unwrap()
}

/// The status and the problem of a refused call.
async fn problem<T>(result: Result<T, Error<ByteStream>>) -> (u16, types::Problem) {
    let Err(Error::ErrorResponse(response)) = result else { panic!("not an error as described") };
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&read(response.into_inner()).await).unwrap())
}

async fn qr_code(body: serde_json::Value) -> ResponseValue<ByteStream> {
    let body = body.as_object().unwrap().clone();
    let client = with_key(&variable("GATEWAY_KEY"));
    let response = client.qr_post().action("generate").body(body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response
}

#[tokio::test]
async fn rust_readme_call_returns_svg() {
    let response = qr_code(json!({ "url": "https://example.com", "size": 256 })).await;
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("image/svg+xml"));
    let image = String::from_utf8(read(response.into_inner()).await).unwrap();
    assert!(image.contains("<svg"), "{image}");
}

#[tokio::test]
async fn rust_tool_response_is_bytes() {
    let response = qr_code(json!({ "url": "https://example.com", "format": "png" })).await;
    assert!(read(response.into_inner()).await.starts_with(b"\x89PNG"));
}

#[tokio::test]
async fn rust_issued_key_reads_itself() {
    let issued = issue("ada@example.com").await.unwrap();
    assert_eq!(issued.status(), 201);
    let own = with_key(&issued.key).read_own_key().send().await.unwrap();
    let limit = own.usage.as_ref().map(|usage| usage.minute.limit);
    assert_eq!((&own.id, limit), (&issued.id, Some(Some(100))));
    assert_eq!(own.tier.map(|tier| tier.to_string()).as_deref(), Some("pro"));
}

#[tokio::test]
async fn rust_key_list_reaches_page_2() {
    for _ in 0..3 {
        issue("ada@example.com").await.unwrap();
    }
    let limit = NonZeroU64::new(2).unwrap();
    let first = administrator().list_keys().limit(limit).send().await.unwrap().into_inner();
    assert_eq!(first.keys.len(), 2);
    let cursor = first.cursor.unwrap();
    let second = administrator().list_keys().limit(limit).cursor(cursor).send().await.unwrap().into_inner();
    let seen: HashSet<_> = first.keys.iter().map(|key| key.id.clone()).collect();
    assert!(!second.keys.is_empty() && second.keys.iter().all(|key| !seen.contains(&key.id)));
}

#[tokio::test]
async fn rust_invalid_fields_are_a_typed_problem() {
    let (status, problem) = problem(issue("not an address").await).await;
    assert_eq!((status, problem.code), (422, types::ProblemCode::FieldsInvalid));
    assert_eq!(problem.errors[0].pointer, "#/email");
}

#[tokio::test]
async fn rust_missing_key_is_401_key_missing() {
    let refused = Client::new(&variable("GATEWAY_URL")).read_own_key().send().await;
    let (status, problem) = problem(refused).await;
    assert_eq!((status, problem.code), (401, types::ProblemCode::KeyMissing));
}

#[tokio::test]
async fn rust_tool_error_is_told_from_the_gateways() {
    let query = HashMap::from([("code".to_owned(), "404".to_owned())]);
    let call = async |client: Client| {
        let result = client.qr_get().action("status").query(query.clone()).send().await;
        let Err(Error::ErrorResponse(response)) = result else { panic!("not an error as described") };
        (response.status().as_u16(), response.headers().get("x-gateway-problem").cloned())
    };
    assert_eq!(call(with_key(&variable("GATEWAY_KEY"))).await, (404, None));
    let refused = call(with_key("no key")).await;
    assert_eq!(refused, (401, Some(HeaderValue::from_static("key-malformed"))));
}

/// Bio-link pages are served by the edge alone: `--skip pages::` leaves these out.
mod pages {
    use super::*;

    /// Returns the client of a new account.
    async fn account() -> biolink::Client {
        let key = issue("ada@example.com").await.unwrap().key.clone();
        biolink::Client::new_with_client(&variable("GATEWAY_URL"), http(API_KEY, &key))
    }

    #[tokio::test]
    async fn rust_page_list_reaches_page_2() {
        let owner = account().await;
        let mut created = HashSet::new();
        for title in ["One", "Two", "Three"] {
            let page = owner.create_page().body(titled(title)).send().await.unwrap().into_inner();
            assert!(page.urls.qr.ends_with("/qr.svg"), "{}", page.urls.qr);
            created.insert(String::from(page.id));
        }
        let limit = NonZeroU64::new(2).unwrap();
        let first = owner.list_pages().limit(limit).send().await.unwrap().into_inner();
        let cursor = first.next_cursor.unwrap();
        let second = owner.list_pages().limit(limit).cursor(cursor).send().await.unwrap().into_inner();
        assert_eq!((first.data.len(), second.next_cursor), (2, None));
        let listed = first.data.into_iter().chain(second.data).map(|page| String::from(page.id));
        assert_eq!(listed.collect::<HashSet<_>>(), created);
    }

    fn titled(title: &str) -> biolink::types::builder::PageInput {
        biolink::types::PageInput::builder().title(title)
    }

    #[tokio::test]
    async fn rust_lists_of_a_query_are_read() {
        use biolink::types::{ReadAnalyticsGroupByItem as Group, ReadAnalyticsMetricsItem as Metric};
        let owner = account().await;
        let report = owner
            .read_analytics()
            .metrics(vec![Metric::Views, Metric::Clicks])
            .group_by(vec![Group::Country, Group::Device]);
        let report = report.send().await.unwrap().into_inner();
        assert_eq!(
            (report.totals.views, report.totals.clicks, report.totals.visitors),
            (Some(0), Some(0), None)
        );
        assert!(report.groups.country.is_empty() && report.groups.link.is_empty());
    }

    #[tokio::test]
    async fn rust_unknown_page_is_a_typed_problem() {
        let owner = account().await;
        let refused = owner.read_page().page_id("pg_00000000000000000").send().await;
        let Err(biolink::Error::ErrorResponse(response)) = refused else {
            panic!("not an error as described")
        };
        let body = read(response.into_inner()).await;
        let problem: biolink::types::Problem = serde_json::from_slice(&body).unwrap();
        assert_eq!((problem.status, problem.code.as_str()), (404, "page-unknown"));
    }

    #[tokio::test]
    async fn rust_webhook_has_a_secret_unless_it_is_tried() {
        let owner = account().await;
        let url: biolink::types::WebhookInputUrl = "https://hooks.example.com/".parse().unwrap();
        let create = async |is_tried: bool| {
            let input = biolink::types::WebhookInput::builder()
                .url(Some(url.clone()))
                .events(vec![biolink::types::WebhookInputEventsItem::Click]);
            owner.create_webhook().dry_run(is_tried).body(input).send().await.unwrap().into_inner().secret
        };
        assert!(create(true).await.is_none());
        assert!(create(false).await.unwrap().starts_with("whsec_"));
    }

    #[tokio::test]
    async fn rust_export_is_lines() {
        let owner = account().await;
        let lines =
            String::from_utf8(read(owner.export_account().send().await.unwrap().into_inner()).await).unwrap();
        assert!(lines.ends_with("{\"object\":\"end\"}\n"), "{lines}");
    }
}
