//! What operators and their tools see: liveness, readiness, metrics and pools. Bound to loopback by default.

use std::sync::Arc;

use async_trait::async_trait;
use http::{Response, StatusCode, header};
use pingora_core::{apps::http_app::ServeHttp, protocols::http::ServerSession};
use serde_json::{Value, json};

use crate::{
    config::{AdminState, ReloadReport},
    state::State,
    upstreams::Pool,
};
use transport::clock::Monotonic;

/// The admin port.
pub struct Admin(pub Arc<State>);

#[async_trait]
impl ServeHttp for Admin {
    async fn response(&self, session: &mut ServerSession) -> Response<Vec<u8>> {
        let request = session.req_header();
        let reading = matches!(request.method, http::Method::GET | http::Method::HEAD);
        match (request.uri.path(), reading) {
            ("/healthz", true) => json_answer(StatusCode::OK, &json!({ "status": "ok" })),
            ("/readyz", true) => self.readiness(),
            ("/metrics", true) => self.metrics(),
            ("/pools", true) => json_answer(StatusCode::OK, &self.pools()),
            ("/healthz" | "/readyz" | "/metrics" | "/pools", false) => {
                json_answer(StatusCode::METHOD_NOT_ALLOWED, &json!({ "error": "these are read with GET" }))
            }
            _ => json_answer(
                StatusCode::NOT_FOUND,
                &json!({ "error": "there are /healthz, /readyz, /metrics and /pools" }),
            ),
        }
    }
}

impl Admin {
    fn readiness(&self) -> Response<Vec<u8>> {
        if self.0.is_ready() {
            return json_answer(StatusCode::OK, &json!({ "status": "ready" }));
        }
        let status = if self.0.drain.is_announced() { "draining" } else { "probing" };
        json_answer(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": status }))
    }

    fn metrics(&self) -> Response<Vec<u8>> {
        match self.0.metrics.render(&self.0) {
            Ok(text) => answer(StatusCode::OK, prometheus::TEXT_FORMAT, text),
            Err(error) => {
                log::error!("metrics not rendered: error=\"{error}\"");
                json_answer(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "error": "see the log" }))
            }
        }
    }

    fn pools(&self) -> Value {
        let now = Monotonic::now();
        let current = self.0.pools.load();
        let pools = current.iter().map(|pool| (pool.config.tool.as_str().to_owned(), show(pool, now)));
        json!({
            "ready": self.0.is_ready(),
            "configuration": configuration(&self.0.report.load()),
            "pools": Value::Object(pools.collect()),
        })
    }
}

fn configuration(report: &ReloadReport) -> Value {
    json!({
        "generation": report.generation,
        "loaded_at": report.loaded_at.to_rfc3339(),
        "rejected": report.rejected,
        "needs_restart": report.needs_restart,
    })
}

fn show(pool: &Pool, now: Monotonic) -> Value {
    let upstreams = pool.upstreams.iter().map(|upstream| {
        json!({
            "name": upstream.name,
            "address": upstream.address.map(|address| address.to_string()),
            "health": upstream.health().as_str(),
            "available": upstream.is_available(now),
            "ejected_for_ms": upstream.ejected_for(now),
            "weight": upstream.config.weight,
            "backup": upstream.config.backup,
            "duty": match upstream.config.admin_state {
                AdminState::Active => "calls",
                AdminState::Draining => "draining",
                AdminState::Off => "off",
            },
            "being_tried": upstream.has_trial_call(),
            "in_flight": upstream.in_flight(),
            "next_probe_in_ms": upstream.next_probe().since(now),
        })
    });
    json!({
        "in_flight": pool.in_flight(),
        "in_flight_limit": pool.config.settings.calls_in_flight,
        "upstreams": upstreams.collect::<Vec<_>>(),
    })
}

fn json_answer(status: StatusCode, body: &Value) -> Response<Vec<u8>> {
    answer(status, "application/json", body.to_string().into_bytes())
}

fn answer(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response<Vec<u8>> {
    let length = body.len();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_LENGTH, length.into());
    response
}
