//! The tiers of keys (spec section 8). The limits of each tier are in [`crate::policy`].

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, FromRepr, IntoStaticStr, VariantArray};

/// The tier of a key, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, FromRepr, IntoStaticStr, VariantArray)]
#[repr(u8)]
#[strum(serialize_all = "lowercase")]
pub enum Tier {
    /// Without charge and without end.
    Free = 0,
    /// Paid by the month.
    Pro = 1,
    /// By contract.
    Enterprise = 2,
}

crate::named!(Tier);

impl Tier {
    /// Every tier once, cheapest first.
    pub const ALL: [Self; 3] = *Self::VARIANTS.as_array().unwrap();

    /// Returns one byte for signed payloads.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the tier of a [`Tier::code`]; `None` for any other byte.
    pub const fn from_code(code: u8) -> Option<Self> {
        Self::from_repr(code)
    }
}
