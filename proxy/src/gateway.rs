//! Pingora's phases, each in a file of its own.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use pingora_core::{Error, Result, modules::http::HttpModules, upstreams::peer::HttpPeer};
use pingora_http::{RequestHeader, ResponseHeader};
use pingora_proxy::{FailToProxy, ProxyHttp, ProxyWarnLogContext, Session};

use crate::{
    ctx::RequestCtx,
    phases::{admit, answer, body, fail, forward, log, select},
    state::State,
};

/// What Pingora calls for each request.
pub struct Gateway(pub Arc<State>);

#[async_trait]
impl ProxyHttp for Gateway {
    type CTX = RequestCtx;

    fn new_ctx(&self) -> RequestCtx {
        RequestCtx::new(self.0.drain.enter())
    }

    /// None: Pingora's own would compress, which is the tool's to decide.
    fn init_downstream_modules(&self, _modules: &mut HttpModules) {}

    async fn request_filter(&self, session: &mut Session, ctx: &mut RequestCtx) -> Result<bool> {
        admit::request(&self.0, session, ctx).await
    }

    async fn upstream_peer(&self, _session: &mut Session, ctx: &mut RequestCtx) -> Result<Box<HttpPeer>> {
        select::peer(ctx)
    }

    fn fail_to_connect(
        &self,
        _: &mut Session,
        _: &HttpPeer,
        ctx: &mut RequestCtx,
        error: Box<Error>,
    ) -> Box<Error> {
        fail::connect(&self.0, ctx, error)
    }

    fn error_while_proxy(
        &self,
        _: &HttpPeer,
        session: &mut Session,
        error: Box<Error>,
        ctx: &mut RequestCtx,
        reused: bool,
    ) -> Box<Error> {
        fail::sent(&self.0, session, ctx, error, reused)
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        ctx: &mut RequestCtx,
    ) -> Result<()> {
        forward::request(session, request, ctx).await
    }

    async fn request_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut RequestCtx,
    ) -> Result<()> {
        body::piece(session, body.as_ref(), end, ctx)
    }

    async fn upstream_response_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut RequestCtx,
    ) -> Result<()> {
        answer::response(&self.0, session, response, ctx)
    }

    async fn fail_to_proxy(&self, session: &mut Session, error: &Error, ctx: &mut RequestCtx) -> FailToProxy {
        fail::proxy(&self.0, session, error, ctx).await
    }

    async fn logging(&self, session: &mut Session, _error: Option<&Error>, ctx: &mut RequestCtx) {
        log::line(&self.0, session, ctx);
    }

    /// Pingora would write the path and Host of the request; what failed is logged in [`fail`].
    fn suppress_error_log(&self, _session: &Session, _ctx: &RequestCtx, _error: &Error) -> bool {
        true
    }

    fn suppress_proxy_warn_log(
        &self,
        _: &Session,
        _: &RequestCtx,
        _: &Error,
        _: ProxyWarnLogContext,
    ) -> bool {
        true
    }
}
