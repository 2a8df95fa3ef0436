//! The buffer that the lines of the access log are appended to.

use std::fmt;
use std::io::Write as _;

use shared::time::UnixMillis;

/// The buffer that a line is appended to. It is built from parts, because every request writes one;
/// only values without their own text are formatted.
pub(super) struct LineBuffer<'a>(pub(super) &'a mut Vec<u8>);

impl LineBuffer<'_> {
    // Inlined, because most texts are constants.
    #[inline]
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Appends a text as bytes.
    #[inline]
    pub(super) fn bytes(&mut self, text: &[u8]) -> &mut Self {
        self.0.extend_from_slice(text);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.text(itoa::Buffer::new().format(number))
    }

    pub(super) fn shown(&mut self, value: impl fmt::Display) -> &mut Self {
        // Writing to memory cannot fail.
        let _written = write!(self.0, "{value}");
        self
    }

    /// Appends microseconds as milliseconds with three decimals.
    pub(super) fn millis(&mut self, micros: u64) -> &mut Self {
        let mut decimals = *b".000";
        write_digits(&mut decimals, [(1, 3, micros % 1_000)]);
        self.number(micros / 1_000).bytes(&decimals)
    }

    /// Appends bytes as a JSON string. Those that are no UTF-8 become U+FFFD.
    pub(super) fn json_string(&mut self, bytes: &[u8]) -> &mut Self {
        // Writing to memory cannot fail.
        let _written = serde_json::to_writer(&mut *self.0, &String::from_utf8_lossy(bytes));
        self
    }

    /// Appends bytes without quotes, backslashes and all that is not printable ASCII, as nginx writes
    /// them: `\x22`.
    pub(super) fn escaped(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            if matches!(byte, b'"' | b'\\') || !matches!(byte, b' '..=b'~') {
                self.shown(format_args!("\\x{byte:02X}"));
            } else {
                self.0.push(byte);
            }
        }
        self
    }

    /// Appends a time as RFC 3339, in UTC, with milliseconds. It does not allocate, unlike
    /// `UnixMillis::to_rfc3339`.
    pub(super) fn time(&mut self, time: UnixMillis) -> &mut Self {
        let (year, month, day) = date(time.0 / DAY_MS);
        let (seconds, millis) = (time.0 % DAY_MS / 1_000, time.0 % 1_000);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let places = [(0, 4, year), (5, 2, month), (8, 2, day), (11, 2, hour), (14, 2, minute)];
        write_digits(&mut text, places);
        write_digits(&mut text, [(17, 2, second), (20, 3, millis)]);
        self.bytes(&text)
    }
}

/// Writes numbers with leading zeros: each at its place, with so many digits.
#[inline]
pub(super) fn write_digits<const N: usize>(text: &mut [u8], numbers: [(usize, usize, u64); N]) {
    for (start, digits, mut number) in numbers {
        for digit in text.iter_mut().skip(start).take(digits).rev() {
            // Below 10.
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
}

pub(super) const DAY_MS: u64 = 86_400_000;

/// Returns year, month and day of the proleptic Gregorian calendar for days since 1970-01-01
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
pub(super) const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + (month <= 2) as u64;
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_equals_the_shared_rfc_3339_form() {
        let day = |day: u64| UnixMillis(day * DAY_MS + day * 7_919 % DAY_MS / 1_000 * 1_000 + 123);
        for time in (0..80_000).map(day).chain([UnixMillis(1_763_712_000_123)]) {
            let mut text = Vec::new();
            LineBuffer(&mut text).time(time);
            assert_eq!(String::from_utf8(text).unwrap(), time.to_rfc3339());
        }
    }
}
