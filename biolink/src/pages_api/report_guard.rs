//! Reports of pages as one isolate sees them. It decides first, so that a flood of them costs few
//! object requests and rows, and fills no store.

use shared::minute_counters::MinuteCounters;
use shared::problem::{Problem, codes};
use shared::sorted_map::SortedMap;
use shared::time::UnixMillis;

use crate::page::PageId;
use crate::policy::{REPORTS_PER_NETWORK_MINUTE, REPORTS_PER_PAGE_MINUTE, REPORTS_SENT_PER_MINUTE};

/// Maximum number of pages whose reports are counted. Those of further pages are taken and forgotten
/// while nothing may be sent.
const MAX_PAGES: usize = 256;

/// A count of the reports of an isolate within a minute, by network, by page and in all.
///
/// Why: docs/decisions/pages.md, "An isolate sends few reports a minute, and counts the others".
#[derive(Debug, Default)]
pub struct ReportGuard {
    minute: u64,
    sent: u32,
    networks: MinuteCounters,
    pages: SortedMap<PageId, PageReports>,
}

#[derive(Debug, Default)]
struct PageReports {
    sent: u32,
    more: u32,
}

/// The next step for a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportStep {
    /// Send it to the store, with the number of the page's reports that were only counted since.
    Send {
        /// That number.
        more: u32,
    },
    /// It was counted here.
    Counted,
}

impl ReportGuard {
    /// Returns a guard that has counted nothing.
    pub const fn new() -> Self {
        Self { minute: 0, sent: 0, networks: MinuteCounters::new(), pages: SortedMap::new() }
    }

    /// Counts a report of `page`. `network` is the bucket of the sender's network, if it is known.
    ///
    /// # Errors
    /// Returns `too-many-requests` if the network sends too many.
    pub fn record(
        &mut self,
        page: PageId,
        network: Option<u16>,
        now: UnixMillis,
    ) -> Result<ReportStep, Problem> {
        self.begin_minute(now.seconds() / 60);
        if let Some(network) = network {
            if self.networks.count(network, now) >= REPORTS_PER_NETWORK_MINUTE {
                let detail = "your network has sent too many reports within this minute";
                let retry_after = 60 - now.seconds() % 60;
                return Err(Problem::new(codes::TOO_MANY_REQUESTS, detail).retry_after(retry_after));
            }
            self.networks.record(network, now);
        }
        let may_send = self.sent < REPORTS_SENT_PER_MINUTE;
        // Made-up reports of many pages must not fill the memory of the isolate.
        if self.pages.len() >= MAX_PAGES && !self.pages.contains_key(&page) {
            self.sent += u32::from(may_send);
            return Ok(if may_send { ReportStep::Send { more: 0 } } else { ReportStep::Counted });
        }
        let reports = self.pages.get_or_default(page);
        if !may_send || reports.sent >= REPORTS_PER_PAGE_MINUTE {
            reports.more = reports.more.saturating_add(1);
            return Ok(ReportStep::Counted);
        }
        reports.sent += 1;
        self.sent += 1;
        Ok(ReportStep::Send { more: std::mem::take(&mut reports.more) })
    }

    /// Keeps the counts that no report has carried yet.
    fn begin_minute(&mut self, minute: u64) {
        if self.minute == minute {
            return;
        }
        (self.minute, self.sent) = (minute, 0);
        self.pages.retain(|_, reports| reports.more > 0);
        self.pages.values_mut().for_each(|reports| reports.sent = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000 + 20_000);
    const LATER: UnixMillis = NOW.plus(60_000);

    fn page(n: u16) -> PageId {
        let [a, b] = n.to_be_bytes();
        PageId::new([a, b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    #[test]
    fn page_has_its_share_and_the_rest_is_counted() {
        let mut guard = ReportGuard::new();
        for network in 0..REPORTS_PER_PAGE_MINUTE {
            let network = u16::try_from(network).ok();
            assert_eq!(guard.record(page(1), network, NOW), Ok(ReportStep::Send { more: 0 }));
        }
        for network in 100..107 {
            assert_eq!(guard.record(page(1), Some(network), NOW), Ok(ReportStep::Counted));
        }
        assert_eq!(guard.record(page(2), Some(107), NOW), Ok(ReportStep::Send { more: 0 }), "another page");
        assert_eq!(guard.record(page(1), Some(1), LATER), Ok(ReportStep::Send { more: 7 }));
        assert_eq!(guard.record(page(1), Some(1), LATER), Ok(ReportStep::Send { more: 0 }));
    }

    #[test]
    fn isolate_sends_few_in_all() {
        let mut guard = ReportGuard::new();
        let sent = |step: &Result<ReportStep, Problem>| matches!(step, Ok(ReportStep::Send { .. }));
        let steps: Vec<_> = (0..1_000).map(|n| guard.record(page(n), Some(n), NOW)).collect();
        assert!(steps.iter().all(Result::is_ok));
        assert_eq!(steps.iter().filter(|step| sent(step)).count(), REPORTS_SENT_PER_MINUTE as usize);
        assert!(guard.pages.len() <= MAX_PAGES);
        assert!(sent(&guard.record(page(2_000), Some(1), LATER)));
    }

    #[test]
    fn network_that_sends_many_waits_for_the_next_minute() {
        let mut guard = ReportGuard::new();
        for n in 0..REPORTS_PER_NETWORK_MINUTE {
            assert!(guard.record(page(n.into()), Some(7), NOW).is_ok());
        }
        let refused = guard.record(page(100), Some(7), NOW).unwrap_err();
        let refused = refused.render(&shared::request_id::RequestId([0; 16]));
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("40")));
        assert!(guard.record(page(100), Some(8), NOW).is_ok());
        assert!(guard.record(page(100), Some(7), LATER).is_ok());
        assert!((0..100).all(|_| guard.record(page(1), None, LATER).is_ok()), "an unknown network");
    }
}
