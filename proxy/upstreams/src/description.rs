//! What a tool says of itself, as it was last read.

use std::sync::Arc;
use std::time::Duration;

use shared::catalog::ToolDescription;

use super::Pool;
use super::description_store::DescriptionStore;
use super::last_description::LastDescription;
use transport::clock::Monotonic;

/// The number of probe intervals after which a description is read again.
const REFRESH: u32 = 15;
/// The number of probe intervals after which a failed read is repeated.
const RETRY: u32 = 5;

impl Pool {
    /// Returns the last good description of the tool. Returns `None` if the pool has no `describe`, or
    /// none could be read at that path, by this process or a former one.
    pub fn description(&self) -> Option<Arc<ToolDescription>> {
        let last = self.state.description.lock();
        // After a reload, one of another path would describe what the tool no longer is.
        last.good.clone().filter(|_| last.path == self.config.settings.describe)
    }

    /// Returns why the description could not be read the last time, if so.
    pub fn description_error(&self) -> Option<String> {
        self.state.description.lock().error.clone().filter(|_| !self.config.settings.describe.is_empty())
    }

    /// Returns true if the caller must read the description now. Until the next read is due, all other
    /// callers get false.
    pub(super) fn claim_description(&self, now: Monotonic) -> bool {
        let path = &self.config.settings.describe;
        let mut last = self.state.description.lock();
        if last.path != *path {
            *last = LastDescription { path: path.clone(), ..LastDescription::default() };
        }
        let is_due = !path.is_empty() && last.next.is_none_or(|next| now >= next);
        if is_due {
            // Set before the read, and for the case that it fails or never ends.
            last.next = Some(now.plus(self.intervals(RETRY)));
        }
        is_due
    }

    /// Takes the description that a former process has stored, if it is of this path and good, until the tool's
    /// own is read.
    pub(super) fn restore_description(&self, store: &DescriptionStore) {
        let (tool, settings) = (self.config.tool, &self.config.settings);
        if settings.describe.is_empty() {
            return;
        }
        let Some(stored) = store.read(tool).filter(|stored| stored.path == settings.describe) else { return };
        match ToolDescription::parse(tool, &settings.path, &stored.text) {
            Ok(description) => {
                let good = Some(Arc::new(description));
                let path = stored.path;
                *self.state.description.lock() = LastDescription { path, good, ..LastDescription::default() };
            }
            Err(error) => {
                let file = store.file(tool);
                let file = file.display();
                log::warn!("stored description rejected: tool={tool} file={file} error=\"{error}\"");
            }
        }
    }

    /// Records the result of a read, and logs if it differs from the last one. After a failure the last
    /// good description stays. Returns true if there is a new one.
    pub(super) fn record_description(
        &self,
        upstream: &str,
        result: Result<ToolDescription, String>,
        now: Monotonic,
    ) -> bool {
        let tool = self.config.tool;
        let mut last = self.state.description.lock();
        match result {
            Ok(description) => {
                last.next = Some(now.plus(self.intervals(REFRESH)));
                last.error = None;
                // The old `Arc` stays if nothing has changed, and with it the composed catalog.
                if last.good.as_deref() != Some(&description) {
                    let actions = description.actions();
                    log::info!("description read: tool={tool} upstream={upstream} actions={actions}");
                    last.good = Some(Arc::new(description));
                    return true;
                }
            }
            Err(error) => {
                if last.error.as_ref() != Some(&error) {
                    let kept = last.good.is_some();
                    log::warn!(
                        "description rejected: tool={tool} upstream={upstream} former_kept={kept} error=\"{error}\""
                    );
                    last.error = Some(error);
                }
            }
        }
        false
    }

    fn intervals(&self, count: u32) -> Duration {
        self.config.settings.probe.interval.saturating_mul(count)
    }
}

#[cfg(test)]
mod tests {
    use shared::tool::Tool;

    use super::*;
    use crate::ResolvedNames;
    use crate::pool::tests::{at, config};
    use config::PoolConfig;

    fn described_at(path: &str) -> PoolConfig {
        let mut config = config(1);
        config.settings.describe = path.to_owned();
        config
    }

    fn description(action: &str) -> ToolDescription {
        let text = format!(r#"{{"openapi":"3.1.0","paths":{{"/{action}":{{"get":{{}}}}}}}}"#);
        ToolDescription::parse(Tool::Qr, "", &text).unwrap()
    }

    #[test]
    fn description_is_read_every_30_s_and_after_a_failure_every_10_s() {
        let pool = Pool::new(described_at("/openapi.json"), &ResolvedNames::default(), None);
        assert!(pool.claim_description(at(1_000)));
        assert!(!pool.claim_description(at(1_001)), "one upstream is asked");
        pool.record_description("a", Ok(description("generate")), at(2_000));
        assert!(!pool.claim_description(at(31_999)));
        assert!(pool.claim_description(at(32_000)));
        pool.record_description("a", Err("why".to_owned()), at(32_500));
        assert_eq!(pool.description_error().as_deref(), Some("why"));
        assert!(!pool.claim_description(at(41_999)));
        assert!(pool.claim_description(at(42_000)));
    }

    #[test]
    fn last_good_description_is_kept_until_another_is_good() {
        let pool = Pool::new(described_at("/openapi.json"), &ResolvedNames::default(), None);
        assert!(pool.claim_description(at(0)));
        assert!(pool.description().is_none());
        pool.record_description("a", Ok(description("generate")), at(0));
        pool.record_description("a", Err("why".to_owned()), at(1));
        assert_eq!(pool.description().as_deref(), Some(&description("generate")));
        pool.record_description("a", Ok(description("scan")), at(2));
        assert_eq!(pool.description().as_deref(), Some(&description("scan")));
        assert_eq!(pool.description_error(), None);
    }

    #[test]
    fn reload_keeps_the_description_unless_its_path_changes() {
        let pool = Pool::new(described_at("/openapi.json"), &ResolvedNames::default(), None);
        assert!(pool.claim_description(at(0)));
        pool.record_description("a", Ok(description("generate")), at(0));
        let reloaded = Pool::new(described_at("/openapi.json"), &ResolvedNames::default(), Some(&pool));
        assert!(reloaded.description().is_some() && !reloaded.claim_description(at(1)));
        let moved = Pool::new(described_at("/other.json"), &ResolvedNames::default(), Some(&pool));
        assert!(moved.description().is_none() && moved.claim_description(at(1)));
        let none = Pool::new(described_at(""), &ResolvedNames::default(), Some(&pool));
        assert!(none.description().is_none() && !none.claim_description(at(100_000)));
    }
}
