//! The plans of the bio-link product.

use serde::{Deserialize, Serialize};

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
