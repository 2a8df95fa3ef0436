//! The endpoints of an API: their declaration in one table, and how a path finds them.

use std::iter::{Skip, Zip};
use std::str::Split;

use super::on_path;
use super::parameter::Parameter;
use super::path::Segments;
use super::refusal::unknown_route;
use crate::method::{Method, Methods};
use crate::problem::Problem;

/// One method on one path template, which has its parameters in braces.
pub trait Endpoint: Copy + 'static {
    /// Every endpoint once.
    const ALL: &'static [Self];
    /// The method and the path template of each.
    const TABLE: Table;
}

type Table = &'static [(Method, &'static str)];

/// A request of an API: its endpoint, with the parameters of the path.
pub trait EndpointRoute: Sized {
    /// The endpoints.
    type Endpoint: Endpoint;

    /// Returns the route of an endpoint.
    ///
    /// # Errors
    /// Returns the refusal of a parameter.
    fn of(endpoint: Self::Endpoint, parameters: &mut Parameters<'_>) -> Result<Self, Problem>;

    /// Returns the route of a method on a path, as [`on_path`] does; `None` if the API has no such path.
    ///
    /// # Errors
    /// Returns the refusal of a parameter, or `method-not-allowed` with `Allow`.
    fn find<T>(
        segments: Segments<'_>,
        method: Option<Method>,
        preflight: impl FnOnce(Methods) -> T,
        route: impl FnOnce(Self) -> T,
    ) -> Result<Option<T>, Problem> {
        let Some(found) = Found::find(Self::Endpoint::TABLE, segments, method) else { return Ok(None) };
        let endpoint = Self::Endpoint::ALL.get(found.place).copied().ok_or_else(unknown_route)?;
        // A malformed parameter is refused whatever the method.
        let read = Self::of(endpoint, &mut found.template.parameters(segments))?;
        Ok(Some(found.on_path?.map_or_else(|| route(read), preflight)))
    }
}

impl<E: Endpoint> EndpointRoute for E {
    type Endpoint = E;

    fn of(endpoint: E, _: &mut Parameters<'_>) -> Result<Self, Problem> {
        Ok(endpoint)
    }
}

/// The path template of endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template(&'static str);

/// A method on a path.
struct Found {
    template: Template,
    /// The place of its endpoint in the table, or that of another one with the template.
    place: usize,
    /// The methods that a preflight is told; `None` for another request.
    on_path: Result<Option<Methods>, Problem>,
}

/// The segments of a path in the places of a template's parameters.
pub struct Parameters<'a>(Zip<Skip<Split<'static, char>>, <Segments<'a> as IntoIterator>::IntoIter>);

impl Found {
    // One function for every API, and not one for each.
    fn find(table: Table, segments: Segments<'_>, method: Option<Method>) -> Option<Self> {
        let template = Template::of(table, segments)?;
        let read = if method == Some(Method::Head) { Some(Method::Get) } else { method };
        let of_method = read.and_then(|method| template.place(table, method));
        let place = of_method.or_else(|| table.iter().position(|(_, path)| *path == template.0))?;
        let on_path = on_path(method, template.methods_of(table), Some, |_| Some(None));
        Some(Self { template, place, on_path })
    }
}

impl Template {
    /// Finds the template of a path. Where two fit, a text goes before a parameter, from the left.
    pub fn find<E: Endpoint>(segments: Segments<'_>) -> Option<Self> {
        Self::of(E::TABLE, segments)
    }

    /// Returns the methods that the path takes. A `HEAD` is a `GET` without its body.
    pub fn methods<E: Endpoint>(self) -> Methods {
        self.methods_of(E::TABLE)
    }

    /// Returns the endpoint of a method.
    pub fn endpoint<E: Endpoint>(self, method: Method) -> Option<E> {
        E::ALL.get(self.place(E::TABLE, method)?).copied()
    }

    /// Returns the parameters of a path that has the template.
    pub fn parameters(self, segments: Segments<'_>) -> Parameters<'_> {
        Parameters(self.0.split('/').skip(1).zip(segments))
    }

    fn of(table: Table, segments: Segments<'_>) -> Option<Self> {
        let alike = table.iter().map(|(_, path)| Self(path)).filter(|template| template.is_like(segments));
        alike.min_by(|one, other| one.parameter_places().cmp(other.parameter_places()))
    }

    fn methods_of(self, table: Table) -> Methods {
        let own = table.iter().filter(|(_, path)| *path == self.0);
        Methods::of(own.map(|(method, _)| *method)).with_head()
    }

    fn place(self, table: Table, method: Method) -> Option<usize> {
        table.iter().position(|endpoint| *endpoint == (method, self.0))
    }

    /// Returns whether each segment is a parameter.
    fn parameter_places(self) -> impl Iterator<Item = bool> {
        self.0.split('/').map(|part| part.starts_with('{'))
    }

    fn is_like(self, segments: Segments<'_>) -> bool {
        let mut parts = self.0.split('/').skip(1);
        segments.into_iter().all(|segment| match (parts.next(), segment) {
            (Some(part), Some(segment)) => part == segment || part.starts_with('{'),
            (part, segment) => part == segment,
        })
    }
}

impl<'a> Parameters<'a> {
    /// Returns the next segment as it is written.
    pub fn text(&mut self) -> Option<&'a str> {
        self.0.find(|(part, _)| part.starts_with('{')).and_then(|(_, segment)| segment)
    }

    /// Reads the next segment.
    ///
    /// # Errors
    /// Returns the refusal of the segment.
    pub fn read<P: Parameter>(&mut self) -> Result<P, Problem> {
        P::read(self.text().ok_or_else(unknown_route)?)
    }
}

/// Declares the endpoints of an API in one table. With the name of a route before that of the endpoints,
/// it declares the routes too: endpoints with the parameters of their paths.
#[macro_export]
macro_rules! endpoints {
    ($(#[$doc:meta])* $endpoint:ident $($name:ident: $method:ident $path:expr,)+) => {
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
            pub const fn method(self) -> $crate::method::Method {
                match self {
                    $(Self::$name => $crate::method::Method::$method,)+
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

        impl $crate::route::Endpoint for $endpoint {
            const ALL: &'static [Self] = &Self::ALL;
            const TABLE: &'static [($crate::method::Method, &'static str)] =
                &[$(($crate::method::Method::$method, $path)),+];
        }
    };
    (
        $(#[$doc:meta])* $route:ident of $endpoint:ident
        $($name:ident $(($($parameter:ty),+))?: $method:ident $path:expr,)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "`method` and `path` of its endpoint say what each one is")]
        pub enum $route {
            $($name $(($($parameter),+))?,)+
        }

        $crate::endpoints! {
            #[doc = concat!("The endpoint of a [`", stringify!($route), "`].")]
            $endpoint
            $($name: $method $path,)+
        }

        impl $route {
            /// Returns the endpoint.
            pub const fn endpoint(&self) -> $endpoint {
                match self {
                    $(Self::$name { .. } => $endpoint::$name,)+
                }
            }
        }

        impl $crate::route::EndpointRoute for $route {
            type Endpoint = $endpoint;

            #[allow(unused_variables, reason = "no path may have a parameter")]
            fn of(
                endpoint: $endpoint,
                parameters: &mut $crate::route::Parameters<'_>,
            ) -> Result<Self, $crate::problem::Problem> {
                Ok(match endpoint {
                    $($endpoint::$name => Self::$name $(($(parameters.read::<$parameter>()?),+))?,)+
                })
            }
        }
    };
}
