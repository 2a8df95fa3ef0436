//! The faults of a scenario.

use super::Step;

/// The faults of a scenario. Probabilities are per mille.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Probability that a message or a reply is lost.
    pub lost: u64,
    /// Probability that a message or a reply arrives again, up to two seconds late.
    pub doubled: u64,
    /// Probability that a message or a reply is delayed by up to a second.
    pub delayed: u64,
    /// Probability that an isolate crashes as a call reaches it. Another one takes its place.
    pub crashed: u64,
    /// Probability that the object restarts before it stores the effect of a message. There is no
    /// reply.
    pub restarted_before_store: u64,
    /// Probability that the object restarts after it stores the effect of a message. There is no
    /// reply.
    pub restarted_after_store: u64,
    /// Probability that the tool is unavailable. The call is a 503 and is refunded.
    pub tool_failed: u64,
    /// The maximum offset of an isolate's clock in milliseconds, in both directions.
    pub isolates_off_by: u64,
    /// The number of steps of an isolate's clock per minute.
    pub isolate_steps: u64,
    /// The maximum delay of the clocks of the object's machines in milliseconds. Each restart moves
    /// it to another one.
    pub machines_behind: u64,
    /// Steps of the clocks of all machines of the object.
    pub meter_steps: Vec<Step>,
    /// The period in which no message reaches the object, in milliseconds from the scenario's
    /// start.
    pub outage: Option<(u64, u64)>,
    /// Fail-overs of the authority to a replica: each in milliseconds from the scenario's start, with how
    /// far the replica lags behind, at most [`Faults::MAX_LAG`]. What was stored in that time is lost.
    pub failovers: Vec<(u64, u64)>,
    /// Whether the stored state lacks what the process that holds the meter has reserved. No test passes
    /// with it: it shows that a test would find a reserve that is not stored.
    pub forgets_reserve: bool,
    /// Whether the store has no record of the key.
    pub store_denies: bool,
}

impl Faults {
    /// The furthest that a replica lags behind in milliseconds, as Valkey replicates without `WAIT`.
    pub const MAX_LAG: u64 = 1_000;

    /// Returns true if messages can be lost or late, or their ends be gone.
    #[must_use]
    pub fn reach_messages(&self) -> bool {
        let rates = [
            self.lost,
            self.doubled,
            self.delayed,
            self.crashed,
            self.restarted_before_store,
            self.restarted_after_store,
        ];
        self.outage.is_some() || rates.iter().any(|&rate| rate > 0)
    }
}
