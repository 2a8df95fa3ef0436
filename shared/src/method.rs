//! Request methods, and the `Allow` header that lists them (RFC 9110, sections 9.1 and 10.2.1).

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// A request method that some route takes. Any other is refused. Methods are case-sensitive (RFC 9110,
/// section 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "UPPERCASE")]
#[allow(missing_docs, reason = "the names are RFC 9110's")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

crate::named!(Method);

impl Method {
    /// Every method once.
    pub const ALL: [Self; 7] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the bit of the method in a [`Methods`].
    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of methods: those that a path takes.
///
/// ```
/// use shared::method::{Method, Methods};
///
/// let methods = Methods::of([Method::Post, Method::Get]);
/// assert_eq!(methods.allow(), "GET, POST, OPTIONS");
/// assert_eq!(methods.with_head().allow(), "GET, HEAD, POST, OPTIONS");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Methods(u8);

impl Methods {
    /// No method.
    pub const NONE: Self = Self(0);

    /// Returns the set of these methods.
    pub fn of(methods: impl IntoIterator<Item = Method>) -> Self {
        Self(methods.into_iter().fold(0, |bits, method| bits | method.bit()))
    }

    /// Returns the same set with `HEAD` if it has `GET`: a general-purpose server must support both
    /// (RFC 9110, section 9.1).
    #[must_use]
    pub const fn with_head(self) -> Self {
        if self.contains(Method::Get) { Self(self.0 | Method::Head.bit()) } else { self }
    }

    /// Returns true if the method is in the set.
    pub const fn contains(self, method: Method) -> bool {
        self.0 & method.bit() != 0
    }

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the methods of the set.
    pub fn iter(self) -> impl Iterator<Item = Method> {
        Method::ALL.into_iter().filter(move |method| self.contains(*method))
    }

    /// Returns the value of `Allow` for a path with these methods. Every path takes `OPTIONS` too.
    pub fn allow(self) -> String {
        let names = Self(self.0 | Method::Options.bit()).iter().map(Method::as_str);
        names.collect::<Vec<_>>().join(", ")
    }
}
