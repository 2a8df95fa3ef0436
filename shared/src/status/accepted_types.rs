//! The media types that pools take besides JSON, as a proxy tells its edge.
//!
//! Why: docs/decisions/edge.md, "A body of another type is refused before its call is counted".

use serde::{Deserialize, Serialize};

use crate::json;
use crate::sorted_map::SortedMap;
use crate::time::UnixMillis;
use crate::tool::Tool;

/// The media types of each tool that takes others than JSON. They may be ranges, such as `audio/*`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedTypes(SortedMap<String, Vec<String>>);

impl AcceptedTypes {
    /// Returns the types of every tool that `accept` has any of.
    pub fn new(accept: impl Fn(Tool) -> Vec<String>) -> Self {
        let all = Tool::ALL.into_iter().map(|tool| (tool.as_str().to_owned(), accept(tool)));
        Self(all.filter(|(_, types)| !types.is_empty()).collect())
    }

    /// Reads them from the report of a proxy. Returns `None` if it does not have them, as one of an older version.
    pub fn from_report(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Report {
            accepts: AcceptedTypes,
        }
        json::from_str::<Report>(text).ok().map(|report| report.accepts)
    }

    /// Returns the types that a tool takes besides JSON.
    pub fn of(&self, tool: Tool) -> &[String] {
        self.0.get(tool.as_str()).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What the last proxy that was asked has told, for ten seconds.
#[derive(Debug, Default)]
pub struct AcceptedTypesCache(Option<(UnixMillis, Option<AcceptedTypes>)>);

impl AcceptedTypesCache {
    const FRESH_MS: u64 = 10_000;

    /// Returns an empty cache.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Returns what was told: `Some(None)` if no proxy has said it. `None` if it is time to ask.
    pub fn get(&self, now: UnixMillis) -> Option<Option<&AcceptedTypes>> {
        let fresh = self.0.as_ref().filter(|(at, _)| now.since(*at) < Self::FRESH_MS);
        fresh.map(|(_, told)| told.as_ref())
    }

    /// Takes what came at `now`.
    pub fn store(&mut self, told: Option<AcceptedTypes>, now: UnixMillis) {
        self.0 = Some((now, told));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::StatusReport;

    #[test]
    fn accepted_types_are_those_of_the_report() {
        let accept = |tool| if tool == Tool::Transcribe { vec!["audio/*".to_owned()] } else { Vec::new() };
        let told = AcceptedTypes::new(accept);
        let report = StatusReport { accepts: Some(told.clone()), ..StatusReport::new(|_| true) }.to_json();
        assert_eq!(AcceptedTypes::from_report(&report), Some(told.clone()));
        assert_eq!((told.of(Tool::Transcribe), told.of(Tool::Qr)), (&["audio/*".to_owned()][..], &[][..]));
        assert_eq!(StatusReport::from_json(&report), Some(StatusReport::new(|_| true)), "for the edge alone");
        let none = StatusReport::new(|_| true).to_json();
        assert!(!none.contains("accepts") && AcceptedTypes::from_report(&none).is_none(), "an older proxy");
    }

    #[test]
    fn cache_asks_again_after_ten_seconds() {
        let (mut cache, at) = (AcceptedTypesCache::new(), UnixMillis(1_000_000));
        assert!(cache.get(at).is_none());
        cache.store(None, at);
        assert_eq!((cache.get(at.plus(9_999)), cache.get(at.plus(10_000))), (Some(None), None));
    }
}
