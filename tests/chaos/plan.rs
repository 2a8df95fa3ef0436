//! The plan of a run: one seed decides the order, the time and the target of each fault.

use std::fmt;

use tests::sim::Rng;

/// The place of the proxy in direct mode among the proxies.
pub(crate) const DIRECT: usize = 2;

/// A fault, with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// SIGKILL to workerd. It starts again with its state.
    KillEdge,
    /// SIGSTOP to workerd, then SIGCONT.
    StopEdge,
    /// No space left for the state of workerd.
    FullDisk,
    /// Every read of KV fails.
    KvDown,
    /// Each round trip to an object takes 400 ms.
    ObjectsLate,
    /// No meter responds.
    MeterDown,
    /// The receiver of webhooks responds with 500.
    ReceiverFails,
    /// SIGKILL to a proxy. It starts again. The last one is in direct mode.
    KillProxy(usize),
    /// SIGSTOP to a proxy, then SIGCONT.
    StopProxy(usize),
    /// A proxy cannot open another descriptor.
    NoDescriptors(usize),
    /// No space left for the logs of the first and the last proxy, and for the counters of the last.
    FullLogs,
    /// The clock of the second proxy is off by so many seconds.
    ClockStep(i32),
    /// The name of a tool leads to another address.
    NameMoves,
    /// The certificate of a tool expires.
    CertificateExpires,
    /// An upstream misbehaves.
    Upstream(usize, Misbehavior),
}

/// What an upstream does with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misbehavior {
    /// Resets the connection.
    Resets,
    /// Closes the connection in the middle of the response.
    Cuts,
    /// Responds to nothing.
    Freezes,
    /// Sends bytes that are not HTTP.
    Babbles,
    /// Announces a length that is too short. What follows looks like another response.
    Lies,
    /// Refuses connections.
    Refuses,
}

/// The part of the system whose faults follow each other. Faults of different lanes overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The worker, its bindings, its disk, and the receiver of webhooks.
    Edge,
    /// The proxies and the tools.
    Origin,
}

/// A fault with its moment and its length, in milliseconds since the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(crate) at_ms: u64,
    pub(crate) length_ms: u64,
    pub(crate) fault: Fault,
}

/// Time at the end without a fault, in milliseconds.
const CALM_MS: u64 = 6_000;
/// The longest time from the start of a fault to that of the next in its lane, in milliseconds.
const LONGEST_SLOT_MS: u64 = 8_000;

/// Draws the faults of a lane: each kind that is `possible` once, in a random order, then again.
pub(crate) fn plan(lane: Lane, seed: u64, time_ms: u64, possible: impl Fn(Fault) -> bool) -> Vec<Planned> {
    let mut random = Rng::new(seed.wrapping_mul(2) + lane as u64);
    let kinds = draw(lane, &mut random).into_iter().filter(|fault| possible(*fault)).count() as u64;
    let usable = time_ms.saturating_sub(CALM_MS);
    let slot = (usable / kinds.max(1)).min(LONGEST_SLOT_MS);
    let mut planned = Vec::new();
    let mut deck: Vec<Fault> = Vec::new();
    for at in (0..usable.saturating_sub(slot - 1)).step_by(usize::try_from(slot.max(1)).unwrap()) {
        while deck.is_empty() {
            deck = draw(lane, &mut random).into_iter().filter(|fault| possible(*fault)).collect();
        }
        let place = usize::try_from(random.range(0, deck.len() as u64)).unwrap();
        let at_ms = at + random.range(slot / 20, slot / 4);
        let length_ms = random.range(slot / 4, slot * 3 / 5);
        planned.push(Planned { at_ms, length_ms, fault: deck.swap_remove(place) });
    }
    planned
}

/// Returns each kind of a lane with a random target.
fn draw(lane: Lane, random: &mut Rng) -> Vec<Fault> {
    use Misbehavior::{Babbles, Cuts, Freezes, Lies, Refuses, Resets};
    let mut upto = |end| usize::try_from(random.range(0, end)).unwrap();
    match lane {
        Lane::Edge => vec![
            Fault::KillEdge,
            Fault::StopEdge,
            Fault::FullDisk,
            Fault::KvDown,
            Fault::ObjectsLate,
            Fault::MeterDown,
            Fault::ReceiverFails,
        ],
        Lane::Origin => {
            let mut faults = vec![
                Fault::KillProxy(upto(3)),
                Fault::StopProxy(upto(3)),
                Fault::NoDescriptors(upto(3)),
                Fault::FullLogs,
                Fault::ClockStep([-3_600, -20, 20, 3_600][upto(4)]),
                Fault::NameMoves,
                Fault::CertificateExpires,
            ];
            let kinds = [Resets, Cuts, Freezes, Babbles, Lies, Refuses];
            faults.extend(kinds.map(|kind| Fault::Upstream(upto(3), kind)));
            faults
        }
    }
}

impl Fault {
    /// Returns the number of leases of a key that an isolate may report too late, or never.
    pub(crate) const fn unreported_leases(self) -> u64 {
        match self {
            Self::KillEdge => 2,
            Self::StopEdge | Self::FullDisk | Self::ObjectsLate | Self::MeterDown => 1,
            _ => 0,
        }
    }

    /// Returns true if the fault ends a process.
    pub(crate) const fn is_kill(self) -> bool {
        matches!(self, Self::KillEdge | Self::KillProxy(_))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
