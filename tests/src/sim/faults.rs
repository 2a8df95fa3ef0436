//! What goes wrong in a scenario.

use super::Step;

/// What goes wrong. Chances are per mille.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// A message, or a reply, is lost.
    pub lost: u64,
    /// A message, or a reply, arrives twice, the second time up to two seconds late.
    pub doubled: u64,
    /// A message, or a reply, is held up by up to a second.
    pub delayed: u64,
    /// An isolate vanishes with all it holds as a call reaches it; another takes its place.
    pub crashed: u64,
    /// The object restarts before it has stored what a message did. No reply leaves.
    pub restarted_before_store: u64,
    /// The object restarts after it has stored what a message did. No reply leaves.
    pub restarted_after_store: u64,
    /// The tool is not available: the call ends with a 503 and is given back.
    pub tool_failed: u64,
    /// How far an isolate's clock is off at most, in milliseconds, either way.
    pub isolates_off_by: u64,
    /// How often a minute an isolate's clock steps.
    pub isolate_steps: u64,
    /// How far behind the object's machines are at most, in milliseconds; it finds itself on another whenever it
    /// restarts.
    pub machines_behind: u64,
    /// Steps of the clock of all the object's machines.
    pub meter_steps: Vec<Step>,
    /// When no message reaches the object, from and to, in milliseconds from the scenario's start.
    pub outage: Option<(u64, u64)>,
    /// The store that isolates read records from has none of the key.
    pub store_denies: bool,
}
