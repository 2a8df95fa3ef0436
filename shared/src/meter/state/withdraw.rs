//! Calls that are let through later than their first request allowed, or never.

use super::Meter;
use crate::meter::MeterRequest;
use crate::time::UnixMillis;

/// Maximum number of calls that one request withdraws.
const MAX_WITHDRAWN: usize = 64;

impl Meter {
    /// Takes back the calls that the request withdraws, each once. A call that is not counted yet
    /// will not be, should its request arrive later.
    pub(super) fn withdraw(&mut self, request: &MeterRequest, now: UnixMillis) {
        // Each is looked up among all responses, and a message can be as long as its sender likes.
        for &seq in request.withdrawn.iter().take(MAX_WITHDRAWN) {
            let Some(counted) = self.responses.withdraw(request.holder, seq, now) else { continue };
            self.usage.withdraw(counted.at, counted.day);
            if let Some(reserved) = counted.units {
                self.units.give_back(reserved, reserved.units);
            }
            // The tally is today's. Yesterday's call is in none of its counts.
            if counted.day != self.usage.day() {
                continue;
            }
            if let Some(label) = counted.tool {
                self.tally.remove(label);
            }
            if let Some(secret) = counted.secret {
                self.tally.refund(secret, 1);
            }
        }
    }

    /// Counts the call of a request later, if its second copy allows the call more time. Both
    /// durations begin when the first copy is sent, which is before the first one arrives.
    pub(super) fn postpone(&mut self, request: &MeterRequest) {
        if let Some((from, to, units)) = self.responses.extend(request) {
            self.usage.postpone(from, to);
            self.units.postpone(units, from, to);
        }
    }
}
