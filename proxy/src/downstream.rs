//! Connections from clients, on their way into Pingora.

use std::sync::Arc;

use async_trait::async_trait;
use pingora_core::{
    apps::{HttpServerOptions, ServerApp},
    protocols::Stream,
    server::{ShutdownWatch, configuration::ServerConf},
};
use pingora_proxy::{HttpProxy, http_proxy};

use crate::{gateway::Gateway, state::State};

/// Pingora's proxy, behind the bounds on connections that it does not have itself.
pub struct Downstream {
    proxy: Arc<HttpProxy<Gateway>>,
}

impl Downstream {
    /// The proxy of a state.
    #[must_use]
    pub fn new(conf: &Arc<ServerConf>, state: &Arc<State>) -> Self {
        let mut proxy = http_proxy(conf, Gateway(Arc::clone(state)));
        let mut options = HttpServerOptions::default();
        options.keepalive_request_limit = Some(state.config.clients.requests_per_connection);
        proxy.server_options = Some(options);
        Self { proxy: Arc::new(proxy) }
    }
}

#[async_trait]
impl ServerApp for Downstream {
    async fn process_new(self: &Arc<Self>, stream: Stream, shutdown: &ShutdownWatch) -> Option<Stream> {
        self.proxy.process_new(stream, shutdown).await
    }

    async fn cleanup(&self) {
        self.proxy.cleanup().await;
    }
}
