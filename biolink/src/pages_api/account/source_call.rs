//! Calls about product sources.

use serde::{Deserialize, Serialize};

use crate::{page::SourceId, product_feed::FeedProduct, product_sync::SourceWrite};

/// A call about the product sources of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a call lives for one request and is never kept in bulk")]
pub enum SourceCall {
    /// `GET /pages/{id}/product-sources`
    List,
    /// `POST /pages/{id}/product-sources`
    Create(SourceWrite),
    /// `GET …/{source_id}`, and what its object is asked for: `…/runs` and `…/refresh`.
    Read(SourceId),
    /// `PATCH …/{source_id}`
    Patch(SourceId, SourceWrite),
    /// `DELETE …/{source_id}`
    Delete {
        /// The source.
        id: SourceId,
        /// Whether its products stay on the page.
        keep_products: bool,
    },
    /// The source's object has these products.
    Sync(SourceId, Vec<FeedProduct>),
}

impl SourceCall {
    /// Returns true if it changes the products of the page.
    pub(super) const fn has_content(&self) -> bool {
        matches!(self, Self::Delete { .. } | Self::Sync(..))
    }
}
