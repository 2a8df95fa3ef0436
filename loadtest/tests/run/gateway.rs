//! A fake gateway with the endpoints and headers that the scenarios use.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

pub(crate) const OLD_KEY: &str = "utg_test_0000old";
pub(crate) const NEW_KEY: &str = "utg_test_0000new";

/// A fake gateway that admits `admits` calls and announces a limit of `announces`. One call may get a
/// 503.
pub(crate) struct Gateway {
    pub(crate) addr: SocketAddr,
    calls: Arc<Mutex<ReceivedCalls>>,
}

#[derive(Default)]
struct ReceivedCalls {
    by_key: BTreeMap<String, u32>,
    admitted: u32,
    has_failed: bool,
}

impl Gateway {
    pub(crate) async fn start(admits: u32, announces: u32) -> Self {
        Self::start_failing(admits, announces, None).await
    }

    /// Starts a gateway that responds with 503 to call number `fails`, counted from 0.
    pub(crate) async fn start_failing(admits: u32, announces: u32, fails: Option<u32>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let calls = Arc::new(Mutex::new(ReceivedCalls::default()));
        let state = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                let service = service_fn(move |request| {
                    let response = respond(&request, &mut state.lock().unwrap(), admits, announces, fails);
                    async { Ok::<_, Infallible>(response) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { addr, calls }
    }

    pub(crate) fn calls_with(&self, key: &str) -> u32 {
        self.calls.lock().unwrap().by_key.get(key).copied().unwrap_or(0)
    }
}

fn respond(
    request: &Request<Incoming>,
    calls: &mut ReceivedCalls,
    admits: u32,
    announces: u32,
    fails: Option<u32>,
) -> Response<Full<Bytes>> {
    let key = request.headers().get("x-api-key").map_or("", |key| key.to_str().unwrap()).to_owned();
    if request.uri().path() == "/v1/keys/me/rotate" {
        assert_eq!((request.method().as_str(), key.as_str()), ("POST", OLD_KEY));
        return Response::new(Full::from(format!(r#"{{"key": "{NEW_KEY}"}}"#)));
    }
    if request.uri().path() == "/v1/keys/me" {
        return Response::new(Full::from("{}"));
    }
    *calls.by_key.entry(key).or_default() += 1;
    let mut response = Response::new(Full::from("{}"));
    if Some(calls.admitted) == fails && !calls.has_failed {
        calls.has_failed = true;
        *response.status_mut() = hyper::StatusCode::SERVICE_UNAVAILABLE;
    } else if calls.admitted < admits {
        calls.admitted += 1;
    } else {
        *response.status_mut() = hyper::StatusCode::TOO_MANY_REQUESTS;
        *response.body_mut() = Full::from(r#"{"code": "quota-exceeded"}"#);
        response.headers_mut().insert("content-type", "application/problem+json".parse().unwrap());
        response.headers_mut().insert("retry-after", "30".parse().unwrap());
    }
    let policy = format!(r#""day";q=1000;w=86400, "minute";q={announces};w=60"#);
    response.headers_mut().insert("ratelimit-policy", policy.parse().unwrap());
    response
}
