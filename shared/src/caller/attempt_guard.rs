//! Wrong admin secrets as one isolate sees them. It decides first, so that a flood of them costs no
//! object requests and no rows.
//!
//! Why: docs/decisions/keys.md, "An isolate counts wrong admin secrets before their meters do".

use super::{attempt, attempts_exceeded};
use crate::minute_counters::MinuteCounters;
use crate::policy::{ADMIN_ATTEMPTS_PER_NETWORK, ADMIN_ATTEMPTS_REPORTED};
use crate::problem::Problem;
use crate::quota::{Decision, Denial, Usage};
use crate::sorted_map::SortedMap;
use crate::time::UnixMillis;

/// Maximum number of callers that are counted.
const MAX_CALLERS: usize = 1_024;

/// A count of wrong admin secrets by caller and by network, with the denials of the callers' meters.
///
/// **What it promises.** No isolate takes more wrong secrets from one caller than
/// [`attempt`] allows, nor more than 100 a minute from one network. All isolates together take no
/// more from one caller, as long as none of them meets more than 60 wrong secrets within a minute.
/// An isolate that does decides alone for the rest of that minute, so that k such isolates take k
/// times as many. A caller is forgotten if more than 1,024 others come after it.
#[derive(Debug, Default)]
pub struct AttemptGuard {
    callers: SortedMap<String, Caller>,
    networks: MinuteCounters,
    minute: u64,
    reported: u32,
}

#[derive(Debug, Default)]
struct Caller {
    wrong: Usage,
    denied: Option<(Denial, UnixMillis)>,
}

/// The next step for an admin secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardStep {
    /// It is decided here: the secret passes if it is right.
    Decided,
    /// The caller's meter decides, and [`AttemptGuard::record`] takes its decision.
    AskMeter,
}

impl AttemptGuard {
    /// Returns a guard that knows no caller.
    pub const fn new() -> Self {
        Self { callers: SortedMap::new(), networks: MinuteCounters::new(), minute: 0, reported: 0 }
    }

    /// Decides on an admin secret, `right` or wrong. What is refused or decided here looks the same
    /// for a right one and for a wrong one.
    ///
    /// # Errors
    /// Returns `attempts-exceeded`.
    pub fn attempt(
        &mut self,
        caller: &str,
        network: u16,
        right: bool,
        now: UnixMillis,
    ) -> Result<GuardStep, Problem> {
        if let Some(denial) = self.callers.get(caller).and_then(|caller| caller.denial(now)) {
            return Err(attempts_exceeded(denial.retry_ms));
        }
        // Whoever has many addresses of one network would have as many attempts.
        if self.networks.count(network, now) >= ADMIN_ATTEMPTS_PER_NETWORK {
            return Err(attempts_exceeded(60_000 - now.0 % 60_000));
        }
        if let Decision::Deny(denial, _) = self.count(caller, right, now) {
            return Err(attempts_exceeded(denial.retry_ms));
        }
        let minute = now.seconds() / 60;
        if self.minute != minute {
            (self.minute, self.reported) = (minute, 0);
        }
        let step =
            if self.reported < ADMIN_ATTEMPTS_REPORTED { GuardStep::AskMeter } else { GuardStep::Decided };
        if !right {
            self.networks.record(network, now);
            self.reported = self.reported.saturating_add(1);
        }
        Ok(step)
    }

    /// Keeps a denial of the caller's meter.
    pub fn record(&mut self, caller: &str, decision: &Decision, now: UnixMillis) {
        if let &Decision::Deny(denial, _) = decision {
            self.entry(caller, now).denied = Some((denial, now));
        }
    }

    fn count(&mut self, caller: &str, right: bool, now: UnixMillis) -> Decision {
        // Leaves nothing behind: an administrator with the right secret must not push out those who
        // guess.
        if right && !self.callers.contains_key(caller) {
            return attempt(&mut Usage::default(), right, now);
        }
        attempt(&mut self.entry(caller, now).wrong, right, now)
    }

    /// Returns the caller's entry. Drops what no longer counts if there are too many, and if
    /// everything does, any other caller.
    fn entry(&mut self, caller: &str, now: UnixMillis) -> &mut Caller {
        if self.callers.len() >= MAX_CALLERS && !self.callers.contains_key(caller) {
            self.callers.retain(|_, caller| caller.matters(now));
            if self.callers.len() >= MAX_CALLERS {
                // A table of callers that all count must stay bounded. Whoever is forgotten is
                // still counted by the meter.
                self.callers.remove_first();
            }
        }
        self.callers.get_or_default(caller.to_owned())
    }
}

impl Caller {
    /// Returns the meter's denial until an attempt may be taken again. A clock that went back ends
    /// it.
    fn denial(&self, now: UnixMillis) -> Option<Denial> {
        let (denial, at) = self.denied.filter(|&(_, at)| now >= at)?;
        let retry_ms = denial.retry_ms.saturating_sub(now.since(at));
        (retry_ms > 0).then_some(Denial { retry_ms, ..denial })
    }

    fn matters(&self, now: UnixMillis) -> bool {
        self.denial(now).is_some() || self.wrong.ends_at() > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Code, codes};

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn refused(step: Result<GuardStep, Problem>) -> Option<(Code, String)> {
        let problem = step.err()?.render(&crate::request_id::RequestId([0; 16]));
        Some((codes::ATTEMPTS_EXCEEDED, problem.header("retry-after")?.to_owned()))
    }

    #[test]
    fn eleventh_wrong_secret_of_a_caller_is_refused_here() {
        let mut guard = AttemptGuard::new();
        for _ in 0..10 {
            assert_eq!(guard.attempt("a", 1, false, NOW), Ok(GuardStep::AskMeter));
        }
        for right in [false, true] {
            assert!(refused(guard.attempt("a", 1, right, NOW)).is_some(), "a right guess looks the same");
        }
        assert_eq!(guard.attempt("b", 1, true, NOW), Ok(GuardStep::AskMeter));
        assert_eq!(guard.attempt("a", 1, true, NOW.plus(61_000)), Ok(GuardStep::AskMeter));
        assert!((0..10).all(|_| guard.attempt("a", 1, false, NOW.plus(61_000)).is_ok()), "it began anew");
    }

    #[test]
    fn hundred_wrong_secrets_a_day_are_taken_of_a_caller() {
        let mut guard = AttemptGuard::new();
        let taken = (0..200).filter(|n| guard.attempt("a", 1, false, NOW.plus(n * 10_000)).is_ok());
        assert_eq!(taken.count(), 100);
    }

    #[test]
    fn denial_of_the_meter_holds_until_an_attempt_may_be_taken() {
        let mut guard = AttemptGuard::new();
        let mut usage = Usage::default();
        let denied = (0..11).map(|_| attempt(&mut usage, false, NOW)).last().unwrap();
        guard.record("a", &denied, NOW);
        assert_eq!(refused(guard.attempt("a", 1, true, NOW.plus(1_000))).unwrap().1, "60");
        assert_eq!(guard.attempt("b", 1, true, NOW.plus(1_000)), Ok(GuardStep::AskMeter));
        let Decision::Deny(denial, _) = denied else { panic!("{denied:?}") };
        assert!(guard.attempt("a", 1, true, NOW.plus(denial.retry_ms)).is_ok());
        guard.record("a", &denied, NOW);
        assert!(guard.attempt("a", 1, true, NOW.minus(1)).is_ok(), "the clock went back");
    }

    #[test]
    fn network_of_a_hundred_wrong_secrets_waits_for_the_next_minute() {
        let mut guard = AttemptGuard::new();
        for n in 0..100 {
            assert!(guard.attempt(&n.to_string(), 1, false, NOW.plus(20_000)).is_ok());
        }
        let refusal = refused(guard.attempt("new", 1, true, NOW.plus(20_000)));
        assert_eq!(refusal, Some((codes::ATTEMPTS_EXCEEDED, "40".to_owned())));
        assert!(guard.attempt("new", 2, true, NOW.plus(20_000)).is_ok());
        assert!(guard.attempt("new", 1, true, NOW.plus(60_000)).is_ok());
    }

    /// From then on, right and wrong ones are decided alike, or the difference would confirm a guess.
    #[test]
    fn isolate_decides_alone_after_sixty_wrong_secrets_in_a_minute() {
        let mut guard = AttemptGuard::new();
        let caller = |n: u16| (n.to_string(), n);
        for n in 0..60 {
            let (name, network) = caller(n);
            assert_eq!(guard.attempt(&name, network, false, NOW), Ok(GuardStep::AskMeter));
        }
        for right in [false, true] {
            assert_eq!(guard.attempt("new", 60, right, NOW), Ok(GuardStep::Decided));
        }
        assert_eq!(guard.attempt("new", 60, true, NOW.plus(60_000)), Ok(GuardStep::AskMeter));
    }

    #[test]
    fn full_guard_keeps_its_size_and_those_who_are_denied() {
        let mut guard = AttemptGuard::new();
        for n in 0..=u16::try_from(MAX_CALLERS).unwrap() + 10 {
            assert!(guard.attempt(&n.to_string(), n, false, NOW).is_ok());
        }
        assert_eq!(guard.callers.len(), MAX_CALLERS);
        assert!(guard.attempt("later", 0, false, NOW.plus(86_400_000)).is_ok());
        assert_eq!(guard.callers.len(), 1, "what is over is dropped");
    }
}
