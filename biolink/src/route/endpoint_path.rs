//! The paths of an API that names objects, and its calls.

use shared::{
    method::{Method, Methods},
    route::{Endpoint, Segments, Template},
};

/// A call of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointCall<E, T> {
    /// The endpoint that is called.
    pub endpoint: E,
    /// The object for which it is called.
    pub target: T,
}

/// A known path of an API: the template of its endpoints, and what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointPath<T> {
    pub(super) target: T,
    template: Template,
}

impl<T> EndpointPath<T> {
    /// Finds the template of a path; `None` if it has none, or names nothing.
    pub(super) fn find<E: Endpoint>(segments: Segments<'_>, target: Option<T>) -> Option<Self> {
        let template = Template::find::<E>(segments)?;
        Some(Self { target: target?, template })
    }

    pub(super) fn methods<E: Endpoint>(&self) -> Methods {
        self.template.methods::<E>()
    }

    /// Returns the call of a method on the path.
    pub(super) fn call<E: Endpoint>(self, method: Method) -> Option<EndpointCall<E, T>> {
        Some(EndpointCall { endpoint: self.template.endpoint(method)?, target: self.target })
    }
}
