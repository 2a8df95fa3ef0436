//! The device of a visitor.

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device {
    /// A phone.
    Mobile,
    /// A tablet.
    Tablet,
    /// A computer.
    Desktop,
    /// A television, or a box or console that is connected to one.
    Tv,
    /// Any other, or not known.
    Other,
}

impl Device {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Mobile, Self::Tablet, Self::Desktop, Self::Tv, Self::Other];

    /// Returns the name in responses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mobile => "mobile",
            Self::Tablet => "tablet",
            Self::Desktop => "desktop",
            Self::Tv => "tv",
            Self::Other => "other",
        }
    }
}
