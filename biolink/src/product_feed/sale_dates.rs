//! The dates of a sale price (`g:sale_price_effective_date`, ISO 8601).

use shared::time::UnixMillis;

const DAY_MS: u64 = 86_400_000;

/// Reads two moments with a slash between them, such as
/// `2027-01-31T12:00+0100/2027-02-07T12:00+0100`. Either may be left out. A moment without an offset is
/// in UTC, and a day without a time is all of it.
pub(super) fn read(text: &str) -> Option<(Option<UnixMillis>, Option<UnixMillis>)> {
    let (from, until) = text.split_once('/')?;
    let (from, until) = (from.trim(), until.trim());
    let start = if from.is_empty() { None } else { Some(moment(from)?) };
    let end = match until {
        "" => None,
        day if is_day(day) => Some(moment(day)?.plus(DAY_MS)),
        until => Some(moment(until)?),
    };
    Some((start, end))
}

const fn is_day(text: &str) -> bool {
    text.len() == "2027-01-31".len()
}

/// Reads a moment in the forms that shops write, by completing it to one of RFC 3339.
fn moment(text: &str) -> Option<UnixMillis> {
    if is_day(text) {
        return UnixMillis::from_rfc3339(&format!("{text}T00:00:00Z"));
    }
    let (day, time) = text.split_at_checked("2027-01-31".len())?;
    let (time, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at_checked(at)?,
        None => (time, "Z"),
    };
    let time = time.trim_end();
    let seconds = if time.matches(':').count() == 1 { ":00" } else { "" };
    let offset = match offset.split_at_checked(3) {
        Some((hours, "")) => format!("{hours}:00"),
        Some((hours, minutes)) if !minutes.starts_with(':') => format!("{hours}:{minutes}"),
        _ => offset.to_owned(),
    };
    UnixMillis::from_rfc3339(&format!("{day}{time}{seconds}{offset}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<UnixMillis> {
        Some(UnixMillis::from_rfc3339(text).unwrap())
    }

    #[test]
    fn sale_dates_are_read_in_the_forms_of_shops() {
        let (from, until) = (at("2027-01-31T12:00:00Z"), at("2027-02-07T13:30:00Z"));
        for text in [
            "2027-01-31T12:00Z/2027-02-07T13:30Z",
            "2027-01-31T13:00+0100/2027-02-07T14:30:00+01:00",
            "2027-01-31T04:00-08 / 2027-02-07T05:30-0800",
            "2027-01-31 12:00/2027-02-07 13:30:00",
            "2027-01-31T12:00:00.000Z/2027-02-07T13:30:00.000z",
        ] {
            assert_eq!(read(text), Some((from, until)), "{text}");
        }
        let days = (at("2027-01-31T00:00:00Z"), at("2027-02-08T00:00:00Z"));
        assert_eq!(read("2027-01-31/2027-02-07"), Some(days), "the last day is a day of the sale");
        assert_eq!(read("/2027-02-07"), Some((None, days.1)));
        assert_eq!(read("2027-01-31/"), Some((days.0, None)));
    }

    #[test]
    fn sale_dates_that_are_none_are_refused() {
        for text in [
            "",
            "2027-01-31",
            "soon/later",
            "2027-13-01/2027-02-07",
            "31.01.2027/07.02.2027",
            "2027-01-31T12/2027-02-07T12",
            "2027-01-31T12:00+1/2027-02-07",
            "\u{663}027-01-31T/\u{663}",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
