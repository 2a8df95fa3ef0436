//! A stand-in for the gateway: as much of its outside as the scenarios look at.

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

/// Lets `admits` calls through and says that `announces` are allowed.
pub(crate) struct Gateway {
    pub(crate) addr: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    calls_by_key: BTreeMap<String, u32>,
    admitted: u32,
}

impl Gateway {
    pub(crate) async fn start(admits: u32, announces: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let state = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                let service = service_fn(move |request| {
                    let answer = answer(&request, &mut state.lock().unwrap(), admits, announces);
                    async { Ok::<_, Infallible>(answer) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { addr, seen }
    }

    pub(crate) fn calls_with(&self, key: &str) -> u32 {
        self.seen.lock().unwrap().calls_by_key.get(key).copied().unwrap_or(0)
    }
}

fn answer(
    request: &Request<Incoming>,
    seen: &mut Seen,
    admits: u32,
    announces: u32,
) -> Response<Full<Bytes>> {
    let key = request.headers().get("x-api-key").map_or("", |key| key.to_str().unwrap()).to_owned();
    if request.uri().path() == "/v1/keys/me/rotate" {
        assert_eq!((request.method().as_str(), key.as_str()), ("POST", OLD_KEY));
        return Response::new(Full::from(format!(r#"{{"key": "{NEW_KEY}"}}"#)));
    }
    *seen.calls_by_key.entry(key).or_default() += 1;
    let mut answer = Response::new(Full::from("{}"));
    if seen.admitted < admits {
        seen.admitted += 1;
    } else {
        *answer.status_mut() = hyper::StatusCode::TOO_MANY_REQUESTS;
        *answer.body_mut() = Full::from(r#"{"code": "quota-exceeded"}"#);
        answer.headers_mut().insert("content-type", "application/problem+json".parse().unwrap());
        answer.headers_mut().insert("retry-after", "30".parse().unwrap());
    }
    let policy = format!(r#""day";q=1000;w=86400, "minute";q={announces};w=60"#);
    answer.headers_mut().insert("ratelimit-policy", policy.parse().unwrap());
    answer
}
