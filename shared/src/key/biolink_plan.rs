//! The plans of the bio-link product.

use serde::{Deserialize, Serialize};

use crate::policy::{ANALYTICS_DAYS, ANALYTICS_DAYS_WITHOUT_PLAN};

/// The plan of the bio-link product that a key's account has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BiolinkPlan {
    /// Nothing of it.
    #[default]
    None,
    /// Longer analytics.
    Standard,
    /// The REST API, webhooks and product sync.
    Business,
}

impl BiolinkPlan {
    /// Returns the days over which analytics reach back.
    #[must_use]
    pub const fn analytics_days(self) -> u32 {
        match self {
            Self::None => ANALYTICS_DAYS_WITHOUT_PLAN,
            Self::Standard | Self::Business => ANALYTICS_DAYS,
        }
    }
}
