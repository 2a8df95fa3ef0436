//! Products of a source on a page, beside those that were made by hand.

use crate::{
    page::{
        ImageUrl, MAX_PRODUCTS, PageDocument, ProductId, SourceId, check_size,
        document::{Image, Product},
    },
    pages_api::denied_hosts::DeniedHosts,
    product_feed::FeedProduct,
    product_sync::Applied,
};

/// A change of the products that come from one source.
#[derive(Clone, Copy, Debug)]
pub(super) enum SourceChange<'a> {
    /// These are its products now.
    Give(&'a [FeedProduct]),
    /// It is gone, and so are its products.
    Remove,
    /// It is gone, and its products stay as if they were made by hand.
    Keep,
}

/// Returns a document after a change, and what changed. The products of the source stand together,
/// where the first of them was. Those made by hand stay, and stand for products of the source that
/// have the same `external_id`. What does not fit onto the page is left out.
pub(super) fn merged(
    document: &PageDocument,
    source: SourceId,
    change: SourceChange<'_>,
    denied: &DeniedHosts,
) -> (PageDocument, Applied) {
    let mut next = document.clone();
    let items = &document.products.items;
    let is_own = |item: &Product| item.source == Some(source);
    match change {
        SourceChange::Keep => {
            next.products.items.iter_mut().filter(|item| is_own(item)).for_each(|item| item.source = None);
            return (next, Applied::default());
        }
        SourceChange::Remove => next.products.items.retain(|item| !is_own(item)),
        SourceChange::Give(products) => {
            let mut others: Vec<Product> = items.iter().filter(|item| !is_own(item)).cloned().collect();
            let place = items.iter().position(is_own).unwrap_or(others.len());
            let by_hand = |name: &str| {
                others.iter().any(|item| item.source.is_none() && item.external_id.as_deref() == Some(name))
            };
            let space = MAX_PRODUCTS.saturating_sub(others.len());
            // A product that the owner has made by hand stays as it is, whatever the shop says.
            let given = products.iter().filter(|product| !by_hand(&product.external_id));
            let given = given.filter(|product| !denied.contains(product.url.host()));
            let mut given: Vec<Product> = given.map(|product| shown(source, product)).take(space).collect();
            loop {
                next.products.items = with(&mut others, place, &given);
                // A document that is too large without them stays as it is.
                if check_size(&next).is_ok() || given.pop().is_none() {
                    break;
                }
            }
        }
    }
    let applied = compare(items.iter().filter(|item| is_own(item)), &next.products.items, is_own);
    (next, applied)
}

/// Returns the items with others among them. All items before `place` are kept.
fn with(others: &mut [Product], place: usize, given: &[Product]) -> Vec<Product> {
    let (before, after) = others.split_at_checked(place).unwrap_or((others, &[]));
    [before, given, after].concat()
}

fn shown(source: SourceId, product: &FeedProduct) -> Product {
    Product {
        // Derived, so that a product keeps its id, and with it its clicks, over all syncs.
        id: ProductId::of_source(&source, &product.external_id),
        external_id: Some(product.external_id.clone()),
        title: product.title.clone(),
        description: product.description.clone(),
        url: product.url.clone(),
        image: product.image.clone().map(|url| Image { url: ImageUrl::Foreign(url), alt: String::new() }),
        price: product.price.clone(),
        sale_price: product.sale_price.clone(),
        sale_from: product.sale_from,
        sale_until: product.sale_until,
        price_varies: product.price_varies,
        availability: product.availability,
        source: Some(source),
    }
}

fn compare<'a>(
    before: impl Iterator<Item = &'a Product> + Clone,
    after: &[Product],
    is_own: impl Fn(&Product) -> bool,
) -> Applied {
    let after: Vec<&Product> = after.iter().filter(|item| is_own(item)).collect();
    let find = |id: ProductId| before.clone().find(|item| item.id == id);
    let added = after.iter().filter(|item| find(item.id).is_none()).count();
    let updated = after.iter().filter(|item| find(item.id).is_some_and(|old| old != **item)).count();
    let removed = before.clone().filter(|old| !after.iter().any(|item| item.id == old.id)).count();
    Applied { shown: after.len(), added, updated, removed }
}

#[cfg(test)]
mod tests;
