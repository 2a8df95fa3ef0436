//! The kinds of webhooks that an account's endpoints want of each page.

use serde::{Deserialize, Serialize};

use super::{KindSet, WebhookKind};
use crate::page::PageId;

/// The subscriptions of an account: one for each endpoint that is enabled. Stores of events keep
/// rows only for what they name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subscriptions(Vec<Subscription>);

/// The kinds and pages that one endpoint wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// The kinds.
    pub kinds: KindSet,
    /// The pages; `None` for every page of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<Vec<PageId>>,
}

impl Subscription {
    /// Returns true if the endpoint wants events of this kind and page.
    pub fn wants(&self, kind: WebhookKind, page: &PageId) -> bool {
        self.kinds.has(kind) && self.has_page(page)
    }

    fn has_page(&self, page: &PageId) -> bool {
        self.pages.as_ref().is_none_or(|pages| pages.contains(page))
    }
}

impl Subscriptions {
    /// Returns the kinds that any endpoint wants of a page.
    pub fn kinds_for(&self, page: &PageId) -> KindSet {
        let wanting = self.0.iter().filter(|subscription| subscription.has_page(page));
        wanting.fold(KindSet::EMPTY, |kinds, subscription| kinds.union(subscription.kinds))
    }

    /// Returns true if no endpoint wants anything.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|subscription| subscription.kinds.is_empty())
    }
}

impl FromIterator<Subscription> for Subscriptions {
    fn from_iter<I: IntoIterator<Item = Subscription>>(subscriptions: I) -> Self {
        Self(subscriptions.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use shared::json;

    use super::*;

    const ADA: PageId = PageId::new([1; 12]);
    const BOB: PageId = PageId::new([2; 12]);

    fn subscriptions() -> Subscriptions {
        let clicks = KindSet::EMPTY.with(WebhookKind::Click);
        let published = KindSet::EMPTY.with(WebhookKind::PagePublished);
        let of_ada = Subscription { kinds: clicks, pages: Some(vec![ADA]) };
        [of_ada, Subscription { kinds: published, pages: None }].into_iter().collect()
    }

    #[test]
    fn page_has_the_kinds_of_every_endpoint_that_wants_it() {
        let kinds = |page| subscriptions().kinds_for(page).iter().collect::<Vec<_>>();
        assert_eq!(kinds(&ADA), [WebhookKind::Click, WebhookKind::PagePublished]);
        assert_eq!(kinds(&BOB), [WebhookKind::PagePublished]);
        assert!(!subscriptions().is_empty());
        assert!(Subscriptions::default().is_empty());
    }

    #[test]
    fn subscription_wants_its_kinds_of_its_pages() {
        let one = Subscription { kinds: KindSet::EMPTY.with(WebhookKind::Click), pages: Some(vec![ADA]) };
        assert!(one.wants(WebhookKind::Click, &ADA));
        assert!(!one.wants(WebhookKind::Click, &BOB) && !one.wants(WebhookKind::QrScan, &ADA));
    }

    #[test]
    fn subscriptions_are_read_as_they_were_stored() {
        let text = serde_json::to_string(&subscriptions()).unwrap();
        assert_eq!(json::from_str(&text), Ok(subscriptions()));
        assert_eq!(text.len(), 83, "{text}");
    }
}
