//! An edge with faults between it and its dependencies, in front of a proxy and its tools.

use tests::{
    faults::Faults,
    http::{Request, Response},
    stack::{Edge, shared_origin},
};

pub(super) struct World {
    pub(super) edge: Edge,
    pub(super) faults: Faults,
}

impl World {
    pub(super) fn start() -> Self {
        let faults = Faults::start();
        let edge = Edge::start_with_faults(&shared_origin(), &faults);
        Self { edge, faults }
    }

    /// Calls a tool.
    pub(super) fn call(&self, key: &str) -> Response {
        Request::get("/v1/idea/generate").key(key).send(self.edge.addr)
    }
}
