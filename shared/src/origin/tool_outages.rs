//! An isolate's memory of the data centers in which a tool has no healthy server.

use super::AVOID_MS;
use crate::sorting::sort_by_key;
use crate::time::UnixMillis;
use crate::tool::Tool;

/// Time after which an outage is forgotten though no call has tried the tool there, in milliseconds.
/// Only a call that can be sent to another origin tries it, so a tool of long uploads has none.
const FORGET_MS: u64 = 60_000;

/// The origins whose proxy has lately said that a tool has no healthy server there: a circuit breaker
/// for each tool at each origin, by index in the list.
///
/// **Budget.** A call moves on to another origin only if the tool is not known to be out there too. So a
/// tool that is out everywhere costs one attempt for each call, but for those that are in flight when
/// the first one finds out.
#[derive(Clone, Debug, Default)]
pub struct ToolOutages(Vec<(usize, Tool, UnixMillis)>);

impl ToolOutages {
    /// Records that the tool has no healthy server at the origin.
    pub fn record_out(&mut self, index: usize, tool: Tool, now: UnixMillis) {
        self.record_served(index, tool);
        self.0.push((index, tool, now));
    }

    /// Records that the tool responded at the origin.
    pub fn record_served(&mut self, index: usize, tool: Tool) {
        if !self.0.is_empty() {
            self.0.retain(|(other, out, _)| (*other, *out) != (index, tool));
        }
    }

    /// Returns true if a call that got no response of the tool at `index` may go on to a later origin
    /// of `rest`: one where the tool is not known to be out.
    pub fn has_other(&self, rest: &[usize], index: usize, tool: Tool) -> bool {
        rest.iter().any(|other| *other != index && self.at(*other, tool).is_none())
    }

    /// Moves the origins where the tool is out to the end of `order`. After `AVOID_MS`, one call that
    /// `can_repeat` at another origin tries the tool again (half-open). Others avoid the origin until
    /// that call's response is recorded, or for another `AVOID_MS`.
    pub fn arrange(&mut self, order: &mut [usize], tool: Tool, can_repeat: bool, now: UnixMillis) {
        if self.0.is_empty() {
            return;
        }
        self.0.retain(|(_, _, at)| now.since(*at) < FORGET_MS);
        let tried = self.0.iter_mut().find(|(index, out, at)| {
            *out == tool && can_repeat && order.contains(index) && now.since(*at) >= AVOID_MS
        });
        let trial = tried.map(|(index, _, at)| {
            // Marked before its response: of many calls at the same time, one tries the tool and
            // the others avoid it.
            *at = now;
            *index
        });
        // Equal ones stay in their order.
        sort_by_key(order, |index| trial != Some(*index) && self.at(*index, tool).is_some());
    }

    fn at(&self, index: usize, tool: Tool) -> Option<UnixMillis> {
        self.0.iter().find(|(other, out, _)| (*other, *out) == (index, tool)).map(|(_, _, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    fn order(outages: &mut ToolOutages, tool: Tool, can_repeat: bool, now: UnixMillis) -> [usize; 3] {
        let mut order = [0, 1, 2];
        outages.arrange(&mut order, tool, can_repeat, now);
        order
    }

    #[test]
    fn origin_without_the_tool_is_last_for_that_tool_alone() {
        let mut outages = ToolOutages::default();
        outages.record_out(0, Tool::Qr, NOW);
        assert_eq!(order(&mut outages, Tool::Qr, true, NOW.plus(1)), [1, 2, 0]);
        assert_eq!(order(&mut outages, Tool::Pdf, true, NOW.plus(1)), [0, 1, 2]);
        outages.record_served(0, Tool::Qr);
        assert_eq!(order(&mut outages, Tool::Qr, true, NOW.plus(2)), [0, 1, 2]);
    }

    #[test]
    fn one_call_tries_the_tool_again_and_the_others_avoid_it() {
        let mut outages = ToolOutages::default();
        outages.record_out(0, Tool::Qr, NOW);
        let then = NOW.plus(AVOID_MS);
        assert_eq!(order(&mut outages, Tool::Qr, true, NOW.plus(AVOID_MS - 1)), [1, 2, 0]);
        assert_eq!(order(&mut outages, Tool::Qr, true, then), [0, 1, 2]);
        assert_eq!(order(&mut outages, Tool::Qr, true, then), [1, 2, 0]);
        assert_eq!(order(&mut outages, Tool::Qr, true, then.plus(AVOID_MS)), [0, 1, 2]);
    }

    #[test]
    fn upload_that_cannot_be_repeated_is_no_trial() {
        let mut outages = ToolOutages::default();
        outages.record_out(0, Tool::Qr, NOW);
        let almost = NOW.plus(FORGET_MS - 1);
        assert_eq!(order(&mut outages, Tool::Qr, false, almost), [1, 2, 0]);
        assert_eq!(order(&mut outages, Tool::Qr, false, NOW.plus(FORGET_MS)), [0, 1, 2]);
    }

    #[test]
    fn tool_that_is_out_everywhere_gets_one_attempt() {
        let mut outages = ToolOutages::default();
        assert!(outages.has_other(&[1], 0, Tool::Qr), "nothing is known yet");
        assert!(!outages.has_other(&[0], 0, Tool::Qr), "the same origin again");
        assert!(!outages.has_other(&[], 0, Tool::Qr));
        for index in [0, 1] {
            outages.record_out(index, Tool::Qr, NOW);
        }
        assert!(!outages.has_other(&[1], 0, Tool::Qr));
        assert!(outages.has_other(&[1], 0, Tool::Pdf));
        outages.record_served(1, Tool::Qr);
        assert!(outages.has_other(&[1], 0, Tool::Qr));
    }
}
