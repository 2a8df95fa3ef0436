//! Parsers of values with units.

use std::time::Duration;

use super::ValueError;

const DURATION: &str = "a number with a unit, for example 500ms, 2s, 5m or 1h";
const SIZE: &str = "a number with a unit, for example 64KiB, 10MiB or 1GiB";

/// Examples of durations.
pub(crate) const DURATIONS: &str = "500ms, 2s, 5m or 1h";

/// Parses a duration such as `500ms`, `2s`, `5m` or `1h`.
pub fn duration(text: &str) -> Result<Duration, ValueError> {
    let (number, unit) = split_unit(text);
    let scale = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(ValueError::invalid("duration", text, DURATION)),
    };
    match number.parse::<u64>() {
        Ok(count) => Ok(Duration::from_millis(count.saturating_mul(scale))),
        Err(_) => Err(ValueError::invalid("duration", text, DURATION)),
    }
}

/// Formats a duration in the largest unit that is exact.
pub fn show(duration: Duration) -> String {
    match duration.as_millis() {
        0 => "0s".to_owned(),
        ms if ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

/// Parses a size such as `512B`, `64KiB`, `10MiB` or `1GiB`.
pub(crate) fn size(text: &str) -> Result<u64, ValueError> {
    let (number, unit) = split_unit(text);
    let scale = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(ValueError::invalid("size", text, SIZE)),
    };
    match number.parse::<u64>() {
        Ok(count) => Ok(count.saturating_mul(scale)),
        Err(_) => Err(ValueError::invalid("size", text, SIZE)),
    }
}

/// Parses `host:port`. The port may be a sum such as `9100+12`, so that one variable sets a range
/// of ports.
pub(crate) fn address(text: &str) -> Result<(String, u16), ValueError> {
    if text.contains('/') {
        let expected = "host:port without a scheme or path, for example tools.internal:9100";
        return Err(ValueError::invalid("address", text, expected));
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err(ValueError::invalid(
            "address",
            text,
            "host:port, for example 127.0.0.1:9100 or tools.internal:9100",
        ));
    };
    let port = port
        .split('+')
        .try_fold(0u16, |sum, part| part.trim().parse::<u16>().ok().and_then(|part| sum.checked_add(part)))
        .ok_or_else(|| ValueError::invalid("port", port, "a number up to 65535"))?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_host_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_');
    if bare.is_empty() || !bare.chars().all(is_host_char) || (bare.contains(':') && bare == host) {
        return Err(ValueError::invalid(
            "address",
            text,
            "host:port, for example 127.0.0.1:9100, [::1]:9100 or tools.internal:9100",
        ));
    }
    Ok((bare.to_owned(), port))
}

/// Returns the text of an address, with an IPv6 address in brackets.
pub(crate) fn show_address(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_and_size_require_a_unit() {
        assert_eq!(duration("250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(duration("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(size("10MiB").unwrap(), 10 * 1024 * 1024);
        for text in ["250ms", "90s", "2m", "1h", "0s"] {
            assert_eq!(show(duration(text).unwrap()), text);
        }
        for text in ["", "2", "2 s", "-1s", "1.5s", "2S", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["10", "10MB", "MiB", "1TiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn address_is_host_and_port_or_sum() {
        let is = |text, host: &str, port| assert_eq!(address(text).unwrap(), (host.to_owned(), port));
        is("127.0.0.1:9100+12", "127.0.0.1", 9112);
        is("[::1]:80", "::1", 80);
        is("qr.tools.internal:443", "qr.tools.internal", 443);
        for text in
            ["", "host", ":80", "host:", "host:65536", "host:65535+1", "::1:80", "a b:80", "http://a:80"]
        {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
