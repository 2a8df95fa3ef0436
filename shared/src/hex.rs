//! Bytes as lower-case hexadecimal digits.

use std::fmt;

/// Reads what [`write`] writes; `None` for anything else.
pub(crate) fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let &[high, low] = pair else { return None };
        *byte = value(high)? << 4 | value(low)?;
    }
    Some(bytes)
}

/// Writes two digits for each byte.
pub(crate) fn write(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for chunk in bytes.chunks(16) {
        let mut text = [0; 32];
        write_digits(chunk, &mut text);
        let digits = text.get(..chunk.len() * 2).unwrap_or_default();
        f.write_str(std::str::from_utf8(digits).unwrap_or_default())?;
    }
    Ok(())
}

/// Writes two digits for each byte, as far as there is room.
pub(crate) fn write_digits(bytes: &[u8], out: &mut [u8]) {
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
}

/// Returns the digit of a number below 16.
const fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' - 10 + value }
}

const fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        // Lower case alone, so that an id has one text.
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
