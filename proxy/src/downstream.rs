//! Connections from clients, on their way into Pingora.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use pingora_core::{
    apps::{HttpPersistentSettings, HttpServerApp, ServerApp},
    protocols::{Stream, http::ServerSession},
    server::{ShutdownWatch, configuration::ServerConf},
};
use pingora_proxy::{HttpProxy, http_proxy};
use shared::problem::{Code, Problem};
use tokio::sync::watch;

use crate::{
    client::{Arrival, ClientStream},
    config::Config,
    drain::Phase,
    gateway::Gateway,
    guards::Counted,
    metrics::Bound,
    respond,
    state::State,
    tls::Handshake,
};

/// Pingora's proxy, behind the bounds on connections that it does not have itself.
pub struct Downstream {
    proxy: Arc<HttpProxy<Gateway>>,
    state: Arc<State>,
    /// Connections beyond these are not taken, whatever the configuration says.
    most: usize,
}

impl Downstream {
    /// The proxy of a state, which takes `most` connections at once if its configuration does.
    #[must_use]
    pub fn new(conf: &Arc<ServerConf>, state: &Arc<State>, most: usize) -> Self {
        let proxy = Arc::new(http_proxy(conf, Gateway(Arc::clone(state))));
        Self { proxy, state: Arc::clone(state), most }
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
                if problem.code() == Code::RequestTimeout {
                    self.state.metrics.hit(Bound::HeaderTimeout);
                }
                respond::refuse_unread(client, &self.state, &problem).await;
                false
            }
            Arrival::Silent(bound) => {
                self.state.metrics.hit(bound);
                false
            }
            Arrival::Nobody => false,
        }
    }

    /// The place of a connection among those of its address; `None`, after telling it so, when there is none left.
    async fn admit(&self, stream: Stream) -> Option<(Stream, Option<Counted>)> {
        let state = &self.state;
        let config = Arc::clone(&state.config.load());
        if state.drain.connections() > config.clients.connections.min(self.most) {
            state.metrics.hit(Bound::Connections);
            return None;
        }
        let Some(address) = address(&stream) else { return Some((stream, None)) };
        let counted = state.guards.connect(address, &config.clients);
        if counted.is_some() {
            return Some((stream, counted));
        }
        state.metrics.hit(Bound::ConnectionsPerAddress);
        // Where there is TLS, to be told would take a handshake.
        if config.server.tls.is_none() {
            // In a box of its own: connections that are taken keep no room for it.
            Box::pin(state.guards.turn_away(self.turn_away(stream, &config))).await;
        }
        None
    }

    async fn turn_away(&self, stream: Stream, config: &Config) {
        let mut client = ClientStream::new(stream, &config.clients);
        let problem = Problem::new(Code::TooManyRequests, "too many connections from this address");
        respond::refuse_unread(&mut client, &self.state, &problem.retry_after(1)).await;
    }
}

#[async_trait]
impl ServerApp for Downstream {
    async fn process_new(self: &Arc<Self>, stream: Stream, shutdown: &ShutdownWatch) -> Option<Stream> {
        let _open = self.state.drain.connect();
        let (stream, _counted) = self.admit(stream).await?;
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

fn address(stream: &Stream) -> Option<IpAddr> {
    let digest = stream.get_socket_digest()?;
    digest.peer_addr()?.as_inet().map(SocketAddr::ip)
}
