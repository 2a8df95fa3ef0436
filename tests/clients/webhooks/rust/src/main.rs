//! Receives webhooks: WEBHOOK_SECRET=whsec_… PORT=8790 cargo run

use std::{
    collections::HashSet,
    env,
    error::Error,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, http::StatusCode, routing::post};
use serde_json::Value;
use standardwebhooks::Webhook;

struct Receiver {
    webhook: Webhook,
    seen: Mutex<HashSet<String>>, // In production: a unique index in your database.
}

async fn receive(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, (StatusCode, String)> {
    let refused = |error: &dyn Error| (StatusCode::BAD_REQUEST, format!("refused: {error}\n"));
    // The signature covers the bytes as they came, so nothing parses the body before this.
    receiver.webhook.verify(&body, &headers).map_err(|error| refused(&error))?;
    let message: Value = serde_json::from_slice(&body).map_err(|error| refused(&error))?;
    let single = vec![message.clone()];
    for event in message["data"]["events"].as_array().unwrap_or(&single) {
        // A single event's id is the `webhook-id`. A retry repeats it.
        let id = event["id"].as_str().unwrap_or_default().to_owned();
        if receiver.seen.lock().is_ok_and(|mut seen| seen.insert(id)) {
            println!("{event}"); // In production: store it, and work on it after the response.
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let webhook = Webhook::new(&env::var("WEBHOOK_SECRET")?)?;
    let receiver = Receiver { webhook, seen: Mutex::default() };
    let app = Router::new().fallback(post(receive)).with_state(Arc::new(receiver));
    let port = env::var("PORT").unwrap_or_else(|_| "8790".to_owned());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}
