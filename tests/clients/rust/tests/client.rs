//! A client that progenitor makes of the description, calling the gateway (scripts/clients.sh).

use std::{
    collections::{HashMap, HashSet},
    env,
    num::NonZeroU64,
};

use futures_util::TryStreamExt;
use generated_client::{ByteStream, Client, Error, ResponseValue, types};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run scripts/clients.sh rust"))
}

/// The client with a header on each request; progenitor leaves credentials to its user.
fn client(name: HeaderName, value: &str) -> Client {
    let headers = HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]);
    let http = reqwest::Client::builder().default_headers(headers).build().unwrap();
    Client::new_with_client(&variable("GATEWAY_URL"), http)
}

fn with_key(key: &str) -> Client {
    client(HeaderName::from_static("x-api-key"), key)
}

fn administrator() -> Client {
    client(AUTHORIZATION, &format!("Bearer {}", variable("ADMIN_SECRET")))
}

async fn issue(email: &str) -> Result<ResponseValue<types::IssuedKey>, Error<ByteStream>> {
    let request = types::IssueRequest::builder()
        .email(email)
        .name("Ada")
        .tier(types::IssueRequestTier::Pro)
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

#[tokio::test]
async fn rust_readme_call_returns_svg() {
    let body = json!({ "url": "https://example.com", "size": 256 });
    let body = body.as_object().unwrap().clone();
    let response =
        with_key(&variable("GATEWAY_KEY")).qr_post().action("generate").body(body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("image/svg+xml"));
    let image = String::from_utf8(read(response.into_inner()).await).unwrap();
    assert!(image.contains("<svg"), "{image}");
}

#[tokio::test]
async fn rust_issued_key_reads_itself() {
    let issued = issue("ada@example.com").await.unwrap();
    assert_eq!(issued.status(), 201);
    let own = with_key(&issued.key).read_own_key().send().await.unwrap();
    assert_eq!((&own.id, own.usage.minute.limit), (&issued.id, Some(100)));
    assert_eq!(own.tier.to_string(), "pro");
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
