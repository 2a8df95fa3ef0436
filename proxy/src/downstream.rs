//! Connections from clients: made safe, bounded, and served one request after another.

use std::{
    pin::{Pin, pin},
    sync::Arc,
};

use async_trait::async_trait;
use pingora_core::{
    apps::ServerApp,
    protocols::Stream,
    server::{ShutdownWatch, configuration::ServerConf},
};
use shared::problem::{Code, Problem};
use tokio::sync::watch;

use crate::{
    client::{self, Arrival, ClientStream},
    config::Config,
    drain::Phase,
    guards::Counted,
    http2::{self, End, Http2Stream, Limit},
    metrics::Bound,
    relay::{Next, Relay},
    respond::{self, Linger},
    state::State,
    tls::Handshake,
};

/// How requests are told on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

/// What Pingora hands the accepted connections to.
pub struct Downstream {
    relay: Relay,
    state: Arc<State>,
    /// Connections beyond these are not taken, whatever the configuration says.
    most: usize,
}

impl Downstream {
    /// The proxy of a state, which takes `most` connections at once if its configuration does.
    #[must_use]
    pub fn new(conf: &Arc<ServerConf>, state: &Arc<State>, most: usize) -> Self {
        let relay = Relay::new(conf, state.config.load().idle_upstream_connections);
        Self { relay, state: Arc::clone(state), most }
    }

    /// The connection as requests come over it, and how they are told: after its handshake where there is TLS; `None`
    /// when that failed.
    async fn secure(&self, stream: Stream, phase: &mut watch::Receiver<Phase>) -> Option<(Stream, Protocol)> {
        let config = self.state.config.load();
        let Some(tls) = config.server.tls.clone() else { return Some((stream, Protocol::Http1)) };
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
        if outcome == Handshake::Timeout {
            self.state.metrics.hit(Bound::HeaderTimeout);
        }
        let secured = made.ok()?;
        let protocol = if secured.speaks_http2() { Protocol::Http2 } else { Protocol::Http1 };
        Some((secured, protocol))
    }

    /// Serves a connection in HTTP/1.1, with so many requests after the first. It is given back when the client turns
    /// out to speak HTTP/2.
    async fn converse(
        &self,
        mut client: Box<ClientStream>,
        mut more_requests: u32,
        phase: &mut watch::Receiver<Phase>,
    ) -> Option<Box<ClientStream>> {
        // One for all requests: to begin to listen costs each of them more than to go on.
        let mut ending = pin!(phase.wait_for(|phase| *phase == Phase::Ending));
        loop {
            match self.await_request(&mut client, ending.as_mut()).await? {
                Protocol::Http1 => {}
                Protocol::Http2 => return Some(client),
            }
            match self.relay.serve(&self.state, &mut client, more_requests == 0).await {
                Next::Request => {}
                Next::End => return None,
                Next::Linger(linger) => {
                    self.linger(client, linger).await;
                    return None;
                }
            }
            more_requests = more_requests.saturating_sub(1);
        }
    }

    /// Ends a connection with a lingering close. A stream of HTTP/2 has a task of its own for that, since there can be
    /// many: the one that has served the request ends with all that it holds.
    async fn linger(&self, mut client: Box<ClientStream>, linger: Linger) {
        let (state, is_stream) = (Arc::clone(&self.state), client.is_http2_stream());
        let closed = Box::pin(async move { respond::linger_and_close(&mut client, &state, linger).await });
        if is_stream {
            pingora_runtime::current_handle().spawn(closed);
        } else {
            closed.await;
        }
    }

    /// Serves a connection in HTTP/2. Its requests are spread over the threads: one connection may bring all there are.
    async fn converse_http2(self: &Arc<Self>, stream: Stream) {
        let config = self.state.config.load_full();
        let serve = |head: Vec<u8>, stream: Http2Stream| {
            let this = Arc::clone(self);
            pingora_runtime::current_handle().spawn(async move {
                let mut phase = this.state.drain.phase();
                let client = ClientStream::begun(Box::new(stream), head, &this.state.config.load().clients);
                let _ended = this.converse(Box::new(client), 0, &mut phase).await;
            });
        };
        let state = Arc::clone(&self.state);
        let exceeded = move |limit| {
            state.metrics.hit(match limit {
                Limit::HeldBytes => Bound::Http2HeldBytes,
                Limit::RefusalTimeout => Bound::RefusalTimeout,
            });
        };
        let end = http2::serve(stream, &config.clients, &self.state.drain, serve, exceeded).await;
        self.state.metrics.http2_ended(end);
        match end {
            End::Timeout => self.state.metrics.hit(Bound::HeaderTimeout),
            End::Idle => self.state.metrics.hit(Bound::IdleTimeout),
            End::Flood => {
                log::warn!("an HTTP/2 connection was ended: its requests were made to be taken back");
            }
            End::Closed | End::Done | End::Broken => {}
        }
    }

    /// Waits for a request; how it is told, or `None` at the end of the connection.
    async fn await_request(
        &self,
        client: &mut ClientStream,
        ending: Pin<&mut impl Future>,
    ) -> Option<Protocol> {
        client.keep_within(&self.state.config.load().clients);
        let arrival = tokio::select! {
            // What has come already is served, also at the end.
            biased;
            arrival = client.arrival() => arrival,
            _ = ending => Arrival::Nobody,
        };
        match arrival {
            Arrival::Request => Some(Protocol::Http1),
            Arrival::Http2 => Some(Protocol::Http2),
            Arrival::Refused(problem) => {
                if problem.code() == Code::RequestTimeout {
                    self.state.metrics.hit(Bound::HeaderTimeout);
                }
                let linger = match problem.code() {
                    Code::RequestTimeout => Linger::Brief,
                    _ => Linger::Body(self.state.config.load().max_body),
                };
                if respond::refuse_unread(client, &self.state, &problem).await {
                    respond::linger_and_close(client, &self.state, linger).await;
                }
                None
            }
            Arrival::Silent(bound) => {
                self.state.metrics.hit(bound);
                None
            }
            Arrival::Nobody => None,
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
        let Some(address) = client::address(&stream) else { return Some((stream, None)) };
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
        if respond::refuse_unread(&mut client, &self.state, &problem.retry_after(1)).await {
            respond::linger_and_close(&mut client, &self.state, Linger::Brief).await;
        }
    }
}

#[async_trait]
impl ServerApp for Downstream {
    async fn process_new(self: &Arc<Self>, stream: Stream, _: &ShutdownWatch) -> Option<Stream> {
        let _open = self.state.drain.connect();
        let (stream, _counted) = self.admit(stream).await?;
        let mut phase = self.state.drain.phase();
        let (stream, protocol) = self.secure(stream, &mut phase).await?;
        let http2 = match protocol {
            Protocol::Http1 => {
                let config = self.state.config.load_full();
                let requests = config.clients.requests_per_connection;
                let client = ClientStream::new(stream, &config.clients);
                drop(config);
                self.converse(Box::new(client), requests, &mut phase).await? as Stream
            }
            Protocol::Http2 => stream,
        };
        Box::pin(self.converse_http2(http2)).await;
        None
    }
}
