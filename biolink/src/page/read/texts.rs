//! Texts that people read.

use serde_json::Value;
use shared::fields::text;

use super::invalid_value::InvalidValue;

/// Returns a text of one line, without spaces around it. Lengths are in characters.
///
/// # Errors
/// Returns what would be right.
pub(crate) fn plain_text(value: &Value, min: usize, max: usize) -> Result<String, InvalidValue> {
    let text = text(value)?.trim();
    check_length(text, min, max)?;
    if text.chars().any(char::is_control) {
        return Err("must be one line, without control characters".into());
    }
    check_direction(text)?;
    if min > 0 && !is_visible(text) {
        return Err("has no visible character".into());
    }
    Ok(text.to_owned())
}

/// Returns a text of at most `lines` lines, separated by `\n`, without spaces around it.
///
/// # Errors
/// Returns what would be right.
pub(super) fn long_text(value: &Value, max: usize, lines: usize) -> Result<String, InvalidValue> {
    let text = text(value)?.trim().replace("\r\n", "\n");
    check_length(&text, 0, max)?;
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Err("must have no control characters except line breaks".into());
    }
    if text.split('\n').count() > lines {
        return Err(format!("has {} lines; at most {lines} are allowed", text.split('\n').count()).into());
    }
    check_direction(&text)?;
    Ok(text)
}

/// Returns true if a text has a character that is seen: no space, and none of those that show nothing
/// (Unicode's `Default_Ignorable_Code_Point`, and the empty pattern of Braille).
pub(crate) fn is_visible(text: &str) -> bool {
    text.chars().any(|c| {
        !c.is_whitespace()
            && !c.is_control()
            && !matches!(c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
    })
}

fn check_length(text: &str, min: usize, max: usize) -> Result<(), InvalidValue> {
    match text.chars().count() {
        count if count < min => Err("is empty".into()),
        count if count > max => Err(format!("has {count} characters; at most {max} are allowed").into()),
        _ => Ok(()),
    }
}

/// Refuses characters that make a text look like another one (Unicode's directional overrides).
fn check_direction(text: &str) -> Result<(), InvalidValue> {
    if text.chars().any(|c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')) {
        return Err("must have no directional overrides (U+202A to U+202E, U+2066 to U+2069)".into());
    }
    Ok(())
}
