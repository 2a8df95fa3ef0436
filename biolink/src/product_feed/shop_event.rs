//! What a webhook of a shop says.

use super::FeedProduct;

/// A webhook of a shop about one product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShopEvent {
    /// The product was created or changed.
    Upsert(Box<FeedProduct>),
    /// The product was deleted, or is not shown in the shop any more.
    Delete(String),
}
