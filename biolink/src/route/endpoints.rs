//! The endpoints of an API: their declaration, and the paths and calls that they make.

use shared::method::{Method, Methods};
use shared::route::Segments;

/// One method on one path template, which has its parameters in braces.
pub(super) trait Endpoint: Copy + 'static {
    const ALL: &'static [Self];

    fn method(self) -> Method;
    fn path(self) -> &'static str;
}

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
    template: &'static str,
}

impl<T> EndpointPath<T> {
    /// Finds the template of a path; `None` if it has none, or names nothing. A segment of the
    /// template that is a text goes before a parameter.
    pub(super) fn find<E: Endpoint>(segments: Segments<'_>, target: Option<T>) -> Option<Self> {
        let templates = E::ALL.iter().map(|endpoint| endpoint.path());
        let alike = templates.filter(|template| is_like(template, segments));
        let template = alike.min_by_key(|template| template.matches('{').count())?;
        Some(Self { target: target?, template })
    }

    pub(super) fn methods<E: Endpoint>(&self) -> Methods {
        Methods::of(self.endpoints().map(E::method))
    }

    /// Returns the call of a method on the path.
    pub(super) fn call<E: Endpoint>(self, method: Method) -> Option<EndpointCall<E, T>> {
        let endpoint = self.endpoints::<E>().find(|endpoint| endpoint.method() == method)?;
        Some(EndpointCall { endpoint, target: self.target })
    }

    fn endpoints<E: Endpoint>(&self) -> impl Iterator<Item = E> {
        E::ALL.iter().copied().filter(|endpoint| endpoint.path() == self.template)
    }
}

fn is_like(template: &str, segments: Segments<'_>) -> bool {
    let mut parts = template.split('/').skip(1);
    segments.into_iter().all(|segment| match (parts.next(), segment) {
        (Some(part), Some(segment)) => part == segment || part.starts_with('{'),
        (part, segment) => part == segment,
    })
}

/// Declares the endpoints of an API in one table.
macro_rules! endpoints {
    ($(#[$doc:meta])* $endpoint:ident $($name:ident: $method:ident $path:literal,)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "`method` and `path` say what each one is")]
        pub enum $endpoint {
            $($name,)+
        }

        impl $endpoint {
            /// Every endpoint once.
            pub const ALL: [Self; [$($path),+].len()] = [$(Self::$name),+];

            /// Returns the method.
            pub const fn method(self) -> Method {
                match self {
                    $(Self::$name => Method::$method,)+
                }
            }

            /// Returns the path, with parameters in braces. For the operator, a slug may stand
            /// for the id of a page.
            pub const fn path(self) -> &'static str {
                match self {
                    $(Self::$name => $path,)+
                }
            }
        }

        impl super::endpoints::Endpoint for $endpoint {
            const ALL: &'static [Self] = &Self::ALL;

            fn method(self) -> Method {
                self.method()
            }

            fn path(self) -> &'static str {
                self.path()
            }
        }
    };
}
