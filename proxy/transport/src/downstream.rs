//! Client connections: TLS, limits, and a loop over their requests.

use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pingora::apps::ServerApp;
use pingora::protocols::Stream;
use pingora::server::ShutdownWatch;
use shared::problem::{Problem, codes};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::client::{self, ClientStream, HeadRead};
use crate::connect::ConnectionLimits;
use crate::drain::{Phase, WorkKind};
use crate::hooks::{ConnectionAction, Event, Limit, Phases};
use crate::http2::{self, CloseReason, Http2Stream, RequestFields};
use crate::linger::LingeringClose;
use crate::pingora_proxy::PingoraProxy;
use crate::proxy_protocol::{self, ProxyHeaderError};
use crate::relay::Relay;
use crate::relay::outcome::Next;
use crate::relay::respond::refuse_unread;
use crate::tls::Handshake;

/// Time in which a request is still read while the process shuts down. One that had arrived before was
/// lost on a busy machine: its connection was closed before the thread had looked at it. The process waits
/// longer in any case before it exits.
const LAST_REQUEST: Duration = Duration::from_millis(200);

/// The version of HTTP that a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

/// A connection whose handshake is complete.
struct AcceptedConnection {
    stream: Stream,
    protocol: Protocol,
    is_tls: bool,
}

/// The transport that forwards requests to upstreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The relay of this crate, over HTTP/1.1.
    Relay,
    /// `pingora-proxy`, over HTTP/1.1 and HTTP/2.
    PingoraProxy,
}

/// The server of the connections that Pingora accepts.
pub struct Downstream<P: Phases> {
    forwarder: Forwarder<P>,
    phases: P,
}

enum Forwarder<P: Phases> {
    Relay(Relay),
    PingoraProxy(PingoraProxy<P>),
}

impl<P: Phases> Downstream<P> {
    /// Returns a server whose connections to upstreams keep to these limits.
    pub fn new(phases: P, transport: Transport, limits: ConnectionLimits) -> Self {
        let forwarder = match transport {
            Transport::Relay => Forwarder::Relay(Relay::new(limits)),
            Transport::PingoraProxy => Forwarder::PingoraProxy(PingoraProxy::new(phases.clone(), limits)),
        };
        Self { forwarder, phases }
    }

    /// Reads the PROXY header of a connection that must begin with one. Returns `None` if it does not.
    async fn read_proxy_header(
        &self,
        stream: Stream,
        address: IpAddr,
        phase: &mut watch::Receiver<Phase>,
    ) -> Option<Stream> {
        let read = timeout(self.phases.client_options().header_timeout, proxy_protocol::read(stream));
        let read = tokio::select! {
            biased;
            read = read => read,
            _ = phase.wait_for(|phase| *phase == Phase::Closing) => return None,
        };
        match read {
            Ok(Ok(stream)) => return Some(stream),
            // TCP health checks connect and close. They are not worth a line.
            Ok(Err(ProxyHeaderError::Closed)) => {}
            Ok(Err(error)) => {
                log::warn!("connection without a PROXY header: address={address} error=\"{error}\"");
            }
            Err(_elapsed) => self.phases.record(Event::LimitExceeded(Limit::HeaderTimeout)),
        }
        None
    }

    /// Does the TLS handshake of a connection, if TLS is on. Returns `None` if it fails.
    async fn handshake(
        &self,
        stream: Stream,
        phase: &mut watch::Receiver<Phase>,
    ) -> Option<AcceptedConnection> {
        let Some(tls) = self.phases.tls() else {
            return Some(AcceptedConnection { stream, protocol: Protocol::Http1, is_tls: false });
        };
        let time = self.phases.client_options().header_timeout;
        // Boxed, so that connections without TLS, and those whose handshake is complete, hold no
        // memory for it.
        let handshake = Box::pin(async move { tls.accept(stream, time).await });
        let result = tokio::select! {
            biased;
            result = handshake => result,
            _ = phase.wait_for(|phase| *phase == Phase::Closing) => return None,
        };
        let outcome = result.as_ref().map_or_else(|outcome| *outcome, |_| Handshake::Done);
        self.phases.record(Event::Handshake(outcome));
        let stream = result.ok()?;
        let protocol = if stream.speaks_http2() { Protocol::Http2 } else { Protocol::Http1 };
        Some(AcceptedConnection { stream, protocol, is_tls: true })
    }

    /// Serves an HTTP/1.1 connection, with up to `more_requests` requests after the first. Returns
    /// the connection if the client sends the preface of HTTP/2.
    async fn serve_http1(
        &self,
        mut client: Box<ClientStream>,
        mut more_requests: u32,
        phase: &mut watch::Receiver<Phase>,
    ) -> Option<Box<ClientStream>> {
        // One future for all requests, because creating it costs more than polling it.
        let mut closing = pin!(async {
            drop(phase.wait_for(|phase| *phase == Phase::Closing).await);
            // Boxed, so that idle connections hold no memory for it.
            Box::pin(sleep(LAST_REQUEST)).await;
        });
        loop {
            match self.read_request(&mut client, closing.as_mut()).await? {
                Protocol::Http1 => {}
                Protocol::Http2 => return Some(client),
            }
            client = self.serve_request(client, more_requests == 0).await?;
            // Read for each request, so that a reload reaches connections that stay open.
            client.set_options(self.phases.client_options());
            more_requests = more_requests.saturating_sub(1);
        }
    }

    /// Serves the request whose head was read. `is_last` means that the connection must be closed after
    /// it. Returns the connection if it serves another request.
    async fn serve_request(&self, mut client: Box<ClientStream>, is_last: bool) -> Option<Box<ClientStream>> {
        let next = match &self.forwarder {
            Forwarder::Relay(relay) => relay.serve(&self.phases, &mut client, is_last).await,
            Forwarder::PingoraProxy(proxy) => {
                // In its own box: the relay's connections keep no room for it.
                let (served, next) = Box::pin(proxy.serve(client, is_last)).await?;
                client = served;
                next
            }
        };
        match next {
            Next::Request => return Some(client),
            Next::Close => {}
            Next::Linger(linger) => self.linger(client, linger).await,
        }
        None
    }

    /// Closes a connection with a lingering close. An HTTP/2 stream gets its own small task
    /// for that, because a connection can have many streams and the task that served the request
    /// holds more.
    async fn linger(&self, mut client: Box<ClientStream>, linger: LingeringClose) {
        let (drain, is_stream) = (Arc::clone(self.phases.drain()), client.is_http2_stream());
        let closed = Box::pin(async move { linger.run(&mut client, &drain).await });
        if is_stream {
            pingora_runtime::current_handle().spawn(closed);
        } else {
            closed.await;
        }
    }

    /// Serves an HTTP/2 connection. Its requests are distributed over the threads, because one
    /// connection can carry the whole load.
    async fn serve_http2(self: &Arc<Self>, stream: Stream, is_tls: bool) {
        let options = self.phases.client_options();
        let serve = |head: Arc<RequestFields>, stream: Box<Http2Stream>| {
            let this = Arc::clone(self);
            // Read for each request, so that a reload reaches connections that stay open.
            let client = ClientStream::of_stream(stream, head, is_tls, self.phases.client_options());
            let client = Box::new(client);
            // Boxed, because a task copies its future when it is spawned and twice when it ends: 6 KiB each time.
            let served = pin_in_place(|| async move { this.serve_request(client, true).await });
            pingora_runtime::current_handle().spawn(served);
        };
        let this = Arc::clone(self);
        let exceeded = move |limit| this.phases.record(Event::LimitExceeded(limit));
        let (drain, idle_clients) = (self.phases.drain(), self.phases.idle_clients());
        let reason = http2::serve(stream, &options, drain, idle_clients, serve, exceeded).await;
        self.phases.record(Event::Http2Closed(reason));
        if reason == CloseReason::Flood {
            log::warn!("http2 connection closed: reason=\"too many streams reset by the client\"");
        }
    }

    /// Reads the head of a request. Returns the version of HTTP, or `None` if the connection is to
    /// be closed.
    async fn read_request(
        &self,
        client: &mut ClientStream,
        closing: Pin<&mut impl Future>,
    ) -> Option<Protocol> {
        let head = tokio::select! {
            // A request that has already arrived is served, even during a shutdown.
            biased;
            head = client.read_head(self.phases.idle_clients()) => head,
            _ = closing => HeadRead::Closed,
        };
        match head {
            HeadRead::Complete => Some(Protocol::Http1),
            HeadRead::Http2 => Some(Protocol::Http2),
            HeadRead::Refused(problem) => {
                let linger = match problem.code() {
                    codes::REQUEST_TIMEOUT => {
                        self.phases.record(Event::LimitExceeded(Limit::HeaderTimeout));
                        // A client that did not complete its head in time is not given 30 s more to
                        // send.
                        LingeringClose::Brief
                    }
                    _ => LingeringClose::Body(client.max_body()),
                };
                self.refuse(client, &problem, linger).await;
                None
            }
            HeadRead::TimedOut(limit) => {
                self.phases.record(Event::LimitExceeded(limit));
                None
            }
            HeadRead::Closed => None,
        }
    }

    async fn refuse(&self, client: &mut ClientStream, problem: &Problem, linger: LingeringClose) {
        if refuse_unread(&self.phases, client, problem).await {
            linger.run(client, self.phases.drain()).await;
        }
    }

    /// Applies the connection filter. Returns the permit of a connection that is served.
    async fn filter(&self, stream: Stream) -> Option<(Stream, P::Permit)> {
        match self.phases.connection_filter(client::address(&stream)) {
            ConnectionAction::Accept(permit) => Some((stream, permit)),
            ConnectionAction::Close => None,
            ConnectionAction::Respond(permit, problem) => {
                // A response over TLS would need a handshake, which costs more than what the limit
                // saves.
                if self.phases.tls().is_none() {
                    let mut client = ClientStream::new(stream, false, self.phases.client_options());
                    // Boxed, so that connections that are served hold no memory for it.
                    Box::pin(self.refuse(&mut client, &problem, LingeringClose::Brief)).await;
                }
                drop(permit);
                None
            }
        }
    }

    /// Serves a connection that was just accepted.
    async fn serve(self: &Arc<Self>, stream: Stream) -> Option<Stream> {
        // Counted before anything is awaited: a process that ended overlooked a connection that was
        // accepted and not yet counted, and closed it under its first request.
        let _open = self.phases.drain().track(WorkKind::Connection);
        let mut phase = self.phases.drain().phase();
        let expects_header = |address: &IpAddr| self.phases.expects_proxy_header(*address);
        let stream = match client::address(&stream).filter(expects_header) {
            // Before the filter, which limits connections by the address of the client and not of
            // the load balancer.
            Some(address) => Box::pin(self.read_proxy_header(stream, address, &mut phase)).await?,
            None => stream,
        };
        let (stream, _permit) = self.filter(stream).await?;
        let AcceptedConnection { stream, protocol, is_tls } = self.handshake(stream, &mut phase).await?;
        let http2 = match protocol {
            Protocol::Http1 => {
                let options = self.phases.client_options();
                let client = Box::new(ClientStream::new(stream, is_tls, options));
                self.serve_http1(client, options.requests_per_connection, &mut phase).await? as Stream
            }
            Protocol::Http2 => stream,
        };
        // Boxed, so that HTTP/1.1 connections hold no memory for it.
        Box::pin(self.serve_http2(http2, is_tls)).await;
        None
    }
}

/// Makes a future in its box. `Box::pin` makes it on the stack and copies all of it, which is 3.6 KiB for a connection.
fn pin_in_place<F: Future>(future: impl FnOnce() -> F) -> Pin<Box<F>> {
    let place = Box::new_uninit();
    Box::into_pin(Box::write(place, future()))
}

#[async_trait]
impl<P: Phases> ServerApp for Downstream<P> {
    async fn process_new(self: &Arc<Self>, stream: Stream, _: &ShutdownWatch) -> Option<Stream> {
        pin_in_place(|| self.serve(stream)).await
    }
}
