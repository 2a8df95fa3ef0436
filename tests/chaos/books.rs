//! The books of a run: what was sent, answered, charged, executed, counted and delivered, and each
//! difference with the bound that allows it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

#[cfg(test)]
mod tests;

use crate::{
    load::{Body, Call, Click, Key, Outcome},
    plan::{DIRECT, Fault},
};

/// The time for which an isolate keeps events, and that of their way to the store, in milliseconds.
const BUFFERED_MS: u64 = 2_000;
/// The time after a full disk within which the queue still has its events, in milliseconds.
const QUEUED_MS: u64 = 10_000;
/// The time within which an isolate reports refunds and corrections, in milliseconds.
const REPORT_MS: u64 = 30_000;
/// The time after which a proxy in direct mode has saved what it counted, in milliseconds.
const SAVED_MS: u64 = 3_000;
/// Executions of a GET at most: at each of two proxies one at each of two upstreams, and three more on
/// idle connections that are reset.
const MAX_EXECUTIONS_OF_GET: usize = 2 * (2 + 3);
/// Requests to the receiver in flight at most, whose 2xx a killed worker may not have stored.
const DELIVERIES_IN_FLIGHT: u64 = 6;
/// Calls of which nothing else than the quota decides, that must pass in percent.
const MIN_SUCCESS_PERCENT: usize = 50;
/// Refusals of the edge, before which no tool has the call.
const NOT_FORWARDED: [&str; 3] = ["quota-exceeded", "meter-unavailable", "key-store-unavailable"];

/// A fault as it happened, in milliseconds since the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Happened {
    pub(crate) fault: Fault,
    pub(crate) begin_ms: u64,
    pub(crate) end_ms: u64,
}

/// What the parties say at the end of a run.
pub(crate) struct Run {
    pub(crate) keys: Vec<Key>,
    pub(crate) calls: Vec<Call>,
    pub(crate) clicks: Vec<Click>,
    pub(crate) faults: Vec<Happened>,
    /// Executions of each call by its number.
    pub(crate) executions: BTreeMap<u64, usize>,
    /// The moment since which today's usage counts.
    pub(crate) day_began_ms: u64,
}

/// The lines of the books, and what is out of balance.
#[derive(Default)]
pub(crate) struct Books {
    pub(crate) lines: Vec<String>,
    pub(crate) imbalances: Vec<String>,
}

/// Numbers of webhooks.
pub(crate) struct Delivered {
    /// Clicks that the report counts.
    pub(crate) counted: u64,
    /// Distinct events that the receiver accepted.
    pub(crate) events: u64,
    /// Requests that it accepted.
    pub(crate) requests: u64,
}

impl Books {
    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Writes a number with what allows it. One outside of `allowed` is an imbalance.
    fn check(&mut self, what: &str, found: u64, allowed: RangeInclusive<u64>, why: &str) {
        let line = format!("{what}: {found}, expected {} to {} ({why})", allowed.start(), allowed.end());
        if !allowed.contains(&found) {
            self.imbalances.push(line.clone());
        }
        self.line(line);
    }
}

impl Call {
    /// Returns the status and the code of the response.
    pub(crate) fn status(&self) -> Option<(u16, &str)> {
        match &self.outcome {
            Outcome::Answered { status, code, .. } => Some((*status, code)),
            Outcome::NotConnected | Outcome::NoResponse => None,
        }
    }

    fn is_admitted(&self) -> bool {
        self.status().is_some_and(|(status, _)| status == 200)
    }

    /// Returns true if the tool broke its response off, which is given back in direct mode.
    fn is_cut(&self) -> bool {
        matches!(self.outcome, Outcome::Answered { body: Body::Cut, .. })
    }

    fn is_degraded(&self) -> bool {
        matches!(self.outcome, Outcome::Answered { is_degraded: true, .. })
    }
}

impl Run {
    fn kills(&self) -> impl Iterator<Item = u64> {
        self.moments(Fault::KillEdge)
    }

    fn moments(&self, fault: Fault) -> impl Iterator<Item = u64> {
        self.faults.iter().filter(move |one| one.fault == fault).map(|one| one.begin_ms)
    }

    /// Returns the moment since which a process that is killed may lose what it has: for so long it
    /// keeps that in memory, and since before its `full` disk if that ended within `full_ms`.
    fn unsaved_since(&self, kill: u64, kept_ms: u64, (full, full_ms): (Fault, u64)) -> u64 {
        let is_recent = |one: &&Happened| {
            one.fault == full && one.begin_ms < kill && kill.saturating_sub(one.end_ms) < full_ms
        };
        let full = self.faults.iter().filter(is_recent).map(|one| one.begin_ms.saturating_sub(kept_ms)).min();
        full.unwrap_or(kill).min(kill.saturating_sub(kept_ms))
    }

    /// Returns true if the proxy in direct mode may have forgotten what it counted of a call.
    fn is_forgotten(&self, call: &Call) -> bool {
        self.keys[call.key].is_direct
            && self.moments(Fault::KillProxy(DIRECT)).any(|kill| {
                let since = self.unsaved_since(kill, SAVED_MS, (Fault::FullLogs, SAVED_MS));
                (since..=kill).contains(&call.done_ms)
            })
    }

    fn count(&self, condition: impl Fn(&Call) -> bool) -> u64 {
        self.calls.iter().filter(|call| condition(call)).count() as u64
    }

    /// Returns the calls of a key that may and that must be charged to its day.
    pub(crate) fn charges(&self, key: usize) -> RangeInclusive<u64> {
        let day = self.day_began_ms;
        let admitted = |call: &Call| call.key == key && call.is_admitted();
        let is_direct = self.keys[key].is_direct;
        let is_given_back = |call: &Call| self.is_forgotten(call) || (is_direct && call.is_cut());
        let is_reported = |call: &Call| !call.is_degraded() || self.kills().all(|kill| kill < call.done_ms);
        let is_charged = |call: &Call| admitted(call) && is_reported(call) && !is_given_back(call);
        let least = self.count(|call| call.sent_ms >= day && is_charged(call));
        let in_doubt = self.count(|call| {
            call.key == key && call.done_ms >= day && matches!(call.outcome, Outcome::NoResponse)
        });
        let unreported = |call: &Call| match is_direct {
            true => self.is_forgotten(call),
            false => self.kills().any(|kill| call.done_ms < kill && kill - call.done_ms < REPORT_MS),
        };
        let refunds = self.count(|call| {
            let is_refunded = call.status().is_some_and(|(status, _)| status == 503);
            call.key == key && call.done_ms >= day && is_refunded && unreported(call)
        });
        let most = self.count(|call| call.done_ms >= day && admitted(call));
        let leases: u64 = self.faults.iter().map(|one| one.fault.unreported_leases()).sum();
        least..=most + in_doubt + refunds + leases * self.keys[key].lease()
    }

    /// Writes the books of calls.
    pub(crate) fn calls(&self, books: &mut Books) {
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        for call in &self.calls {
            let name = match (&call.outcome, call.status()) {
                (Outcome::NotConnected, _) => "not connected".to_owned(),
                (_, Some((status, ""))) => status.to_string(),
                (_, Some((status, code))) => format!("{status} {code}"),
                (_, None) => "no response".to_owned(),
            };
            *outcomes.entry(name).or_default() += 1;
        }
        let sum: Vec<_> = outcomes.iter().map(|(name, count)| format!("{count} × {name}")).collect();
        books.line(format!("calls sent: {} = {}", self.calls.len(), sum.join(" + ")));
        for (name, count) in &outcomes {
            let expected = ["200", "429 quota-exceeded", "not connected", "no response"];
            if !expected.contains(&name.as_str()) && !name.starts_with("503 ") {
                books.imbalances.push(format!("{count} calls were answered with {name}"));
            }
        }
        let refused = self.count(|call| call.status().is_some_and(|(status, _)| status == 429));
        let of = self.calls.len() as u64 - refused;
        let least = of * MIN_SUCCESS_PERCENT as u64 / 100;
        books.check(
            "calls admitted and executed (200)",
            self.count(Call::is_admitted),
            least..=of,
            "half of those within their quota pass in spite of the faults",
        );
        let degraded = self.count(Call::is_degraded);
        books.line(format!("calls admitted without a meter: {degraded}"));
        self.executed(books);
        self.bodies(books);
        for (nth, key) in self.keys.iter().enumerate() {
            self.window(books, nth, key);
        }
    }

    fn executed(&self, books: &mut Books) {
        let (mut repeated, mut unanswered) = (0, 0);
        for call in &self.calls {
            let found = self.executions.get(&call.number).copied().unwrap_or(0);
            let most = if call.is_post { 1 } else { MAX_EXECUTIONS_OF_GET };
            let expected = match (&call.outcome, call.status()) {
                (Outcome::NotConnected, _) => 0..=0,
                (_, Some((200, _))) => 1..=most,
                (_, Some((_, code))) if NOT_FORWARDED.contains(&code) => 0..=0,
                _ => 0..=most,
            };
            if !expected.contains(&found) {
                books.imbalances.push(format!("executed {found} times, expected {expected:?}: {call:?}"));
            }
            repeated += found.saturating_sub(1);
            unanswered += usize::from(found > 0 && !call.is_admitted());
        }
        let all: usize = self.executions.values().sum();
        books.line(format!(
            "executed at tools: {all} = {} answered with 200 + {unanswered} with another end + {repeated} repeated GETs",
            self.count(Call::is_admitted)
        ));
        let known: BTreeSet<_> = self.calls.iter().map(|call| call.number).collect();
        let unknown = self.executions.keys().filter(|number| !known.contains(number)).count() as u64;
        books.check("executed without a call", unknown, 0..=0, "each has one");
    }

    fn bodies(&self, books: &mut Books) {
        let (mut kinds, mut compared) = ([0; 3], 0);
        for call in &self.calls {
            match &call.outcome {
                Outcome::Answered { body: Body::Foreign(text), .. } => {
                    books.imbalances.push(format!("another body: {text:?} for {call:?}"));
                }
                Outcome::Answered { body: Body::Own { bytes }, .. } => {
                    kinds[0] += 1;
                    compared += bytes;
                }
                Outcome::Answered { body: Body::Lie, .. } => kinds[1] += 1,
                Outcome::Answered { body: Body::Cut, .. } => kinds[2] += 1,
                _ => {}
            }
        }
        let [own, lies, cut] = kinds;
        books.line(format!(
            "bodies of 200: {own} of the call itself + {lies} as a lying tool began them + {cut} cut"
        ));
        books.line(format!("bytes to tools and back: {compared}, each compared with what was sent"));
    }

    /// Checks that no 60 seconds hold more calls of a key than its limit. Only calls that began and
    /// ended within a window are sure to be of it.
    fn window(&self, books: &mut Books, nth: usize, key: &Key) {
        let fullest = |condition: &dyn Fn(&Call) -> bool| {
            let calls =
                self.calls.iter().filter(|call| call.key == nth && call.is_admitted() && condition(call));
            let mut ended: Vec<_> = calls.map(|call| (call.done_ms, call.sent_ms)).collect();
            ended.sort_unstable();
            let within = |first: u64| {
                let from = ended.partition_point(|(done, _)| *done < first);
                let until = ended[from..].iter().take_while(|(done, _)| *done <= first + 60_000);
                until.filter(|(_, sent)| *sent >= first).count()
            };
            ended.iter().map(|(_, sent)| within(*sent)).max().unwrap_or(0) as u64
        };
        let (counted, all) = (fullest(&|call| !call.is_degraded()), fullest(&|_| true));
        let limit = key.minute as u64;
        let name = format!("key {nth} ({}), fullest 60 s", key.name());
        if key.is_direct {
            let forgotten =
                self.count(|call| call.key == nth && call.is_admitted() && self.is_forgotten(call));
            return books.check(&name, all, 0..=limit + forgotten, "its limit, and what a kill forgot");
        }
        books.check(&name, counted, 0..=limit, "its limit");
        books.check(
            &format!("{name} with those admitted without a meter"),
            all,
            0..=limit * 5 / 4,
            "1.25 × its limit",
        );
    }

    /// Writes what a key was charged.
    pub(crate) fn charged(&self, books: &mut Books, nth: usize, used: u64) {
        let admitted =
            self.count(|call| call.key == nth && call.sent_ms >= self.day_began_ms && call.is_admitted());
        let name = format!("key {nth} ({}), charged for {admitted} calls with 200", self.keys[nth].name());
        books.check(
            &name,
            used,
            self.charges(nth),
            "more: leases that were not reported in time; less: what a kill forgot, or a tool cut",
        );
    }

    /// Writes the books of clicks.
    pub(crate) fn clicks(&self, books: &mut Books, delivered: &Delivered) {
        let count =
            |redirected| self.clicks.iter().filter(|click| click.is_redirected == redirected).count() as u64;
        let (answered, in_doubt) = (count(Some(true)), count(None));
        books.line(format!(
            "clicks sent: {} = {answered} redirected + {} refused + {in_doubt} without a response",
            self.clicks.len(),
            count(Some(false))
        ));
        let least = answered - self.clicks_at_risk();
        let why = "less: 2 s before a kill of the worker, and what its queue held; more: no response";
        books.check("clicks counted in the report", delivered.counted, least..=answered + in_doubt, why);
        let counted = delivered.counted..=delivered.counted;
        books.check("clicks delivered", delivered.events, counted, "each that is counted, by its id");
        let again = delivered.requests - delivered.events;
        let risky = self.faults.iter().filter(|one| {
            matches!(one.fault, Fault::KillEdge | Fault::StopEdge | Fault::FullDisk | Fault::ObjectsLate)
        });
        let most = risky.count() as u64 * DELIVERIES_IN_FLIGHT;
        let why = "those in flight when the worker dies, stops or cannot store";
        books.check("deliveries repeated after a 2xx", again, 0..=most, why);
    }

    /// Returns the number of clicks that a kill of the worker may have lost.
    fn clicks_at_risk(&self) -> u64 {
        let is_lost = |done_ms| {
            self.kills().any(|kill| {
                let since = self.unsaved_since(kill, BUFFERED_MS, (Fault::FullDisk, QUEUED_MS));
                (since..=kill).contains(&done_ms)
            })
        };
        let redirected = self.clicks.iter().filter(|click| click.is_redirected == Some(true));
        redirected.filter(|click| is_lost(click.done_ms)).count() as u64
    }
}

impl Key {
    /// Returns the most calls of a lease: the use of 10 seconds, with what chance adds.
    fn lease(&self) -> u64 {
        let uses = self.calls_per_second * 10;
        if self.tier == "free" || self.is_direct { 0 } else { uses + uses.isqrt() + 1 }
    }

    fn name(&self) -> String {
        format!("{}{}", self.tier, if self.is_direct { ", direct" } else { "" })
    }
}
