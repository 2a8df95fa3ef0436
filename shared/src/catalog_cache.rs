//! The last catalog that the edge read.

use std::rc::Rc;

use crate::catalog::Catalog;
use crate::time::UnixMillis;

/// The last catalog, read again every ten seconds. If no origin responds, the last good one is kept.
#[derive(Debug, Default)]
pub struct CatalogCache {
    last: Option<Rc<Catalog>>,
    asked_at: Option<UnixMillis>,
}

impl CatalogCache {
    /// Time for which a catalog is served without another look, in milliseconds.
    pub const FRESH_MS: u64 = 10_000;

    /// Returns an empty cache.
    pub const fn new() -> Self {
        Self { last: None, asked_at: None }
    }

    /// Returns the catalog to serve. If there is none, the caller must ask an origin and
    /// [`store`](Self::store) what came of it: the first reader after ten seconds does, while others are
    /// served the last one.
    pub fn get(&mut self, now: UnixMillis) -> Option<Rc<Catalog>> {
        let is_fresh = self.asked_at.is_some_and(|at| now.since(at) < Self::FRESH_MS);
        if !is_fresh {
            self.asked_at = Some(now);
            return None;
        }
        self.last.clone()
    }

    /// Takes what an origin responded, `None` if none did. Returns the catalog to serve: the new one, or
    /// else the last.
    pub fn store(&mut self, catalog: Option<Catalog>) -> Option<Rc<Catalog>> {
        if let Some(catalog) = catalog {
            self.last = Some(Rc::new(catalog));
        }
        self.last.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_good_catalog_is_kept_and_asked_for_every_ten_seconds() {
        let mut cache = CatalogCache::new();
        assert_eq!(cache.get(UnixMillis(1_000)), None);
        assert_eq!(cache.store(None), None);
        assert_eq!(cache.get(UnixMillis(20_000)), None);
        let catalog = Rc::new(Catalog::compose([]));
        assert_eq!(cache.store(Some(Catalog::compose([]))), Some(Rc::clone(&catalog)));
        assert_eq!(cache.get(UnixMillis(29_999)), Some(Rc::clone(&catalog)));
        assert_eq!(cache.get(UnixMillis(30_000)), None, "this one asks");
        assert_eq!(cache.get(UnixMillis(30_001)), Some(Rc::clone(&catalog)), "the others are served");
        assert_eq!(cache.store(None), Some(catalog), "no origin responds");
    }
}
