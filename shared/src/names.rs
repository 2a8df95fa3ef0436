//! The names that strum derives, as a method.

/// Gives each enum a method `as_str`, which returns the name that `strum::IntoStaticStr` derives.
///
/// ```
/// #[derive(Clone, Copy, strum::IntoStaticStr)]
/// #[strum(serialize_all = "snake_case")]
/// enum Unit {
///     PerMinute,
/// }
///
/// shared::named!(Unit);
/// assert_eq!(Unit::PerMinute.as_str(), "per_minute");
/// ```
#[macro_export]
macro_rules! named {
    ($($name:ident),+) => {
        $(impl $name {
            /// Returns the name in requests, responses and what is stored.
            pub fn as_str(self) -> &'static str {
                self.into()
            }
        })+
    };
}
