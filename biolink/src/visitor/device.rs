//! The device of a visitor.

use strum::{IntoStaticStr, VariantArray};

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
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

shared::named!(Device);

impl Device {
    /// Every kind.
    pub const ALL: [Self; 5] = *Self::VARIANTS.as_array().unwrap();
}
