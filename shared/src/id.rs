//! Public names: a prefix, and bytes in base62.

/// Defines a public name, safe to log and to store: its prefix, and its number of bytes.
///
/// ```
/// shared::id! {
///     /// The name of a book.
///     BookId "bok_" 8
/// }
///
/// let id = BookId::new([7; 8]);
/// assert_eq!((BookId::parse(&id.to_string()), BookId::parse("bok_")), (Some(id), None));
/// ```
#[macro_export]
macro_rules! id {
    ($(#[$doc:meta])* $name:ident $prefix:literal $bytes:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// Bytes of an id.
            pub const BYTES: usize = $bytes;

            /// Returns the id with these bytes.
            pub const fn new(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }

            /// Returns what `Display` writes.
            pub fn text(&self) -> [u8; $prefix.len() + $crate::base62::encoded_len($bytes)] {
                let mut text = [0; $prefix.len() + $crate::base62::encoded_len($bytes)];
                let (prefix, digits) = text.split_at_mut($prefix.len());
                prefix.copy_from_slice($prefix.as_bytes());
                $crate::base62::write(&self.0, digits);
                text
            }

            /// Reads what `Display` writes; `None` for anything else.
            pub fn parse(text: &str) -> Option<Self> {
                let mut bytes = [0; $bytes];
                $crate::base62::decode(text.strip_prefix($prefix)?.as_bytes(), &mut bytes)?;
                Some(Self(bytes))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(::std::str::from_utf8(&self.text()).unwrap_or_default())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as ::serde::Deserialize>::deserialize(deserializer)?;
                let unreadable = concat!("not an id that begins with ", $prefix);
                Self::parse(&text).ok_or_else(|| ::serde::de::Error::custom(unreadable))
            }
        }
    };
}
