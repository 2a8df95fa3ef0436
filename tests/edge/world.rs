//! An edge, a proxy and its tools, with faults between the edge and its dependencies.

use tests::{
    faults::Faults,
    http::{Request, Response},
    proxy::{Proxy, ProxyConfig},
    stack::{Edge, Tools},
};

pub(super) struct World {
    pub(super) edge: Edge,
    pub(super) faults: Faults,
    _proxy: Proxy,
    _tools: Tools,
}

impl World {
    pub(super) fn start() -> Self {
        let tools = Tools::start();
        let proxy = ProxyConfig::for_tools(&tools).start_and_wait();
        let faults = Faults::start();
        let edge = Edge::start_with_faults(&proxy.url(), &faults);
        Self { edge, faults, _proxy: proxy, _tools: tools }
    }

    /// Calls a tool.
    pub(super) fn call(&self, key: &str) -> Response {
        Request::get("/v1/idea/generate").key(key).send(self.edge.addr)
    }
}
