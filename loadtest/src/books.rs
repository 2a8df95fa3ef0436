//! Balanced books: what the driver sent and got, what the gateway counted, and what the tools saw.

mod counters;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use counters::{CounterSources, Counters};

use crate::summary::{OutcomeKey, Summary};

/// The books of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Books {
    /// The lines by status class or problem code.
    pub(crate) lines: Vec<BookLine>,
    /// Calls without a complete response. Others may have counted them or not.
    pub(crate) in_doubt: u64,
    /// Each difference in a sentence.
    pub(crate) differences: Vec<String>,
}

/// A line of the books. `None` means that this party was not asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BookLine {
    /// A status class of responses of tools, or the code of a problem.
    pub(crate) name: String,
    /// Complete responses that the driver got.
    pub(crate) driver: u64,
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
                OutcomeKey::Completed { status, code: None } => {
                    *classes.entry(status / 100).or_default() += group.calls
                }
                OutcomeKey::Failed(_) => books.in_doubt += group.calls,
            }
        }
        for class in 2..=5 {
            let driver = classes.get(&class).copied().unwrap_or(0);
            let tools = counters.tools.as_ref().map(|tools| tools.get(&class).copied().unwrap_or(0));
            // The gateway's counters of 4xx and 5xx include its own problems.
            let gateway = counters.calls.as_ref().filter(|_| class < 4);
            let gateway = gateway.map(|calls| calls.get(&class).copied().unwrap_or(0));
            if driver > 0 || tools.unwrap_or(0) > 0 || gateway.unwrap_or(0) > 0 {
                books.add(BookLine { name: format!("{class}xx"), driver, gateway, tools });
            }
        }
        for (code, count) in counters.problems.iter().flatten() {
            codes.entry(code.clone()).or_insert(0);
            if *count == 0 && codes.get(code) == Some(&0) {
                codes.remove(code);
            }
        }
        for (code, driver) in codes {
            let counted =
                counters.problems.as_ref().map(|problems| problems.get(&code).copied().unwrap_or(0));
            // An edge in front of the proxy refuses calls itself.
            let gateway = counted.filter(|&count| count > 0);
            books.add(BookLine { name: code, driver, gateway, tools: None });
        }
        books
    }

    fn add(&mut self, line: BookLine) {
        for (who, count) in [("the gateway counted", line.gateway), ("the tools sent", line.tools)] {
            let Some(count) = count else { continue };
            let (least, most) = (line.driver, line.driver + self.in_doubt);
            if !(least..=most).contains(&count) {
                let difference = format!("{}: the driver got {}, {who} {count}", line.name, line.driver);
                self.differences.push(difference);
            }
        }
        self.lines.push(line);
    }

    /// Returns true if another party counted, and nothing differs.
    #[must_use]
    pub(crate) fn is_balanced(&self) -> bool {
        self.differences.is_empty() && self.lines.iter().any(|line| line.gateway.or(line.tools).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CallError, CallOutcome};
    use crate::summary::tests::{call, status, summary};
    use crate::timeline::Timeline;
    use shared::problem::Code;

    fn books(failed: u64, tools: u64, refused: u64) -> Books {
        let problem = CallOutcome::Completed {
            status: 429,
            code: Some(Code::QuotaExceeded),
            retry_after: true,
            bytes: 0,
            minute_quota: 10,
        };
        let timed_out = CallOutcome::Failed(CallError::TimedOut);
        let calls = (0..10).map(|n| call(n, status(200))).chain((0..5).map(|n| call(n, problem)));
        let calls = calls.chain((0..failed).map(|n| call(n, timed_out)));
        let counters = Counters {
            tools: Some(BTreeMap::from([(2, tools)])),
            calls: Some(BTreeMap::from([(2, tools), (4, refused)])),
            problems: Some(BTreeMap::from([
                ("quota-exceeded".to_owned(), refused),
                ("key-expired".to_owned(), 0),
            ])),
        };
        Books::new(&summary(calls, &Timeline::default()), &counters)
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
}
