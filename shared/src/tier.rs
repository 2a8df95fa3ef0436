//! The tiers of keys (spec section 8). The limits of each tier are in [`crate::policy`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// The tier of a key, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Without charge and without end.
    Free,
    /// Paid by the month.
    Pro,
    /// By contract.
    Enterprise,
}

impl Tier {
    /// Every tier once, cheapest first.
    pub const ALL: [Self; 3] = [Self::Free, Self::Pro, Self::Enterprise];

    /// Returns the tier's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
            Self::Enterprise => "enterprise",
        }
    }

    /// Returns the tier a wire name spells, exactly; `None` for anything else.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == name)
    }

    /// Returns one byte for signed payloads.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Free => 0,
            Self::Pro => 1,
            Self::Enterprise => 2,
        }
    }

    /// Returns the tier of a [`Tier::code`]; `None` for any other byte.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.code() == code)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
