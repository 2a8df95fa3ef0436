//! Connections from clients, on their way into Pingora.

use std::sync::Arc;

use async_trait::async_trait;
use pingora_core::{
    apps::{HttpPersistentSettings, HttpServerApp, ServerApp},
    protocols::{Stream, http::ServerSession},
    server::{ShutdownWatch, configuration::ServerConf},
};
use pingora_proxy::{HttpProxy, http_proxy};
use tokio::sync::watch;

use crate::{
    client::{Arrival, ClientStream},
    drain::Phase,
    gateway::Gateway,
    respond,
    state::State,
    tls::Handshake,
};

/// Pingora's proxy, behind the bounds on connections that it does not have itself.
pub struct Downstream {
    proxy: Arc<HttpProxy<Gateway>>,
    state: Arc<State>,
}

impl Downstream {
    /// The proxy of a state.
    #[must_use]
    pub fn new(conf: &Arc<ServerConf>, state: &Arc<State>) -> Self {
        let proxy = Arc::new(http_proxy(conf, Gateway(Arc::clone(state))));
        Self { proxy, state: Arc::clone(state) }
    }

    /// The connection as requests come over it: after its handshake where there is TLS; `None` when that failed.
    async fn secure(&self, stream: Stream, phase: &mut watch::Receiver<Phase>) -> Option<Stream> {
        let config = self.state.config.load();
        let Some(tls) = config.server.tls.clone() else { return Some(stream) };
        let time = config.clients.header_timeout;
        drop(config);
        // In a box of its own: connections without TLS, and those whose handshake is over, keep no room for it.
        let handshake = Box::pin(async move { tls.accept(stream, time).await });
        let made = tokio::select! {
            biased;
            made = handshake => made,
            _ = phase.wait_for(|phase| *phase == Phase::Ending) => return None,
        };
        let outcome = made.as_ref().map_or_else(|outcome| *outcome, |_| Handshake::Done);
        self.state.metrics.handshake(outcome);
        Some(made.ok()?)
    }

    /// Waits for a request; whether one has come. Anything else ends the connection.
    async fn await_request(&self, client: &mut ClientStream, phase: &mut watch::Receiver<Phase>) -> bool {
        client.keep_within(&self.state.config.load().clients);
        let arrival = tokio::select! {
            // What has come already is served, also at the end.
            biased;
            arrival = client.arrival() => arrival,
            _ = phase.wait_for(|phase| *phase == Phase::Ending) => Arrival::Nobody,
        };
        match arrival {
            Arrival::Request => true,
            Arrival::Refused(problem) => {
                respond::refuse_unread(client, &self.state, &problem).await;
                false
            }
            Arrival::Nobody => false,
        }
    }
}

#[async_trait]
impl ServerApp for Downstream {
    async fn process_new(self: &Arc<Self>, stream: Stream, shutdown: &ShutdownWatch) -> Option<Stream> {
        let _open = self.state.drain.connect();
        let mut phase = self.state.drain.phase();
        let stream = self.secure(stream, &mut phase).await?;
        let mut client = Box::new(ClientStream::new(stream, &self.state.config.load().clients));
        let mut settings: Option<HttpPersistentSettings> = None;
        while self.await_request(&mut client, &mut phase).await {
            let mut session = ServerSession::new_http1(client);
            match settings {
                Some(settings) => settings.apply_to_session(&mut session),
                None => {
                    session.set_keepalive_reuses_remaining(Some(
                        self.state.config.load().clients.requests_per_connection,
                    ));
                }
            }
            let reused = self.proxy.process_new_http(session, shutdown).await?;
            let (stream, kept) = reused.consume();
            settings = kept;
            client = stream.into_any().downcast().ok()?;
        }
        None
    }

    async fn cleanup(&self) {
        self.proxy.cleanup().await;
    }
}
