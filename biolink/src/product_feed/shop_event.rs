//! What a webhook of a shop says.

use super::{FeedProduct, ProductError};

/// A webhook of a shop about one product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShopEvent {
    /// The product was created or changed. The second part says what is left out of it.
    Upsert(Box<FeedProduct>, Option<ProductError>),
    /// The product was deleted, or is not shown in the shop any more.
    Delete(String),
}
