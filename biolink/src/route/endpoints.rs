//! The declaration of endpoints.

/// Declares the endpoints of an API in one table: each is a method on a path template, which has its
/// parameters in braces.
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
    };
}
