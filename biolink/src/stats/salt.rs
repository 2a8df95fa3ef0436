//! The salt of visitors' numbers: random, one for each UTC day, and gone soon after the day. Without
//! it, a number cannot be matched with a visitor, nor with a number of another day.

use serde::{Deserialize, Serialize};

use shared::time::{UnixMillis, UtcDay};

/// Time for which a salt is kept after its day, in milliseconds, for requests that arrived in it.
pub const SALT_GRACE_MS: u64 = 3_600_000;

/// A request for the salt of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaltRequest {
    /// The day.
    pub day: UtcDay,
}

impl SaltRequest {
    /// Returns true if there may be a salt of the day now: not of one that is over or not yet begun.
    pub fn is_current(&self, now: UnixMillis) -> bool {
        // Clocks of two machines differ by less than the time of grace.
        now.plus(SALT_GRACE_MS) >= self.day.start() && now < self.destroyed_at()
    }

    /// Returns the moment at which the salt is destroyed.
    pub fn destroyed_at(&self) -> UnixMillis {
        // Events of the last minute before midnight arrive after it.
        UtcDay(self.day.0.saturating_add(1)).start().plus(SALT_GRACE_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salt_lives_for_its_day_and_an_hour() {
        let request = SaltRequest { day: UtcDay(20_779) };
        let start = request.day.start();
        let lives = |from: UnixMillis| request.is_current(from);
        assert!(!lives(start.minus(SALT_GRACE_MS + 1)) && lives(start.minus(1)) && lives(start));
        assert!(lives(start.plus(86_400_000)) && !lives(start.plus(86_400_000 + SALT_GRACE_MS)));
        assert!(request.destroyed_at().since(start) <= 48 * 3_600_000, "within 48 hours");
    }
}
