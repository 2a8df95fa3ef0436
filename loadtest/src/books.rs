//! Reconciled counters: what the driver sent and got, what the gateway counted, and what the tools saw.

mod counters;
mod edge_shares;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use counters::{CounterSources, Counters};
pub(crate) use edge_shares::EdgeShares;

use crate::summary::{OutcomeKey, Summary};

/// The books of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Books {
    /// The lines by status class or problem code.
    pub(crate) lines: Vec<BookLine>,
    /// Calls without a complete response. Others may have counted them or not.
    pub(crate) in_doubt: u64,
    /// The parts of the completed calls, if there is an edge that counts.
    pub(crate) edge: Option<EdgeShares>,
    /// Each difference in a sentence.
    pub(crate) differences: Vec<String>,
}

/// A line of the books. `None` means that this party was not asked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BookLine {
    /// A status class of responses of tools, or the code of a problem.
    pub(crate) name: String,
    /// Complete responses that the driver got.
    pub(crate) driver: Option<u64>,
    /// Responses that the edge counted.
    pub(crate) edge: Option<u64>,
    /// Responses that the gateway counted.
    pub(crate) gateway: Option<u64>,
    /// Responses that the simulated tools sent.
    pub(crate) tools: Option<u64>,
}

/// The time that counters may take to follow the last response.
const SETTLE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_millis(100);

/// Compares the driver's counts with how far the counters have moved since `before`. Waits until
/// they agree, for at most two seconds.
pub(crate) async fn balance(summary: &Summary, sources: &CounterSources, before: &Counters) -> Option<Books> {
    let mut waited = Duration::ZERO;
    loop {
        // The gateway counts a call when its exchange ends, which may be after the driver has the
        // last byte. A single read would find differences that are gone a moment later.
        let books = Books::new(summary, &sources.read().await?.since(before));
        if books.is_balanced() || waited >= SETTLE {
            return Some(books);
        }
        tokio::time::sleep(INTERVAL).await;
        waited += INTERVAL;
    }
}

impl Books {
    fn new(summary: &Summary, counters: &Counters) -> Self {
        let mut books = Self::default();
        let (mut classes, mut codes) = (BTreeMap::<u16, u64>::new(), BTreeMap::<String, u64>::new());
        for (key, group) in &summary.groups {
            match key.outcome {
                OutcomeKey::Completed { code: Some(code), .. } => {
                    *codes.entry(code.to_owned()).or_default() += group.calls
                }
                OutcomeKey::Completed { status, code: None, .. } => {
                    *classes.entry(status / 100).or_default() += group.calls
                }
                // A call that was cut off may or may not have reached each counter, so it widens
                // the ranges.
                OutcomeKey::Failed(_) => books.in_doubt += group.calls,
            }
        }
        let completed = classes.values().chain(codes.values()).sum();
        books.edge = counters.edge.as_ref().map(|edge| {
            EdgeShares::new(
                completed,
                &codes,
                counters.problems.as_ref(),
                books.in_doubt,
                edge.origin_requests,
            )
        });
        books.add_classes(&classes, counters);
        books.add_codes(codes, counters);
        books.add_forwarded(counters);
        books
    }

    /// Adds the responses without a problem code.
    fn add_classes(&mut self, classes: &BTreeMap<u16, u64>, counters: &Counters) {
        for class in 2..=5 {
            let at = |counts: &BTreeMap<u16, u64>| counts.get(&class).copied().unwrap_or(0);
            let line = BookLine {
                name: format!("{class}xx"),
                driver: Some(at(classes)),
                edge: counters.edge.as_ref().map(|edge| edge.class(class)),
                // The gateway's counters of 4xx and 5xx include its own problems.
                gateway: counters.calls.as_ref().filter(|_| class < 4).map(at),
                tools: counters.tools.as_ref().map(at),
            };
            if [line.driver, line.edge, line.gateway, line.tools].into_iter().flatten().any(|count| count > 0)
            {
                self.add(line);
            }
        }
    }

    /// Adds the problems.
    fn add_codes(&mut self, mut codes: BTreeMap<String, u64>, counters: &Counters) {
        let by_edge = counters.edge.as_ref().map(|edge| &edge.problems);
        for (code, count) in counters.problems.iter().chain(by_edge).flatten() {
            if *count > 0 {
                // A problem that others counted and the driver never got is a difference too, not a
                // missing line.
                codes.entry(code.clone()).or_insert(0);
            }
        }
        for (code, driver) in codes {
            let at = |problems: &BTreeMap<String, u64>| problems.get(&code).copied().unwrap_or(0);
            // An edge in front of the proxy refuses calls itself.
            let gateway = counters.problems.as_ref().map(at).filter(|&count| count > 0);
            let edge = by_edge.map(at);
            self.add(BookLine { name: code, driver: Some(driver), edge, gateway, tools: None });
        }
    }

    /// Adds the calls that the edge forwarded: it counted each attempt at an origin, and the gateway
    /// each call that it got.
    fn add_forwarded(&mut self, counters: &Counters) {
        let (Some(edge), Some(calls)) = (&counters.edge, &counters.calls) else { return };
        let (sent, received) = (edge.origin_requests, calls.values().sum());
        // An attempt that was cut off is counted by the edge, and perhaps not by the gateway.
        if !(sent.saturating_sub(self.in_doubt)..=sent).contains(&received) {
            let difference = format!("forwarded: the edge sent {sent}, the gateway counted {received}");
            self.differences.push(difference);
        }
        let (edge, gateway) = (Some(sent), Some(received));
        self.lines.push(BookLine { name: "forwarded".to_owned(), edge, gateway, ..BookLine::default() });
    }

    /// Adds a line, and its differences from what the driver got.
    fn add(&mut self, line: BookLine) {
        let driver = line.driver.unwrap_or(0);
        let most = driver + self.in_doubt;
        let behind = match self.edge {
            None => driver..=most,
            // Behind an edge that refuses, responds itself and tries again.
            Some(edge) => driver.saturating_sub(edge.refused + edge.served)..=most + edge.retried,
        };
        let parties = [
            ("the edge counted", line.edge, driver..=most),
            ("the gateway counted", line.gateway, behind.clone()),
            ("the tools sent", line.tools, behind),
        ];
        for (who, count, expected) in parties {
            let Some(count) = count.filter(|count| !expected.contains(count)) else { continue };
            self.differences.push(format!("{}: the driver got {driver}, {who} {count}", line.name));
        }
        self.lines.push(line);
    }

    /// Returns true if another party counted, and nothing differs.
    pub(crate) fn is_balanced(&self) -> bool {
        // Books in which nobody else counted balance trivially, and prove nothing.
        let is_compared = |line: &BookLine| line.edge.or(line.gateway).or(line.tools).is_some();
        self.differences.is_empty() && self.lines.iter().any(is_compared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge_counters::EdgeCounters;
    use crate::record::{CallError, CallOutcome};
    use crate::summary::tests::{call, status, summary};
    use crate::timeline::Timeline;
    use shared::problem::{Code, codes};

    fn problem(code: Code) -> CallOutcome {
        CallOutcome::Completed {
            status: 429,
            code: Some(code),
            retry_after: true,
            bytes: 0,
            minute_quota: 10,
            failed_check: None,
            stream: None,
        }
    }

    /// Ten calls with 200, five with 429, and some that timed out.
    fn run(failed: u64) -> Summary {
        let timed_out = CallOutcome::Failed(CallError::TimedOut);
        let calls = (0..10).map(|n| call(n, status(200)));
        let calls = calls.chain((0..5).map(|n| call(n, problem(codes::QUOTA_EXCEEDED))));
        summary(calls.chain((0..failed).map(|n| call(n, timed_out))), &Timeline::default())
    }

    fn books(failed: u64, tools: u64, refused: u64) -> Books {
        let counters = Counters {
            tools: Some(BTreeMap::from([(2, tools)])),
            calls: Some(BTreeMap::from([(2, tools), (4, refused)])),
            problems: Some(BTreeMap::from([
                ("quota-exceeded".to_owned(), refused),
                ("key-expired".to_owned(), 0),
            ])),
            edge: None,
        };
        Books::new(&run(failed), &counters)
    }

    /// The same behind an edge that refuses all five.
    fn edge_books(failed: u64, forwarded: u64, refused: u64, received: u64) -> Books {
        let counters = Counters {
            tools: Some(BTreeMap::from([(2, received)])),
            calls: Some(BTreeMap::from([(2, received)])),
            problems: Some(BTreeMap::new()),
            edge: Some(EdgeCounters {
                responses: BTreeMap::from([("2xx".to_owned(), forwarded)]),
                problems: BTreeMap::from([("quota-exceeded".to_owned(), refused)]),
                origin_requests: forwarded,
                ..EdgeCounters::default()
            }),
        };
        Books::new(&run(failed), &counters)
    }

    #[test]
    fn books_name_each_difference() {
        assert!(books(0, 10, 5).is_balanced(), "{:?}", books(0, 10, 5));
        assert_eq!(
            books(0, 11, 5).differences,
            ["2xx: the driver got 10, the gateway counted 11", "2xx: the driver got 10, the tools sent 11"]
        );
        assert_eq!(books(0, 10, 4).differences, ["quota-exceeded: the driver got 5, the gateway counted 4"]);
        // A call that timed out may have reached the tool.
        assert!(books(2, 12, 5).is_balanced());
        assert!(!books(2, 13, 5).is_balanced());
        assert!(!books(2, 9, 5).is_balanced());
    }

    #[test]
    fn books_with_edge_name_its_refusals() {
        let books = edge_books(0, 10, 5, 10);
        assert!(books.is_balanced(), "{books:?}");
        let shares = books.edge.unwrap();
        assert_eq!((shares.refused, shares.forwarded, shares.served, shares.retried), (5, 10, 0, 0));
        assert_eq!(
            edge_books(0, 10, 4, 10).differences,
            ["quota-exceeded: the driver got 5, the edge counted 4"]
        );
        assert_eq!(
            edge_books(0, 10, 5, 9).differences,
            ["forwarded: the edge sent 10, the gateway counted 9"]
        );
        // A call that timed out may have been lost on its way.
        assert!(edge_books(1, 11, 5, 10).is_balanced());
        assert!(!edge_books(1, 12, 5, 10).is_balanced());
    }
}
