//! The admin server: liveness, readiness, metrics and pools, and with a token the changes of operators.
//! It listens on loopback by default.

use std::sync::Arc;

use async_trait::async_trait;
use http::{Response, StatusCode, header};
use pingora::apps::http_app::ServeHttp;
use pingora::protocols::http::ServerSession;
use serde_json::{Value, json};
use shared::caller::bearer_token;
use shared::headers::KEY_ID;
use tokio::time::timeout;

use crate::control::controller::{Controller, MAX_REQUEST, PATIENCE};
use config::changes::ControlResponse;
use config::{FailedPart, ReloadReport};
use phases::observe::metrics::{Sources, open_metrics};
use phases::state::{Mode, State};
use transport::clock::Monotonic;
use upstreams::{Ejection, Pool};

/// The HTTP application of the admin listener.
pub(crate) struct Admin {
    pub(crate) state: Arc<State>,
    pub(crate) controller: Arc<Controller>,
}

#[async_trait]
impl ServeHttp for Admin {
    async fn response(&self, session: &mut ServerSession) -> Response<Vec<u8>> {
        let request = session.req_header();
        // A file of servers or a name may lead to this port, or to that of another proxy. Whoever calls the tool
        // would read the pools then.
        if request.headers.contains_key(KEY_ID) {
            let error =
                "this is the admin port of a proxy and no server of a tool: correct the servers of the pool";
            return json_response(StatusCode::MISDIRECTED_REQUEST, &json!({ "error": error }));
        }
        if request.uri.path() == "/changes" && request.method == http::Method::POST {
            return self.change(session).await;
        }
        let is_read = matches!(request.method, http::Method::GET | http::Method::HEAD);
        match (request.uri.path(), is_read) {
            ("/healthz", true) => json_response(StatusCode::OK, &json!({ "status": "ok" })),
            ("/readyz", true) => self.readiness(),
            ("/metrics", true) => self.metrics(accept(request)),
            ("/pools", true) => json_response(StatusCode::OK, &self.pools()),
            ("/changes", _) => json_response(
                StatusCode::METHOD_NOT_ALLOWED,
                &json!({ "error": "method not allowed, use POST; /pools shows the changes" }),
            ),
            ("/healthz" | "/readyz" | "/metrics" | "/pools", false) => json_response(
                StatusCode::METHOD_NOT_ALLOWED,
                &json!({ "error": "method not allowed, use GET" }),
            ),
            _ => json_response(
                StatusCode::NOT_FOUND,
                &json!({ "error": "unknown path, expected /healthz, /readyz, /metrics, /pools or /changes" }),
            ),
        }
    }
}

impl Admin {
    /// Makes a change of an operator who has the token.
    async fn change(&self, session: &mut ServerSession) -> Response<Vec<u8>> {
        let config = self.state.config.load_full();
        let Some(token) = &config.server.admin_token else {
            let error = "changes are not accepted here: set `server.admin_token`, or use the admin socket";
            return json_response(StatusCode::FORBIDDEN, &json!({ "error": error }));
        };
        let address = session.client_addr().map(ToString::to_string).unwrap_or_default();
        let presented = session.req_header().headers.get(header::AUTHORIZATION);
        let presented = bearer_token(presented.and_then(|value| value.to_str().ok()));
        if !presented.is_some_and(|presented| token.matches(presented)) {
            log::warn!("change refused: by=\"address={address}\" error=\"invalid token\"");
            let mut response = json_response(
                StatusCode::UNAUTHORIZED,
                &json!({ "error": "send the header Authorization: Bearer, with the value of `server.admin_token`" }),
            );
            let challenge = header::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            return response;
        }
        let Some(request) = timeout(PATIENCE, read_text(session)).await.ok().flatten() else {
            let error = "the body is incomplete, too large, too slow or no text";
            return json_response(StatusCode::BAD_REQUEST, &json!({ "error": error }));
        };
        let response = self.controller.handle(&request, format!("address={address}")).await;
        let status = match response {
            ControlResponse::Refused(_) => StatusCode::BAD_REQUEST,
            ControlResponse::Applied(_) | ControlResponse::Changes(_) => StatusCode::OK,
        };
        json_response(status, &json!(response))
    }

    fn readiness(&self) -> Response<Vec<u8>> {
        if self.state.is_ready() {
            return json_response(StatusCode::OK, &json!({ "status": "ready" }));
        }
        let status = if self.state.drain.is_announced() { "draining" } else { "probing" };
        json_response(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": status }))
    }

    fn metrics(&self, accept: &str) -> Response<Vec<u8>> {
        let is_open = open_metrics::is_accepted(accept);
        let media_type = if is_open { open_metrics::MEDIA_TYPE } else { prometheus::TEXT_FORMAT };
        match self.render(is_open) {
            Ok(text) => response(StatusCode::OK, media_type, text.into_bytes()),
            Err(error) => {
                log::error!("metrics not rendered: error=\"{error}\"");
                json_response(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "error": "see the log" }))
            }
        }
    }

    fn render(&self, is_open: bool) -> Result<String, prometheus::Error> {
        let state = &self.state;
        let (config, pools) = (state.config.load(), state.pools.load());
        let (replay, used_grants, replay_capacity) = match &state.mode {
            Mode::Edge(edge) => {
                (Some(&edge.replay), edge.used_grants.as_deref(), edge.config.load().replay_capacity)
            }
            Mode::Direct(_) => (None, None, 0),
        };
        let sources = Sources {
            pools: &pools,
            tls: config.server.tls.as_ref(),
            report: &state.report.load(),
            failed_parts: &config.failed_parts,
            requests_in_flight: state.drain.requests(),
            replay,
            used_grants,
            replay_capacity,
            direct: state.mode.direct().map(|direct| &**direct),
            log_dropped: state.access_log.dropped(),
            is_ready: state.is_ready(),
        };
        match is_open {
            true => state.metrics.render_open_metrics(&sources),
            false => state.metrics.render(&sources),
        }
    }

    fn pools(&self) -> Value {
        let now = Monotonic::now();
        let current = self.state.pools.load();
        let pools = current.iter().map(|pool| (pool.config.tool.as_str().to_owned(), show(pool, now)));
        json!({
            "ready": self.state.is_ready(),
            "configuration": configuration(&self.state.report.load(), &self.state.config.load().failed_parts),
            "changes": self.state.changes.to_json(),
            "pools": Value::Object(pools.collect()),
        })
    }
}

/// Reads the body of a request. Returns `None` if it is not complete, too large or no text.
async fn read_text(session: &mut ServerSession) -> Option<String> {
    let mut body = Vec::new();
    while let Some(piece) = session.read_request_body().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_REQUEST {
            return None;
        }
    }
    String::from_utf8(body).ok()
}

/// Returns the formats that a client accepts.
fn accept(request: &http::request::Parts) -> &str {
    request.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn configuration(report: &ReloadReport, failed: &[FailedPart]) -> Value {
    let failed = failed.iter().map(|part| {
        let in_use = if part.is_kept { "last good" } else { "none" };
        json!({ "key": part.fault.key, "error": part.fault.detail, "in_use": in_use })
    });
    json!({
        "generation": report.generation,
        "loaded_at": report.loaded_at.to_rfc3339(),
        "rejected": report.rejected,
        "failed_files": failed.collect::<Vec<_>>(),
        "needs_restart": report.needs_restart,
    })
}

fn show(pool: &Pool, now: Monotonic) -> Value {
    let upstreams = pool.upstreams.iter().map(|upstream| {
        json!({
            "name": upstream.name,
            "address": upstream.address.map(|address| address.to_string()),
            "health": upstream.health().into_str(),
            "available": pool.is_in_use(upstream, now),
            "ejected_for_ms": upstream.ejected_for(now),
            "last_ejection": upstream.last_ejection().map(|ejection| show_ejection(&ejection, now)),
            "weight": upstream.config.weight,
            "backup": upstream.config.backup,
            "duty": upstream.config.admin_state.into_str(),
            "being_tried": upstream.has_trial_call(),
            "in_flight": upstream.in_flight(),
            "next_probe_in_ms": upstream.next_probe().since(now),
        })
    });
    json!({
        "in_flight": pool.in_flight(),
        "in_flight_limit": pool.config.settings.calls_in_flight,
        "described_actions": pool.description().map(|description| description.actions()),
        "description_error": pool.description_error(),
        "upstreams_file_error": pool.config.upstreams_file_error,
        "queued": pool.queued(),
        "panic": pool.is_panicking(now),
        "upstreams": upstreams.collect::<Vec<_>>(),
    })
}

/// Returns why an upstream was last ejected. It may have returned since.
fn show_ejection(ejection: &Ejection, now: Monotonic) -> Value {
    json!({
        "reason": ejection.reason.into_str(),
        "last_failure": ejection.last.map(|failure| failure.to_string()),
        "consecutive": ejection.consecutive,
        "failed": ejection.failed,
        "of": ejection.calls,
        "ms_ago": now.since(ejection.at),
    })
}

fn json_response(status: StatusCode, body: &Value) -> Response<Vec<u8>> {
    response(status, "application/json", body.to_string().into_bytes())
}

fn response(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response<Vec<u8>> {
    let length = body.len();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_LENGTH, length.into());
    response
}
