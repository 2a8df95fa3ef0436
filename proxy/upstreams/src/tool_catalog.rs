//! The catalog of the tools' actions, composed of their descriptions.

use std::sync::Arc;

use parking_lot::Mutex;
use shared::catalog::{Catalog, ToolDescription};

use crate::Pools;
use config::per_tool::PerTool;

/// The last composed catalog. It is composed anew when a description has changed.
#[derive(Default)]
pub struct ToolCatalog(Mutex<Option<Composed>>);

struct Composed {
    descriptions: PerTool<Option<Arc<ToolDescription>>>,
    catalog: Arc<Catalog>,
}

impl ToolCatalog {
    /// Returns the catalog of what the tools say of themselves now.
    pub fn get(&self, pools: &Pools) -> Arc<Catalog> {
        let descriptions = PerTool::from_fn(|tool| pools.of(tool).description());
        // Held while it is composed: requests that come at once would each compose the same.
        let mut last = self.0.lock();
        if let Some(composed) =
            last.as_ref().filter(|composed| is_same(&composed.descriptions, &descriptions))
        {
            return Arc::clone(&composed.catalog);
        }
        let described = descriptions.iter().filter_map(|(tool, one)| Some((tool, one.as_deref()?)));
        let catalog = Arc::new(Catalog::compose(described));
        *last = Some(Composed { catalog: Arc::clone(&catalog), descriptions });
        catalog
    }
}

fn is_same(
    former: &PerTool<Option<Arc<ToolDescription>>>,
    current: &PerTool<Option<Arc<ToolDescription>>>,
) -> bool {
    former.iter().zip(current.iter()).all(|((_, former), (_, current))| match (former, current) {
        // By pointer: an unchanged description keeps its `Arc`, and texts of megabytes are not
        // compared.
        (Some(former), Some(current)) => Arc::ptr_eq(former, current),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    })
}
