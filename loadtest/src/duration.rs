//! Durations as text: `500ms`, `10s`, `5m`, `1h`.

use std::time::Duration;

use thiserror::Error;

/// A text that is not a duration.
#[derive(Debug, Error)]
#[error("invalid duration `{0}`: expected a number with a unit, for example 500ms, 10s, 5m or 1h")]
pub(crate) struct DurationError(String);

/// Parses a duration. Returns `None` if it has no unit or is out of range.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let duration = number.parse::<f64>().ok()? * seconds;
    (duration > 0.0 && duration < 1e7).then(|| Duration::from_secs_f64(duration))
}

/// Parses a duration of the command line.
pub(crate) fn argument(text: &str) -> Result<Duration, DurationError> {
    parse(text).ok_or_else(|| DurationError(text.to_owned()))
}

/// Returns the text of a duration in its largest whole unit.
pub(crate) fn text(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        _ if millis.is_multiple_of(3_600_000) && millis > 0 => format!("{}h", millis / 3_600_000),
        _ if millis.is_multiple_of(60_000) && millis > 0 => format!("{}m", millis / 60_000),
        _ if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        _ => format!("{millis}ms"),
    }
}
