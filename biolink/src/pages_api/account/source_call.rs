//! Calls about product sources.

use serde::{Deserialize, Serialize};

use shared::json;

use crate::{
    codes,
    page::SourceId,
    pages_api::admission::Decision,
    product_feed::FeedProduct,
    product_sync::{EditOutcome, ProductEdit, SourceWrite},
};

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
    /// The source's object has these products. The last is the number of its edit.
    Sync(SourceId, Vec<FeedProduct>, u64),
}

impl SourceCall {
    /// Returns the call that makes an edit of its page.
    pub fn sync(edit: &ProductEdit) -> Self {
        Self::Sync(edit.source, edit.products.clone(), edit.number)
    }

    /// Returns the outcome of an edit, as the account's decision says it.
    pub fn outcome(decision: Decision) -> EditOutcome {
        let Decision::Reply(reply) = decision else {
            return EditOutcome::Failed("the account did not decide".to_owned());
        };
        let is_gone = |code: &str| {
            [codes::PAGE_UNKNOWN, codes::SOURCE_UNKNOWN].iter().any(|gone| gone.as_str() == code)
        };
        match reply.problem() {
            Some(code) if is_gone(code) => EditOutcome::SourceGone,
            Some(code) => EditOutcome::Failed(format!("the account refused the products: {code}")),
            None => json::from_str(&reply.into_response().body).map_or_else(
                |error| EditOutcome::Failed(format!("the account's response cannot be read: {error}")),
                EditOutcome::Applied,
            ),
        }
    }

    /// Returns true if it changes the products of the page.
    pub(super) const fn has_content(&self) -> bool {
        matches!(self, Self::Delete { .. } | Self::Sync(..))
    }
}
