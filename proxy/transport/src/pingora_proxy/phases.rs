//! Pingora's phases: each calls the product's hook of the same name.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::task::Poll;

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::modules::http::HttpModules;
use pingora::protocols::Digest;
use pingora::proxy::{FailToProxy, ProxyHttp, ProxyWarnLogContext, Session};
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, ErrorType, Result};

use super::connection::is_other_version;
use super::exchange::{Exchange, Forward, Shared};
use super::failure;
use super::head::{self, AttemptHeaders, RequestHead};
use super::peer::{AttemptConnection, Peer, Peers};
use crate::failure::connect_error;
use crate::hooks::{AfterFailure, Phases};
use crate::relay::buffer::await_body;
use crate::relay::decision::{Decision, Forwarded, Settlement, decide, settle};

/// The product as Pingora calls it.
pub(super) struct Adapter<P> {
    peers: Peers,
    /// Each exchange has it.
    phases: PhantomData<fn() -> P>,
}

impl<P> Adapter<P> {
    pub(super) const fn new(peers: Peers) -> Self {
        Self { peers, phases: PhantomData }
    }
}

/// What cannot be, or a client that has left.
fn aborted() -> Box<Error> {
    Error::new_in(ErrorType::InternalError)
}

/// The exchange of a request.
pub(super) struct Context<P: Phases>(Option<Shared<P>>);

impl<P: Phases> Context<P> {
    fn with<R>(&self, f: impl FnOnce(&mut Exchange<P>) -> Option<R>) -> Result<R> {
        self.0.as_ref().and_then(|shared| shared.with(f)).flatten().ok_or_else(aborted)
    }

    /// Takes the exchange, for a phase that waits.
    fn take(&self) -> Result<(Shared<P>, Box<Exchange<P>>)> {
        let shared = self.0.as_ref().ok_or_else(aborted)?;
        Ok((shared.clone(), shared.take().ok_or_else(aborted)?))
    }
}

#[async_trait]
impl<P: Phases> ProxyHttp for Adapter<P> {
    type CTX = Context<P>;

    fn new_ctx(&self) -> Context<P> {
        Context(Shared::current())
    }

    fn init_downstream_modules(&self, _modules: &mut HttpModules) {}

    /// Decides what happens to the request, and responds unless it is forwarded. The beginning of a
    /// body is waited for here, before an upstream is chosen.
    async fn request_filter(&self, session: &mut Session, context: &mut Context<P>) -> Result<bool> {
        let (shared, mut exchange) = context.take()?;
        let method = filter_request(&mut exchange).await;
        shared.put(exchange);
        // Pingora looks at the method only: it gets the rest when it sends the request.
        let is_forwarded = method.map(|method| session.req_header_mut().set_method(method));
        Ok(is_forwarded.is_none())
    }

    async fn upstream_peer(&self, _session: &mut Session, context: &mut Context<P>) -> Result<Box<HttpPeer>> {
        let is_idempotent =
            context.with(|exchange| Some(exchange.forward.as_ref()?.request.is_idempotent))?;
        if let Some(queued) = context.with(|exchange| Some(exchange.enter_queue()))? {
            let (shared, mut exchange) = context.take()?;
            let has_turn = exchange.await_turn(queued).await;
            shared.put(exchange);
            has_turn.map_err(|_| aborted())?;
        }
        // The client may have left while it waited for its turn, or while an attempt failed.
        poll_fn(|poll| match context.with(|exchange| Some(exchange.check_client(poll))) {
            Ok(checked) => checked.map_err(|_| aborted()),
            Err(error) => Poll::Ready(Err(error)),
        })
        .await?;
        let (peer, is_http2) = context.with(|exchange| {
            let Exchange { phases, record, call, forward, .. } = exchange;
            let (forward, call) = (forward.as_mut()?, call.as_mut()?);
            // A retry has chosen its upstream, and reserved it, when the attempt before failed.
            if !std::mem::take(&mut forward.is_chosen) {
                match phases.upstream_peer(call, record) {
                    Ok(attempt) => forward.attempt = Some(attempt),
                    Err(problem) => {
                        forward.refusal = Some(problem);
                        return None;
                    }
                }
            }
            record.attempts += 1;
            let in_flight = phases.drain().requests();
            let target = &forward.attempt.as_ref()?.target;
            let Peer { peer, connection } = self.peers.peer(target, is_idempotent, in_flight);
            forward.is_http2 = matches!(connection, AttemptConnection::Http2(_));
            forward.connection = Some(connection);
            Some((peer, forward.is_http2))
        })?;
        if is_http2 && !is_idempotent {
            // A POST must not be retried, so let this thread process a pending FIN before it reuses
            // a connection.
            tokio::task::yield_now().await;
        }
        Ok(peer)
    }

    fn fail_to_connect(
        &self,
        _session: &mut Session,
        _peer: &HttpPeer,
        context: &mut Context<P>,
        mut error: Box<Error>,
    ) -> Box<Error> {
        let retry = context.with(|exchange| {
            let Exchange { phases, record, call, forward, .. } = exchange;
            let (forward, call) = (forward.as_mut()?, call.as_mut()?);
            if is_other_version(&error) && !std::mem::replace(&mut forward.is_version_known, true) {
                // The same attempt, over the version that the server has chosen.
                record.attempts -= 1;
                forward.is_chosen = true;
                return Some(true);
            }
            match phases.fail_to_connect(call, record, &connect_error(&error)) {
                AfterFailure::Retry(attempt) => {
                    forward.choose(attempt);
                    Some(true)
                }
                AfterFailure::GiveUp(problem) => {
                    forward.refusal = Some(problem);
                    Some(false)
                }
            }
        });
        error.set_retry(retry.unwrap_or(false));
        error
    }

    async fn connected_to_upstream(
        &self,
        _session: &mut Session,
        is_reused: bool,
        _peer: &HttpPeer,
        _socket: std::os::unix::io::RawFd,
        _digest: Option<&Digest>,
        context: &mut Context<P>,
    ) -> Result<()> {
        context.with(|exchange| {
            let forward = exchange.forward.as_mut()?;
            forward.was_idle = match &forward.connection {
                Some(AttemptConnection::Http1(http1)) => http1.was_idle(),
                // Pingora's word counts only here: an HTTP/1.1 connection always looks new to it.
                Some(AttemptConnection::Http2(_)) | None => is_reused,
            };
            Some(())
        })
    }

    /// The product has written the head when the request came, because it is the same for all
    /// upstreams. This gives it to Pingora, and adds which upstream it is sent to.
    async fn upstream_request_filter(
        &self,
        _session: &mut Session,
        request: &mut RequestHeader,
        context: &mut Context<P>,
    ) -> Result<()> {
        let expects_continue = context.with(|exchange| {
            let Exchange { phases, record, call, forward, .. } = exchange;
            let forward = forward.as_mut()?;
            let version = request.version;
            let call = call.as_mut()?;
            *request = forward.head.as_mut()?.take(phases, call, record).ok()?;
            let target = &forward.attempt.as_ref()?.target;
            head::address_request(
                request,
                version,
                &target.options.authority,
                target.options.connector.is_some(),
            )
            .ok()?;
            let dialed = forward.connection.as_ref().and_then(AttemptConnection::dialed);
            phases.connected_to_upstream(call, dialed, &mut AttemptHeaders(request));
            let expects = std::mem::take(&mut forward.request.expects_continue);
            Some(expects && !forward.request.is_http10)
        })?;
        if expects_continue {
            // All of the body has come, or there is none: what is left is to keep to the protocol.
            let (shared, mut exchange) = context.take()?;
            let sent = exchange.client.send_continue().await;
            // Recorded here: Pingora would take this for a failure of the upstream.
            if sent.is_err() {
                exchange.client_closed();
            }
            shared.put(exchange);
            sent.map_err(|_| aborted())?;
        }
        context.with(|exchange| {
            exchange.begin_attempt();
            Some(())
        })
    }

    /// The exchange has filtered the bytes when it read them.
    async fn request_body_filter(
        &self,
        _session: &mut Session,
        body: &mut Option<Bytes>,
        _is_end: bool,
        context: &mut Context<P>,
    ) -> Result<()> {
        let length = body.as_ref().map_or(0, Bytes::len);
        context.with(|exchange| {
            exchange.body_sent(length);
            Some(())
        })
    }

    async fn upstream_response_filter(
        &self,
        _session: &mut Session,
        response: &mut ResponseHeader,
        context: &mut Context<P>,
    ) -> Result<()> {
        context.with(|exchange| exchange.begin_response(response).ok())
    }

    fn error_while_proxy(
        &self,
        _peer: &HttpPeer,
        _session: &mut Session,
        mut error: Box<Error>,
        context: &mut Context<P>,
        _is_reused: bool,
    ) -> Box<Error> {
        let retry = context.with(|exchange| {
            let error = exchange.take_error(|| failure::of_upstream(&error));
            Some(exchange.fail(error))
        });
        error.set_retry(retry.unwrap_or(false));
        error
    }

    async fn fail_to_proxy(
        &self,
        _session: &mut Session,
        _error: &Error,
        context: &mut Context<P>,
    ) -> FailToProxy {
        let Ok((shared, mut exchange)) = context.take() else {
            return FailToProxy { error_code: 0, can_reuse_downstream: false };
        };
        exchange.conclude().await;
        let error_code = exchange.outcome.map_or(0, |ended| ended.status);
        shared.put(exchange);
        FailToProxy { error_code, can_reuse_downstream: false }
    }

    async fn logging(&self, _session: &mut Session, _error: Option<&Error>, context: &mut Context<P>) {
        // Without an exchange there is nothing to log.
        let _logged = context.with(|exchange| {
            exchange.log();
            Some(())
        });
    }

    /// The product has its own log.
    fn suppress_error_log(&self, _session: &Session, _context: &Context<P>, _error: &Error) -> bool {
        true
    }

    fn suppress_proxy_warn_log(
        &self,
        _session: &Session,
        _context: &Context<P>,
        _error: &Error,
        _about: ProxyWarnLogContext,
    ) -> bool {
        true
    }
}

/// Reads the head of the request and the beginning of its body. Returns the method of the request to
/// the upstream, or `None` if the request has its response.
async fn filter_request<P: Phases>(exchange: &mut Exchange<P>) -> Option<Method> {
    let Exchange { phases, client, record, is_last, .. } = exchange;
    let received = client.take_head().into_shared();
    let decision = decide(phases, client, &received, record, *is_last, |call, record, raw, body| {
        RequestHead::write(phases, call, record, raw, &received, body)
    })
    .await;
    // A call can take long, and does not need the head.
    drop(received);
    let Forwarded { call, request, head, is_complete } = match decision {
        Decision::Forward(forwarded) => forwarded,
        Decision::Settle(settlement) => {
            respond(exchange, settlement).await;
            return None;
        }
    };
    client.accept_request();
    client.release_head();
    let (method, head) = match head {
        Ok(head) => (head.method(), head),
        Err(error) => {
            // The head has passed a stricter parser, so this is a fault of the proxy and not of the
            // client.
            log::error!("request refused by pingora: error={error}");
            exchange.forward = Some(Forward::new(request, None));
            exchange.call = Some(call);
            exchange.conclude().await;
            return None;
        }
    };
    let mut request = request;
    if !is_complete {
        // In its own box: calls whose body came with its head keep no room for it.
        if let Err(outcome) = Box::pin(await_body(phases, client, &call, record, request)).await {
            (exchange.call, exchange.outcome) = (Some(call), Some(outcome));
            return None;
        }
        request = request.continued();
    }
    exchange.forward = Some(Forward::new(request, Some(head)));
    exchange.call = Some(call);
    method
}

async fn respond<P: Phases>(exchange: &mut Exchange<P>, settlement: Settlement<P::Call>) {
    match settle(&exchange.phases, &mut exchange.client, settlement).await {
        Ok((ended, call)) => (exchange.outcome, exchange.call) = (Some(ended), call),
        Err(next) => exchange.end_logged(next),
    }
}
